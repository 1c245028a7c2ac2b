"""The base of transforms, and how they are inverted, composed and lifted."""

from __future__ import annotations

import math
import weakref
from typing import Any

from wengert.core.size import Size
from wengert.distributions import constraints
from wengert.distributions._numbers import sum_rightmost
from wengert.tensor.creation import zeros_like


class Transform:
    """A differentiable map, usually invertible: ``y = t(x)``, ``x = t.inv(y)``.

    Subclasses define `_call`, `_inverse` and `log_abs_det_jacobian`, and where they apply.
    With ``cache_size=1`` the last pair (x, y) is kept, for maps whose inverse is costly or
    inaccurate.

    >>> import wengert
    >>> from wengert.distributions.transforms import ExpTransform
    >>> t = ExpTransform()
    >>> t(wengert.zeros(2)), t.inv(wengert.ones(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many dimensions belong together, on both sides."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse; its inverse is this transform."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """1 where the transform rises, -1 where it falls; for those of single numbers."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with another cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        """The image of x."""
        if self._cache_size == 0:
            return self._call(x)
        cached_x, y = self._cached_x_y
        if x is cached_x:
            return y
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        x, cached_y = self._cached_x_y
        if y is cached_y:
            return x
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the factor by which volumes at x grow, given ``y = t(x)`` too."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the image of inputs of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of inputs whose image has this shape."""
        return shape


class Plain(Transform):
    """A transform without parameters: any two are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    def __hash__(self) -> int:
        return hash(type(self))


class _InverseTransform(Transform):
    """A transform backwards."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv: Transform = transform

    @property
    def domain(self) -> Any:
        return self._inv.codomain

    @property
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __hash__(self) -> int:
        return hash((_InverseTransform, self._inv))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """One transform after another, the first of `parts` first.

    >>> import wengert
    >>> from wengert.distributions.transforms import AffineTransform, ComposeTransform, ExpTransform
    >>> ComposeTransform([ExpTransform(), AffineTransform(1.0, 2.0)])(wengert.zeros(1))
    tensor([3.])
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [transform.with_cache(cache_size) for transform in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(tuple(self.parts))

    @property
    def domain(self) -> Any:
        """The domain of the first part, over as many dimensions as any part needs."""
        if not self.parts:
            return constraints.real
        domain = self.parts[0].domain
        dims = self.parts[-1].codomain.event_dim
        for transform in reversed(self.parts):
            dims = max(
                dims + transform.domain.event_dim - transform.codomain.event_dim,
                transform.domain.event_dim,
            )
        return with_event_dim(domain, dims)

    @property
    def codomain(self) -> Any:
        """The codomain of the last part, over as many dimensions as any part needs."""
        if not self.parts:
            return constraints.real
        codomain = self.parts[-1].codomain
        dims = self.parts[0].domain.event_dim
        for transform in self.parts:
            change = transform.codomain.event_dim - transform.domain.event_dim
            dims = max(dims + change, transform.codomain.event_dim)
        return with_event_dim(codomain, dims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(transform.bijective for transform in self.parts)

    @property
    def sign(self) -> Any:
        return math.prod(transform.sign for transform in self.parts)

    @property
    def inv(self) -> Transform:
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([transform.inv for transform in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Any) -> Any:
        for transform in self.parts:
            x = transform(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return zeros_like(x)
        values = [x]
        for transform in self.parts[:-1]:
            values.append(transform(values[-1]))
        values.append(y)
        total: Any = 0
        dims = self.domain.event_dim
        for transform, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            change = transform.log_abs_det_jacobian(before, after)
            total = total + sum_rightmost(change, dims - transform.domain.event_dim)
            dims += transform.codomain.event_dim - transform.domain.event_dim
        return total

    def forward_shape(self, shape: Any) -> Any:
        for transform in self.parts:
            shape = transform.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for transform in reversed(self.parts):
            shape = transform.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(transform) for transform in self.parts)
        return f"{self.__class__.__name__}(\n    {parts}\n)"


def with_event_dim(constraint: Any, dims: int) -> Any:
    """A constraint on events of `dims` dimensions."""
    more = dims - constraint.event_dim
    return constraints.independent(constraint, more) if more else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose events span `reinterpreted_batch_ndims` more dimensions.

    >>> import wengert
    >>> from wengert.distributions.transforms import ExpTransform, IndependentTransform
    >>> t, x = IndependentTransform(ExpTransform(), 1), wengert.ones(3)
    >>> t.log_abs_det_jacobian(x, t(x))
    tensor(3.)
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @property
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        if x.dim() < self.domain.event_dim:
            raise ValueError(f"Too few dimensions on input: {x.dim()} < {self.domain.event_dim}")
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        if y.dim() < self.codomain.event_dim:
            raise ValueError(f"Too few dimensions on input: {y.dim()} < {self.codomain.event_dim}")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        change = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(change, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"
        )

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """The last dimensions in another shape of as many elements.

    >>> import wengert
    >>> from wengert.distributions.transforms import ReshapeTransform
    >>> ReshapeTransform((2, 3), (6,))(wengert.zeros(5, 2, 3)).shape
    torch.Size([5, 6])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                "in_shape, out_shape have different numbers of elements:"
                f" {tuple(in_shape)} and {tuple(out_shape)}"
            )
        super().__init__(cache_size=cache_size)

    @property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape((*x.shape[: x.dim() - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape((*y.shape[: y.dim() - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _replace_event(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _replace_event(shape, self.out_shape, self.in_shape)


def _replace_event(shape: Any, old: Size, new: Size) -> Size:
    """A shape with its end replaced."""
    shape = Size(shape)
    if len(shape) < len(old):
        raise ValueError(f"Too few dimensions on input: {shape} does not end with {old}")
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return Size((*shape[:cut], *new))


__all__ = [
    "ComposeTransform", "IndependentTransform", "ReshapeTransform", "Transform",
    "identity_transform",
]  # fmt: skip
