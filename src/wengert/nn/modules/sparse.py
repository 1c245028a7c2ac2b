"""Tables of vectors looked up by index: Embedding and EmbeddingBag."""

from __future__ import annotations

from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.module import Module
from wengert.nn.modules._common import parameter, parameter_of
from wengert.nn.parameter import Parameter


class _Table(Module):
    """The weight of an embedding, and the padding row."""

    weight: Parameter
    padding_idx: int | None

    def _build(
        self, rows: int, width: int, padding_idx: int | None, weight: Any, device: Any, dtype: Any
    ) -> None:
        self.num_embeddings, self.embedding_dim = rows, width
        self.padding_idx = _padding_row(padding_idx, rows)
        if weight is None:
            self.weight = parameter(rows, width, device=device, dtype=dtype)
            self.reset_parameters()
        else:
            if list(weight.shape) != [rows, width]:
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim: got"
                    f" {list(weight.shape)}, expected {[rows, width]}"
                )
            self.weight = Parameter(weight)

    def reset_parameters(self) -> None:
        """Reset to normal values, with zeros in the padding row."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].zero_()


def _padding_row(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(
            f"Padding_idx must be within num_embeddings, got {padding_idx} of {rows}"
        )
    return padding_idx % rows


class Embedding(_Table):
    """Looks up rows of a weight by integer index: (*) to (*, embedding_dim).

    The row of `padding_idx` begins as zeros and gets no gradient.

    Args:
        num_embeddings: rows of the table; indices are below.
        embedding_dim: features of each row.
        padding_idx: a row without gradient, zero at first.
        max_norm: rows with a larger norm are scaled down to it, in place, when they are looked
            up.
        norm_type: degree of that norm.
        scale_grad_by_freq: whether to divide gradients by how often the row occurs in the
            batch.
        sparse: whether the gradient of the table is a sparse tensor.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> table = wengert.nn.Embedding(10, 3, padding_idx=0)
    >>> table(wengert.tensor([[0, 2, 0]])).shape
    torch.Size([1, 3, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._build(num_embeddings, embedding_dim, padding_idx, _weight, device, dtype)
        if _freeze:
            self.weight.requires_grad = False

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            parameter_of(self, "weight"),
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        options = [f"{self.num_embeddings}, {self.embedding_dim}"]
        if self.padding_idx is not None:
            options.append(f"padding_idx={self.padding_idx}")
        if self.max_norm is not None:
            options.append(f"max_norm={self.max_norm}")
        if self.norm_type != 2:
            options.append(f"norm_type={self.norm_type}")
        if self.scale_grad_by_freq:
            options.append("scale_grad_by_freq=True")
        if self.sparse:
            options.append("sparse=True")
        return ", ".join(options)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An embedding around an existing table, not trained unless `freeze` is False."""
        _check_table(embeddings)
        rows, width = embeddings.shape
        return cls(rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
                   _weight=embeddings, _freeze=freeze)  # fmt: skip


def _check_table(embeddings: Any) -> None:
    if embeddings.dim() != 2:
        raise AssertionError(
            "Embeddings parameter is expected to be 2-dimensional, got one of shape"
            f" {list(embeddings.shape)}"
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows, without materialising the rows.

    Args:
        num_embeddings: rows of the table; indices are below.
        embedding_dim: features of each row.
        max_norm: rows with a larger norm are scaled down to it, in place, when they are looked
            up.
        norm_type: degree of that norm.
        scale_grad_by_freq: whether to divide gradients by how often the row occurs in the
            batch.
        mode: how a bag becomes one row: `"mean"`, `"sum"` or `"max"`.
        sparse: whether the gradient of the table is a sparse tensor.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: a row without gradient, zero at first.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> bags = wengert.nn.EmbeddingBag(10, 3, mode="sum")
    >>> bags(wengert.tensor([1, 2, 4, 5]), wengert.tensor([0, 2])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self.mode, self.include_last_offset = mode, include_last_offset
        self._build(num_embeddings, embedding_dim, padding_idx, _weight, device, dtype)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        options = [f"{self.num_embeddings}, {self.embedding_dim}"]
        if self.max_norm is not None:
            options.append(f"max_norm={self.max_norm}")
        if self.norm_type != 2:
            options.append(f"norm_type={self.norm_type}")
        if self.scale_grad_by_freq:
            options.append("scale_grad_by_freq=True")
        options.append(f"mode={self.mode!r}")
        if self.padding_idx is not None:
            options.append(f"padding_idx={self.padding_idx}")
        return ", ".join(options)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """An embedding bag around an existing table, not trained unless `freeze` is False."""
        _check_table(embeddings)
        rows, width = embeddings.shape
        bag = cls(rows, width, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
                  embeddings, include_last_offset, padding_idx)  # fmt: skip
        bag.weight.requires_grad = not freeze
        return bag


__all__ = ["Embedding", "EmbeddingBag"]
