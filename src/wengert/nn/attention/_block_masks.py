"""Which queries attend to which keys, as a function of their indices and in blocks."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from typing import Any

from wengert.autograd.transforms.vmap import vmap
from wengert.core.dtypes import bool_, int32
from wengert.core.tensor import Tensor
from wengert.ops.expansion import repeat_interleave
from wengert.ops.padding import pad
from wengert.ops.sort import argsort
from wengert.tensor.creation import zeros
from wengert.tensor.ranges import arange

BLOCK_SIZE = 128

# mask_mod(batch, head, query index, key index); a score_mod takes the score before them.
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask of attention to all keys.

    >>> import wengert
    >>> from wengert.nn.attention.flex_attention import noop_mask
    >>> zero = wengert.tensor(0)
    >>> noop_mask(zero, zero, zero, zero)
    tensor(True)
    """
    return batch.new_ones((), dtype=bool_)


def sliced_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask of part of a BlockMask: the indices of the whole one would be others."""
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask: its indices begin anew. Assign a mask_mod for"
        " the part, for example part.mask_mod = whole.mask_mod where they agree"
    )


def over_indices(
    function: Callable[..., Tensor], *sizes: int, score: Tensor | None = None
) -> Tensor:
    """A mask or the scores of all batches, heads, queries and keys, each called with its indices.

    Args:
        function: takes the score, if there are scores, and four indices, all without dimensions.
        sizes: how many batches, heads, queries and keys there are.
        score: the scores that it modifies, of these sizes.
    """
    first: tuple[int, ...] = () if score is None else (0,)
    for mapped in reversed(range(4)):
        in_dims = tuple([0 if k == mapped else None for k in range(4)])
        function = vmap(function, in_dims=(*first, *in_dims))
    indices = [arange(n) for n in sizes]
    return function(*indices) if score is None else function(score, *indices)


def _arguments(function: Callable[..., Any]) -> int:
    """How many arguments without defaults a function takes; AssertionError unless 4 or 5."""
    parameters = inspect.signature(function).parameters.values()
    count = sum(p.default is p.empty for p in parameters)
    if count not in (4, 5):
        raise AssertionError(
            f"Expected 4 or 5 positional args (a mask_mod or a score_mod), got {count}"
        )
    return count


def create_mask(
    mod_fn: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
    device: Any = None,
) -> Tensor:  # fmt: skip
    """The mask of a mask_mod, or of where a score_mod does not give -inf, in bool.

    Its shape is (B, H, Q_LEN, KV_LEN), with 1 for a size that is None. AssertionError unless
    `mod_fn` takes four or five arguments.

    >>> from wengert.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 3)
    tensor([[[[ True, False, False],
              [ True,  True, False]]]])
    """
    sizes = 1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN
    if _arguments(mod_fn) == 4:
        return over_indices(mod_fn, *sizes)
    return ~over_indices(mod_fn, *sizes, score=zeros(*sizes)).isneginf()


def _combined(mask_mods: tuple[MaskMod, ...], every: bool) -> MaskMod:
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_full((), every, dtype=bool_)
        for mod in mask_mods:
            one = mod(b, h, q_idx, kv_idx)
            result = result & one if every else result | one
        return result

    mask.__name__ = "and_mask" if every else "or_mask"  # what a BlockMask shows
    return mask


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of keys that one of several masks admits.

    >>> from wengert.nn.attention.flex_attention import create_mask, or_masks
    >>> mod = or_masks(lambda b, h, q, kv: q == kv, lambda b, h, q, kv: kv == 0)
    >>> create_mask(mod, None, None, 2, 2)[0, 0]
    tensor([[ True, False],
            [ True,  True]])
    """
    return _combined(mask_mods, every=False)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of keys that each of several masks admits.

    >>> from wengert.nn.attention.flex_attention import and_masks, create_mask
    >>> mod = and_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: q - kv < 2)
    >>> create_mask(mod, None, None, 3, 3)[0, 0]
    tensor([[ True, False, False],
            [ True,  True, False],
            [False,  True,  True]])
    """
    return _combined(mask_mods, every=True)


def _ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of each row are marked, and the indices of a row with those first."""
    marks = dense.to(int32)
    order = argsort(marks, dim=-1, descending=True, stable=True)
    return marks.sum(-1, dtype=int32), order.to(int32).contiguous()


def _dense(counts: Tensor, indices: Tensor, columns: int) -> Tensor:
    """The marks that `_ordered` has put in order, in int32."""
    places = arange(indices.shape[-1])
    marked = (places < counts.unsqueeze(-1)).to(int32)
    return counts.new_zeros(*counts.shape, columns).scatter_add(-1, indices.long(), marked)


def _transposed(counts: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    return _ordered(_dense(counts, indices, indices.shape[-1]).transpose(-2, -1))


_Pair = tuple[Tensor | None, Tensor | None]


class BlockMask:
    """A mask in blocks: those that are partly visible, and those that are as a whole.

    Args:
        seq_lengths: how many queries and keys there are.
        kv_num_blocks: (..., rows of blocks), how many blocks of a row are partly visible.
        kv_indices: (..., rows, columns), the columns of a row, those first.
        full_kv_num_blocks, full_kv_indices: the same of blocks that are visible as a whole.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same by columns.
        BLOCK_SIZE: the queries and keys of a block.
        mask_mod: which elements of the partly visible blocks are visible.

    RuntimeError for indices of fewer than two dimensions, AssertionError for half of a pair.

    >>> from wengert.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256)
    >>> mask.to_dense()
    tensor([[[[1, 0],
              [1, 1]]]], dtype=torch.int32)
    >>> mask.shape, mask.sparsity()
    ((1, 1, 256, 256), 25.0)
    """

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None, full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None, q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None, full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (BLOCK_SIZE, BLOCK_SIZE), mask_mod: MaskMod = noop_mask,
    ) -> None:  # fmt: skip
        if kv_indices is None or kv_num_blocks is None:
            raise AssertionError("kv_num_blocks and kv_indices must be provided")
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for name, of in (("kv", (full_kv_num_blocks, full_kv_indices)),
                         ("q", (full_q_num_blocks, full_q_indices))):  # fmt: skip
            if (of[0] is None) != (of[1] is None):
                raise AssertionError(
                    f"full_{name}_num_blocks and full_{name}_indices must be both provided or"
                    " omitted"
                )
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None, BLOCK_SIZE: int | tuple[int, int] = BLOCK_SIZE,
        mask_mod: MaskMod | None = None, seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:  # fmt: skip
        """A mask from the blocks of its rows; those of its columns follow, if they are wanted."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        queries: _Pair = (None, None)
        full_queries: _Pair = (None, None)
        if compute_q_blocks:
            queries = _transposed(kv_num_blocks, kv_indices)
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                full_queries = _transposed(full_kv_num_blocks, full_kv_indices)
        sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            rows, columns = kv_indices.shape[-2:]
            seq_lengths = rows * sizes[0], columns * sizes[1]
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices,
            *queries, *full_queries, sizes, noop_mask if mask_mod is None else mask_mod,
        )  # fmt: skip

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch dimensions, and the numbers of queries and keys."""
        return *self.kv_indices.shape[:-2], *self.seq_lengths

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Lengths, blocks, their sizes and the mask_mod; pairs are tuples unless `flatten`."""
        blocks = (
            self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices,
            self.q_num_blocks, self.q_indices, self.full_q_num_blocks, self.full_q_indices,
        )  # fmt: skip
        if flatten:
            return (*self.seq_lengths, *blocks, *self.BLOCK_SIZE, self.mask_mod)
        return self.seq_lengths, *blocks, self.BLOCK_SIZE, self.mask_mod

    def numel(self) -> int:
        """How many elements the mask has."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How much of the mask lies in blocks of which nothing is visible, in percent."""
        blocks = int(self.kv_num_blocks.sum().item())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum().item())
        return 100 * (1 - blocks * math.prod(self.BLOCK_SIZE) / self.numel())

    def to_dense(self) -> Tensor:
        """Which blocks are visible, at least in part: (..., rows, columns), in int32."""
        columns = self.kv_indices.shape[-1]
        partial = _dense(self.kv_num_blocks, self.kv_indices, columns)
        full = self._full_blocks()
        return partial if full is None else partial | full

    def _full_blocks(self) -> Tensor | None:
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return None
        return _dense(self.full_kv_num_blocks, self.full_kv_indices, self.kv_indices.shape[-1])

    def visible(self, batches: int, heads: int, queries: int, keys: int) -> Tensor | None:
        """Which keys each query attends to, in bool; None where that is all of them."""
        dense = self.to_dense()
        if self.mask_mod is noop_mask:
            return None if bool(dense.all()) else self._elements(dense, queries, keys)
        own = over_indices(self.mask_mod, batches, heads, queries, keys)
        full = self._full_blocks()
        if full is not None:
            own = own | self._elements(full, queries, keys)
        return own & self._elements(dense, queries, keys)

    def _elements(self, blocks: Tensor, queries: int, keys: int) -> Tensor:
        rows, columns = self.BLOCK_SIZE
        each = repeat_interleave(blocks > 0, rows, dim=-2)
        return repeat_interleave(each, columns, dim=-1)[..., :queries, :keys]

    def __getitem__(self, index: Any) -> BlockMask:
        """A part by batch, head and row of blocks; its mask_mod has to be assigned anew."""
        given = index if isinstance(index, tuple) else (index,)
        padded = (*given, slice(None), slice(None), slice(None))[:3]
        at = tuple([
            slice(i % n, i % n + 1) if isinstance(i, int) and -n <= i < n else i
            for i, n in zip(padded, self.kv_num_blocks.shape[:3], strict=True)
        ])  # fmt: skip

        def part(x: Tensor | None) -> Tensor | None:
            return None if x is None else x[at]

        return BlockMask.from_kv_blocks(
            self.kv_num_blocks[at], self.kv_indices[at], part(self.full_kv_num_blocks),
            part(self.full_kv_indices), self.BLOCK_SIZE, sliced_mask, self.seq_lengths,
            self.q_indices is not None,
        )  # fmt: skip

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left part, for fewer queries and keys."""
        rows = -(-new_q_len // self.BLOCK_SIZE[0])
        columns = -(-new_kv_len // self.BLOCK_SIZE[1])

        def cropped(counts: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
            return _ordered(_dense(counts, indices, indices.shape[-1])[..., :rows, :columns])

        full: _Pair = (None, None)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            full = cropped(self.full_kv_num_blocks, self.full_kv_indices)
        return self.from_kv_blocks(
            *cropped(self.kv_num_blocks, self.kv_indices), *full, self.BLOCK_SIZE, self.mask_mod,
            (new_q_len, new_kv_len), self.q_indices is not None,
        )  # fmt: skip

    def to(self, device: Any) -> BlockMask:
        """The mask itself: there is one device."""
        self.kv_num_blocks.to(device)
        return self

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of the blocks of `limit` batches and heads, on a grid of that size at most."""
        dense = self.to_dense()
        *batches, rows, columns = dense.shape
        most = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        if grid_size == -1:
            most = rows, columns
        height, width = (max(1, -(-n // m)) for n, m in zip((rows, columns), most, strict=True))
        pictures = []
        for count, index in enumerate(itertools.product(*map(range, batches))):
            if count == limit:
                pictures += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or"
                    " head",
                ]
                break
            picture = f"{index}\n"
            for r in range(0, rows, height):
                strip = dense[index][r : r + height]
                for c in range(0, columns, width):
                    share = strip[:, c : c + width].float().mean().item()
                    picture += ("█" if share == 1 else "░" if share else " ") * 2
                picture += "\n"
            pictures.append(picture)
        return "\n".join(pictures)

    def __str__(self) -> str:
        picture = self.to_string().strip()
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{picture}\n)"

    def __repr__(self) -> str:
        names = [
            f"{full}{side}_{what}"
            for side in ("kv", "q") for full in ("", "full_") for what in ("num_blocks", "indices")
        ]  # fmt: skip
        lines = []
        for name in names:
            value = getattr(self, name)
            lines.append(f"{name}={None if value is None else value.shape}")
        lines += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}"]
        lines.append(f"sparsity={self.sparsity():.2f}%")
        mask_mod = getattr(self.mask_mod, "__name__", self.mask_mod)
        return "BlockMask(\n    " + ",\n    ".join([*lines, f"mask_mod={mask_mod}"]) + "\n)"


def create_block_mask(
    mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = BLOCK_SIZE, _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:  # fmt: skip
    """The BlockMask of a function ``mask_mod(batch, head, query index, key index)``.

    Args:
        mask_mod: takes integers without dimensions and returns a bool.
        B, H: how many batches and heads there are; None for a mask that is the same for all.
        Q_LEN, KV_LEN: how many queries and keys there are.
        device: "cpu", or None.
        BLOCK_SIZE: the queries and keys of a block.
        _compile: without effect.
        separate_full_blocks: whether blocks that are visible as a whole are kept apart.

    >>> from wengert.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 512, 512)
    >>> mask.kv_num_blocks.tolist(), mask.full_kv_num_blocks.tolist(), mask.sparsity()
    ([[[1, 1, 1, 1]]], [[[0, 1, 2, 3]]], 37.5)
    """
    if _arguments(mask_mod) != 4:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = pad(mask.to(int32), (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    sums = mask.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)).sum((-1, -3))
    visible, full = sums > 0, sums == rows * columns
    full_blocks: _Pair = (None, None)
    if separate_full_blocks:
        visible, full_blocks = visible & ~full, _ordered(full)
    return BlockMask.from_kv_blocks(
        *_ordered(visible), *full_blocks, (rows, columns), mask_mod, (Q_LEN, KV_LEN)
    )
