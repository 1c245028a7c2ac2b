"""The methods of Tensor, for type checkers. Written by tools/stubs.py: do not edit."""

from typing import Any, Self

import numpy as np

from wengert.core.tensor import Tensor
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable as Callable
from collections.abc import Iterator as Iterator
from collections.abc import Sequence as Sequence
from typing import NoReturn as NoReturn
from wengert.autograd.hooks import RemovableHandle as RemovableHandle
from wengert.core.dtypes import dtype as DType
from wengert.core.generators import Generator as Generator
from wengert.core.size import Size as Size
from wengert.core.tensor import Node as Node
from wengert.kernels.axes import Dims as Dims
from wengert.ops.results import MinMax as MinMax
from wengert.ops.results import ValuesIndices as ValuesIndices
from wengert.tensor.storages import TypedStorage as TypedStorage
from wengert.tensor.storages import UntypedStorage as UntypedStorage
import builtins as builtins

# What an operation takes where it takes a tensor.
Operand = Tensor | np.ndarray[Any, Any] | np.generic | complex

class TensorMethods:
    @property
    def H(self) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Operand) -> Tensor: ...
    def __and__(self, other: Operand) -> Tensor: ...
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> np.ndarray: ...
    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: _bool = False) -> Tensor: ...
    def __bool__(self) -> _bool: ...
    def __complex__(self) -> complex: ...
    def __contains__(self, element: Any) -> _bool: ...
    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor: ...
    def __delitem__(self, key: Any) -> None: ...
    def __div__(self, other: Operand) -> Tensor: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> Any: ...
    def __eq__(self, other: Operand) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> _float: ...
    def __floordiv__(self, other: Operand) -> Tensor: ...
    def __format__(self, spec: str) -> str: ...
    def __ge__(self, other: Operand) -> Tensor: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __gt__(self, other: Operand) -> Tensor: ...
    def __iadd__(self, other: Operand) -> Tensor: ...
    def __iand__(self, other: Operand) -> Tensor: ...
    def __ifloordiv__(self, other: Operand) -> Tensor: ...
    def __ilshift__(self, other: Operand) -> Tensor: ...
    def __imod__(self, other: Operand) -> Tensor: ...
    def __imul__(self, other: Operand) -> Tensor: ...
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Operand) -> Tensor: ...
    def __ipow__(self, other: Operand) -> Tensor: ...
    def __irshift__(self, other: Operand) -> Tensor: ...
    def __isub__(self, other: Operand) -> Tensor: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __itruediv__(self, other: Operand) -> Tensor: ...
    def __ixor__(self, other: Operand) -> Tensor: ...
    def __le__(self, other: Operand) -> Tensor: ...
    def __len__(self) -> _int: ...
    def __lshift__(self, other: Operand) -> Tensor: ...
    def __lt__(self, other: Operand) -> Tensor: ...
    def __matmul__(self, other: Operand) -> Tensor: ...
    def __mod__(self, other: Operand) -> Tensor: ...
    def __mul__(self, other: Operand) -> Tensor: ...
    def __ne__(self, other: Operand) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __new__(cls, *args: Any, device: Any = None) -> Self: ...
    def __or__(self, other: Operand) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Operand) -> Tensor: ...
    def __radd__(self, other: Operand) -> Tensor: ...
    def __rand__(self, other: Operand) -> Tensor: ...
    def __rdiv__(self, other: Any) -> Any: ...
    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]: ...
    def __repr__(self, *, tensor_contents: str | None = None) -> str: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: Operand) -> Tensor: ...
    def __rlshift__(self, other: Operand) -> Tensor: ...
    def __rmatmul__(self, other: Operand) -> Tensor: ...
    def __rmod__(self, other: Operand) -> Tensor: ...
    def __rmul__(self, other: Operand) -> Tensor: ...
    def __ror__(self, other: Operand) -> Tensor: ...
    def __rpow__(self, other: Operand) -> Tensor: ...
    def __rrshift__(self, other: Operand) -> Tensor: ...
    def __rshift__(self, other: Operand) -> Tensor: ...
    def __rsub__(self, other: Operand) -> Tensor: ...
    def __rtruediv__(self, other: Operand) -> Tensor: ...
    def __rxor__(self, other: Operand) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __sub__(self, other: Operand) -> Tensor: ...
    def __truediv__(self, other: Operand) -> Tensor: ...
    def __xor__(self, other: Operand) -> Tensor: ...
    @property
    def _backward_hooks(self) -> Any: ...
    @_backward_hooks.setter
    def _backward_hooks(self, value: Any) -> None: ...
    @property
    def _base(self) -> Any: ...
    def _elu_(self, alpha: _float, scale: _float = 1.0, rate: _float = 1.0) -> Tensor: ...
    def _hardsigmoid_(self) -> Tensor: ...
    def _hardswish_(self) -> Tensor: ...
    def _hardtanh_(self, min_val: _float, max_val: _float) -> Tensor: ...
    def _indices(self) -> Tensor: ...
    def _is_all_true(self) -> Tensor: ...
    def _is_any_true(self) -> Tensor: ...
    def _is_view(self) -> Any: ...
    def _leaky_relu_(self, negative_slope: _float) -> Tensor: ...
    def _masked_(self, mask: Operand, scale: _float) -> Tensor: ...
    def _mish_(self) -> Tensor: ...
    def _nnz(self) -> _int: ...
    def _prelu_(self, weight: Operand) -> Tensor: ...
    def _silu_(self) -> Tensor: ...
    def _threshold_(self, threshold: _float, value: _float) -> Tensor: ...
    def _values(self) -> Tensor: ...
    @property
    def _version(self) -> _int: ...
    def abs(self) -> Tensor:
        """The absolute value of each element; real for complex tensors."""
    def abs_(self) -> Tensor:
        """In-place form of `abs`."""
    def absolute(self) -> Tensor:
        """The absolute value of each element; real for complex tensors."""
    def absolute_(self) -> Tensor:
        """In-place form of `absolute`."""
    def acos(self) -> Tensor:
        """Inverse of `cos`; NaN outside [-1, 1]."""
    def acos_(self) -> Tensor:
        """In-place form of `acos`."""
    def acosh(self) -> Tensor:
        """Inverse of `cosh`; NaN below 1."""
    def acosh_(self) -> Tensor:
        """In-place form of `acosh`."""
    def add(self, other: Any, *older: Any, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """``input + alpha * other``, element by element, with broadcasting."""
    def add_(self, other: Any, *older: Any, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """In-place form of `add`."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *older: Any, beta: _float = 1, alpha: _float = 1, out: Tensor | None = None) -> Tensor:
        """beta * input + alpha * (the sum of the products of the matrices of two batches)."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *older: Any, beta: _float = 1, alpha: _float = 1, out: Tensor | None = None) -> Tensor:
        """In-place form of `addbmm`."""
    def addcdiv(self, tensor1: Operand, tensor2: Operand, *, value: complex = 1) -> Tensor:
        """``input + value * tensor1 / tensor2``, with broadcasting; floating-point only."""
    def addcdiv_(self, tensor1: Operand, tensor2: Operand, *, value: complex = 1) -> Tensor:
        """In-place form of `addcdiv`."""
    def addcmul(self, tensor1: Operand, tensor2: Operand, *, value: complex = 1) -> Tensor:
        """``input + value * tensor1 * tensor2``, with broadcasting."""
    def addcmul_(self, tensor1: Operand, tensor2: Operand, *, value: complex = 1) -> Tensor:
        """In-place form of `addcmul`."""
    def addmm(self, mat1: Operand, mat2: Operand, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2); `input` broadcasts, and beta=0 leaves it out."""
    def addmm_(self, mat1: Operand, mat2: Operand, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """In-place form of `addmm`."""
    def addmv(self, mat: Tensor, vec: Tensor, *older: Any, beta: _float = 1, alpha: _float = 1, out: Tensor | None = None) -> Tensor:
        """beta * input + alpha * (mat @ vec)."""
    def addmv_(self, mat: Tensor, vec: Tensor, *older: Any, beta: _float = 1, alpha: _float = 1, out: Tensor | None = None) -> Tensor:
        """In-place form of `addmv`."""
    def addr(self, vec1: Tensor, vec2: Tensor, *older: Any, beta: _float = 1, alpha: _float = 1, out: Tensor | None = None) -> Tensor:
        """beta * input + alpha * outer(vec1, vec2)."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *older: Any, beta: _float = 1, alpha: _float = 1, out: Tensor | None = None) -> Tensor:
        """In-place form of `addr`."""
    def adjoint(self) -> Tensor:
        """The conjugate transpose of a matrix or of each matrix in a batch."""
    def all(self, dim: Dims | None = None, keepdim: _bool = False) -> Tensor:
        """Whether all elements over `dim` are non-zero: bool, or uint8 for uint8."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: builtins.bool = False) -> builtins.bool:
        """Whether `isclose` holds for every element."""
    def amax(self, dim: Dims = ..., keepdim: _bool = False) -> Tensor:
        """Largest elements over `dim`, or over everything. Ties share the gradient."""
    def amin(self, dim: Dims = ..., keepdim: _bool = False) -> Tensor:
        """Smallest elements over `dim`, or over everything. Ties share the gradient."""
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False, axis: _int | None = None, keepdims: _bool | None = None, out: tuple[Tensor, ...] | None = None) -> MinMax:
        """The smallest and the largest elements over `dim`, or over everything."""
    def angle(self, *, out: Tensor | None = None) -> Tensor:
        """Angle of each element in the complex plane, in radians."""
    def any(self, dim: Dims | None = None, keepdim: _bool = False) -> Tensor:
        """Whether any element over `dim` is non-zero: bool, or uint8 for uint8."""
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Replace each element by a function of it; slow."""
    def arccos(self) -> Tensor:
        """Inverse of `cos`; NaN outside [-1, 1]."""
    def arccos_(self) -> Tensor:
        """In-place form of `arccos`."""
    def arccosh(self) -> Tensor:
        """Inverse of `cosh`; NaN below 1."""
    def arccosh_(self) -> Tensor:
        """In-place form of `arccosh`."""
    def arcsin(self) -> Tensor:
        """Inverse of `sin`; NaN outside [-1, 1]."""
    def arcsin_(self) -> Tensor:
        """In-place form of `arcsin`."""
    def arcsinh(self) -> Tensor:
        """Inverse of `sinh`."""
    def arcsinh_(self) -> Tensor:
        """In-place form of `arcsinh`."""
    def arctan(self) -> Tensor:
        """Inverse of `tan`."""
    def arctan2(self, other: Operand) -> Tensor:
        """The angle of the point with ordinate `input` and abscissa `other`."""
    def arctan2_(self, other: Operand) -> Tensor:
        """In-place form of `arctan2`."""
    def arctan_(self) -> Tensor:
        """In-place form of `arctan`."""
    def arctanh(self) -> Tensor:
        """Inverse of `tanh`: infinite at -1 and 1, NaN beyond."""
    def arctanh_(self) -> Tensor:
        """In-place form of `arctanh`."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """Index of the largest element along `dim`, or in the flattened tensor; the first of several."""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """Index of the smallest element along `dim`, or in the flattened tensor; the first of several."""
    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
        """The indices that sort the input along `dim`. Always stable; nan counts as the largest."""
    def argwhere(self) -> Tensor:
        """The indices of the elements that are not zero, a row each."""
    def as_strided(self, size: tuple[_int, ...], stride: tuple[_int, ...], storage_offset: _int | None = None) -> Tensor:
        """A view of the input's memory with the given shape, strides and offset, in elements."""
    def as_strided_(self, size: tuple[_int, ...], stride: tuple[_int, ...], storage_offset: _int | None = None) -> Tensor:
        """In-place form of `as_strided`; no element is written."""
    def as_strided_scatter(self, src: Tensor, size: tuple[_int, ...], stride: tuple[_int, ...], storage_offset: _int | None = None) -> Tensor:
        """A copy of the input with the elements `as_strided` would select replaced by `src`."""
    def as_subclass(self, cls: _type[Tensor]) -> Tensor:
        """Return this tensor as an instance of a Tensor subclass, with the same memory and graph."""
    def asin(self) -> Tensor:
        """Inverse of `sin`; NaN outside [-1, 1]."""
    def asin_(self) -> Tensor:
        """In-place form of `asin`."""
    def asinh(self) -> Tensor:
        """Inverse of `sinh`."""
    def asinh_(self) -> Tensor:
        """In-place form of `asinh`."""
    def atan(self) -> Tensor:
        """Inverse of `tan`."""
    def atan2(self, other: Operand) -> Tensor:
        """The angle of the point with ordinate `input` and abscissa `other`."""
    def atan2_(self, other: Operand) -> Tensor:
        """In-place form of `atan2`."""
    def atan_(self) -> Tensor:
        """In-place form of `atan`."""
    def atanh(self) -> Tensor:
        """Inverse of `tanh`: infinite at -1 and 1, NaN beyond."""
    def atanh_(self) -> Tensor:
        """In-place form of `atanh`."""
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | str | None = None, create_graph: _bool = False, inputs: Any = None, retain_variables: _bool | None = None) -> None:
        """Add the gradient of this tensor to the `.grad` of the leaves it was computed from."""
    def baddbmm(self, batch1: Operand, batch2: Operand, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """beta * input + alpha * bmm(batch1, batch2); `input` broadcasts, beta=0 leaves it out."""
    def baddbmm_(self, batch1: Operand, batch2: Operand, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """In-place form of `baddbmm`."""
    def bernoulli(self, p: _float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
        """0 or 1: 1 with the probability in `input`, or `p` everywhere."""
    def bernoulli_(self, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
        """Fill with 1 where a draw succeeds, with probability `p`, and 0 elsewhere."""
    def bfloat16(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.bfloat16; itself where it already is."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """The count (or sum of weights) of each number from 0 in a 1-D tensor of integers."""
    def bitwise_and(self, other: Operand) -> Tensor:
        """Bits that are set in both; the operator ``&``."""
    def bitwise_and_(self, other: Operand) -> Tensor:
        """In-place form of `bitwise_and`."""
    def bitwise_left_shift(self, other: Operand) -> Tensor:
        """Bits shifted left; 0 where the shift is negative or not below the width. The operator ``<<``."""
    def bitwise_left_shift_(self, other: Operand) -> Tensor:
        """In-place form of `bitwise_left_shift`."""
    def bitwise_not(self) -> Tensor:
        """Every bit inverted, or the negation of booleans; the operator ``~``."""
    def bitwise_not_(self) -> Tensor:
        """In-place form of `bitwise_not`."""
    def bitwise_or(self, other: Operand) -> Tensor:
        """Bits that are set in either; the operator ``|``."""
    def bitwise_or_(self, other: Operand) -> Tensor:
        """In-place form of `bitwise_or`."""
    def bitwise_right_shift(self, other: Operand) -> Tensor:
        """Bits shifted right, keeping the sign; shifts out of range shift everything out."""
    def bitwise_right_shift_(self, other: Operand) -> Tensor:
        """In-place form of `bitwise_right_shift`."""
    def bitwise_xor(self, other: Operand) -> Tensor:
        """Bits that are set in exactly one; the operator ``^``."""
    def bitwise_xor_(self, other: Operand) -> Tensor:
        """In-place form of `bitwise_xor`."""
    def bmm(self, mat2: Operand) -> Tensor:
        """Products of the matrices of two batches of equal length."""
    def bool(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.bool; itself where it already is."""
    def broadcast_to(self, size: Sequence[_int]) -> Tensor:
        """The input expanded to a shape, as a view."""
    def byte(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.uint8; itself where it already is."""
    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with numbers of the Cauchy distribution."""
    def ccol_indices(self) -> Tensor:
        """Where each column (of blocks) of a tensor in CSC or BSC begins among the row indices."""
    def cdouble(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.complex128; itself where it already is."""
    def ceil(self) -> Tensor:
        """The smallest integer not below each element, in the same dtype."""
    def ceil_(self) -> Tensor:
        """In-place form of `ceil`."""
    def cfloat(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.complex64; itself where it already is."""
    def char(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.int8; itself where it already is."""
    def cholesky(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The triangular factor of Hermitian positive-definite matrices: input = L @ L.mH."""
    def cholesky_inverse(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The inverse of the matrix given by its Cholesky factor (L, or U with `upper`)."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """X of A @ X = input, for A given by its Cholesky factor `input2` (L, or U with `upper`)."""
    def chunk(self, chunks: _int, dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
        """Split along a dimension into at most `chunks` equal parts; the last may be smaller."""
    def clamp(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
        """Elements limited to [min, max]; the bounds are both numbers or both tensors, or None."""
    def clamp_(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `clamp`."""
    def clamp_max(self, max: Any, *, out: Tensor | None = None) -> Tensor:
        """Elements limited from above by `max`, a number or a tensor."""
    def clamp_max_(self, max: Any, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `clamp_max`."""
    def clamp_min(self, min: Any, *, out: Tensor | None = None) -> Tensor:
        """Elements limited from below by `min`, a number or a tensor."""
    def clamp_min_(self, min: Any, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `clamp_min`."""
    def clip(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
        """Elements limited to [min, max]; the bounds are both numbers or both tensors, or None."""
    def clip_(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `clip`."""
    def clone(self, *, memory_format: Any = None) -> Tensor:
        """A copy of the input; gradients pass through it."""
    def coalesce(self) -> Tensor:
        """The tensor with sorted indices, and the values at the same place added up."""
    def col_indices(self) -> Tensor:
        """The column of each value (or block) of a tensor in CSR or BSR."""
    def conj(self) -> Tensor:
        """Complex conjugate of each element; a real tensor is returned as it is."""
    def conj_physical(self, *, out: Tensor | None = None) -> Tensor:
        """As `conj`: conjugates are always computed eagerly here."""
    def conj_physical_(self, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `conj_physical`."""
    def contiguous(self, memory_format: Any = None) -> Tensor:
        """The input itself if it is contiguous, otherwise a contiguous copy."""
    def copy_(self, other: Any, non_blocking: _bool = False) -> Tensor:
        """Copy the elements of `other`, broadcast and converted, into this tensor."""
    def copysign(self, other: Operand) -> Tensor:
        """The magnitude of `input` with the sign of `other`; signed zeros count."""
    def copysign_(self, other: Operand) -> Tensor:
        """In-place form of `copysign`."""
    def corrcoef(self) -> Tensor:
        """Correlation coefficients of the rows of a matrix, within [-1, 1]."""
    def cos(self) -> Tensor:
        """Cosine of each element, in radians."""
    def cos_(self) -> Tensor:
        """In-place form of `cos`."""
    def cosh(self) -> Tensor:
        """Hyperbolic cosine of each element."""
    def cosh_(self) -> Tensor:
        """In-place form of `cosh`."""
    def count_nonzero(self, dim: Dims | None = None) -> Tensor:
        """The number of elements over `dim` that are not zero, in int64."""
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """Covariances of the rows of a matrix, whose columns are observations."""
    def cpu(self, memory_format: Any = ...) -> Tensor:
        """The tensor itself: all are on the CPU. With `memory_format` a copy, if it lies otherwise."""
    def cross(self, other: Tensor, dim: _int | None = None, *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """Vector product along `dim`, of length 3; the others broadcast."""
    def crow_indices(self) -> Tensor:
        """Where each row (of blocks) of a tensor in CSR or BSR begins among the column indices."""
    def cuda(self, device: Any = None, non_blocking: _bool = False, memory_format: Any = None) -> Tensor:
        """Raise AssertionError, as in a PyTorch without CUDA."""
    def cummax(self, dim: _int = ..., *, axis: _int | None = None, out: tuple[Tensor, ...] | None = None) -> ValuesIndices:
        """Running maximum along `dim`, and the index of its latest occurrence."""
    def cummin(self, dim: _int = ..., *, axis: _int | None = None, out: tuple[Tensor, ...] | None = None) -> ValuesIndices:
        """Running minimum along `dim`, and the index of its latest occurrence."""
    def cumprod(self, dim: _int = ..., *, dtype: DType | None = None, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """Running product along `dim`; integers and booleans give int64."""
    def cumprod_(self, dim: _int = ..., *, dtype: DType | None = None, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """In-place form of `cumprod`."""
    def cumsum(self, dim: _int = ..., *, dtype: DType | None = None, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """Running sum along `dim`; integers and booleans give int64."""
    def cumsum_(self, dim: _int = ..., *, dtype: DType | None = None, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """In-place form of `cumsum`."""
    @property
    def data(self) -> Tensor: ...
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def data_ptr(self) -> _int:
        """The address of the first element."""
    def deg2rad(self) -> Tensor:
        """Degrees to radians."""
    def deg2rad_(self) -> Tensor:
        """In-place form of `deg2rad`."""
    def dense_dim(self) -> _int:
        """How many dimensions, the last ones, are dense."""
    def det(self, *, out: Tensor | None = None) -> Tensor:
        """The determinant of each square matrix. Its gradient is correct for singular matrices, too."""
    def detach(self) -> Tensor:
        """Return a tensor with the same memory, cut off from the graph."""
    def detach_(self) -> Tensor:
        """Cut this tensor off from the graph, in place. RuntimeError for a view."""
    @property
    def device(self) -> Any: ...
    def diag(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """The diagonal of a matrix as a vector, or a matrix with a vector as its diagonal."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices with the input's last dimension on their diagonals, zero elsewhere."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """A matrix with the elements of the input, in flat order, as its diagonal."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The diagonal over two dimensions as a view; it becomes the last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy of the input with a `diagonal` replaced by `src`."""
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """The n-th difference along `dim`, of the input with `prepend` and `append` added at its ends."""
    def digamma(self) -> Tensor:
        """The derivative of `lgamma`."""
    def digamma_(self) -> Tensor:
        """In-place form of `digamma`."""
    def dim(self) -> _int:
        """The number of dimensions."""
    def dim_order(self, *, ambiguity_check: _bool | list[Any] = False) -> tuple[_int, ...]:
        """The dimensions from the widest stride to the narrowest."""
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """The p-norm of the difference of two tensors, which broadcast."""
    def div(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """Quotient, element by element; integers give the default floating-point dtype."""
    def div_(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """In-place form of `div`."""
    def divide(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """Quotient, element by element; integers give the default floating-point dtype."""
    def divide_(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """In-place form of `divide`."""
    def dot(self, tensor: Operand) -> Tensor:
        """Sum of the products of two 1-D tensors of equal length and dtype."""
    def double(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.float64; itself where it already is."""
    def dsplit(self, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]:
        """`tensor_split` into equal parts along the third dimension."""
    @property
    def dtype(self) -> Any: ...
    def eig(self, **kwargs: Any) -> Any:
        """RuntimeError: eigenvalues are found otherwise, see the error."""
    def element_size(self) -> _int:
        """Bytes per element."""
    def eq(self, other: Operand) -> Tensor:
        """Whether elements are equal; NaN equals nothing."""
    def eq_(self, other: Operand) -> Tensor:
        """In-place form of `eq`."""
    def equal(self, other: Tensor) -> builtins.bool:
        """Whether two tensors have the same shape and equal elements."""
    def erf(self) -> Tensor:
        """The error function of each element."""
    def erf_(self) -> Tensor:
        """In-place form of `erf`."""
    def erfc(self) -> Tensor:
        """``1 - erf(x)``, accurate for large x."""
    def erfc_(self) -> Tensor:
        """In-place form of `erfc`."""
    def erfinv(self) -> Tensor:
        """The inverse of `erf`: infinite at -1 and 1, NaN beyond."""
    def erfinv_(self) -> Tensor:
        """In-place form of `erfinv`."""
    def exp(self) -> Tensor:
        """e to the power of each element."""
    def exp2(self) -> Tensor:
        """2 to the power of each element."""
    def exp2_(self) -> Tensor:
        """In-place form of `exp2`."""
    def exp_(self) -> Tensor:
        """In-place form of `exp`."""
    def expand(self, *sizes: Any, **named: Any) -> Tensor:
        """A view with dimensions of length 1 repeated to the given lengths; -1 keeps a length."""
    def expand_as(self, other: Tensor) -> Tensor:
        """The input expanded to the shape of `other`."""
    def expm1(self) -> Tensor:
        """``exp(x) - 1``, accurate near zero."""
    def expm1_(self) -> Tensor:
        """In-place form of `expm1`."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with numbers of the exponential distribution of this rate."""
    def fill_(self, value: Any) -> Tensor:
        """Set all elements to a number or the value of a 0-d tensor."""
    def fill_diagonal_(self, fill_value: _float, wrap: _bool = False) -> Tensor:
        """Write a number to the main diagonal; `wrap` repeats it down a tall matrix."""
    def fix(self) -> Tensor:
        """Each element without its fractional part."""
    def fix_(self) -> Tensor:
        """In-place form of `fix`."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """The dimensions from `start_dim` to `end_dim`, both included, merged into one."""
    def flip(self, *sizes: Any, **named: Any) -> Tensor:
        """A copy with the elements in reverse order along the given dimensions."""
    def fliplr(self) -> Tensor:
        """The columns in reverse order."""
    def flipud(self) -> Tensor:
        """The rows in reverse order."""
    def float(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.float32; itself where it already is."""
    def float_power(self, exponent: Any, *, out: Tensor | None = None) -> Tensor:
        """`pow` in double precision: float64, or complex128 if either is complex."""
    def float_power_(self, exponent: Any) -> Tensor:
        """In-place form of `float_power`, for tensors of float64 and complex128."""
    def floor(self) -> Tensor:
        """The largest integer not above each element, in the same dtype."""
    def floor_(self) -> Tensor:
        """In-place form of `floor`."""
    def floor_divide(self, other: Any, *, out: Tensor | None = None) -> Tensor:
        """Quotient rounded towards minus infinity, the operator ``//``."""
    def floor_divide_(self, other: Any, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `floor_divide`."""
    def fmax(self, other: Operand) -> Tensor:
        """The larger of two elements; NaN only if both are."""
    def fmin(self, other: Operand) -> Tensor:
        """The smaller of two elements; NaN only if both are."""
    def fmod(self, other: Operand) -> Tensor:
        """Remainder of truncated division; it has the sign of the dividend."""
    def fmod_(self, other: Operand) -> Tensor:
        """In-place form of `fmod`."""
    def frac(self) -> Tensor:
        """The fractional part of each element, with its sign."""
    def frac_(self) -> Tensor:
        """In-place form of `frac`."""
    def frexp(self, *, out: tuple[Tensor, ...] | None = None) -> Any:
        """Mantissas with magnitudes in [0.5, 1), and exponents of two (int32)."""
    def gather(self, dim: _int, index: Operand, *, sparse_grad: _bool = False) -> Tensor:
        """For each element of `index`, the input's element at that place along `dim`."""
    def gcd(self, other: Operand) -> Tensor:
        """Greatest common divisor; that of 0 and 0 is 0."""
    def gcd_(self, other: Operand) -> Tensor:
        """In-place form of `gcd`."""
    def ge(self, other: Operand) -> Tensor:
        """Whether ``input >= other``."""
    def ge_(self, other: Operand) -> Tensor:
        """In-place form of `ge`."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Tensor:
        """Fill with numbers of trials until the first success, of probability `p`."""
    def geqrf(self, *, out: tuple[Tensor, ...] | None = None) -> Any:
        """A QR factorization in LAPACK's packed form, for `linalg.householder_product`; no derivative."""
    def ger(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The same as `outer`."""
    def get_device(self) -> _int:
        """-1, the number of the CPU."""
    @property
    def grad(self) -> Tensor | None: ...
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @property
    def grad_fn(self) -> Node | None: ...
    def greater(self, other: Operand) -> Tensor:
        """Whether ``input > other``."""
    def greater_(self, other: Operand) -> Tensor:
        """In-place form of `greater`."""
    def greater_equal(self, other: Operand) -> Tensor:
        """Whether ``input >= other``."""
    def greater_equal_(self, other: Operand) -> Tensor:
        """In-place form of `greater_equal`."""
    def gt(self, other: Operand) -> Tensor:
        """Whether ``input > other``."""
    def gt_(self, other: Operand) -> Tensor:
        """In-place form of `gt`."""
    def half(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.float16; itself where it already is."""
    def hardshrink(self, lambd: _float = 0.5) -> Tensor:
        """0 where ``|x| <= lambd``, else x."""
    def hash_tensor(self, dim: Dims | None = None, *, keepdim: _bool = False, mode: _int = 0, axis: Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """The exclusive or of the bits of all elements, as doubles or 64-bit integers: uint64."""
    def heaviside(self, values: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The step function: 0 left of zero, 1 right of it, and `values` at zero."""
    def heaviside_(self, values: Tensor, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `heaviside`."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0, *, out: Tensor | None = None) -> Tensor:
        """Counts in `bins` equal bins between `min` and `max`; both 0 means the input's range."""
    def histogram(self, bins: _int | Tensor = 100, *, range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False, out: tuple[Tensor, ...] | None = None) -> Any:
        """Counts (or sums of `weight`) in bins, and the bins' edges."""
    def hsplit(self, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]:
        """`tensor_split` into equal parts along the columns (a vector's only dimension)."""
    def hypot(self, other: Operand) -> Tensor:
        """The hypotenuse ``sqrt(input**2 + other**2)``, without intermediate overflow."""
    def hypot_(self, other: Operand) -> Tensor:
        """In-place form of `hypot`."""
    def i0(self, *, out: Tensor | None = None) -> Any:
        """The modified Bessel function of the first kind and order 0."""
    def i0_(self, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `i0`."""
    def igamma(self, other: Operand) -> Tensor:
        """The regularised lower incomplete gamma function of shape `input` up to `other`."""
    def igamma_(self, other: Operand) -> Tensor:
        """In-place form of `igamma`."""
    def igammac(self, other: Operand) -> Tensor:
        """``1 - igamma(input, other)``, accurate where that is small."""
    def igammac_(self, other: Operand) -> Tensor:
        """In-place form of `igammac`."""
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    def index_add(self, dim: _int, index: Operand, source: Operand, *, alpha: complex = 1) -> Tensor:
        """A copy of the input with the slices of `source`, times `alpha`, added at the indices."""
    def index_add_(self, dim: _int, index: Operand, source: Operand, *, alpha: complex = 1) -> Tensor:
        """In-place form of `index_add`."""
    def index_copy(self, dim: _int, index: Operand, source: Operand) -> Tensor:
        """A copy of the input with the slices of `source` at the indices (int64)."""
    def index_copy_(self, dim: _int, index: Operand, source: Operand) -> Tensor:
        """In-place form of `index_copy`."""
    def index_fill(self, dim: _int = ..., index: Tensor = ..., value: Any = ..., *, axis: _int | None = None) -> Tensor:
        """A copy of the input with the slices at the indices filled with a number or 0-d tensor."""
    def index_fill_(self, dim: _int = ..., index: Tensor = ..., value: Any = ..., *, axis: _int | None = None) -> Tensor:
        """In-place form of `index_fill`."""
    def index_put(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy of the input with `values`, broadcast, at ``input[indices]``, or added there."""
    def index_put_(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place form of `index_put`."""
    def index_reduce(self, dim: _int = ..., index: Tensor = ..., source: Tensor = ..., reduce: str = ..., *, include_self: _bool = True, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """A copy of the input with the slices of `source` reduced into it at the indices."""
    def index_reduce_(self, dim: _int = ..., index: Tensor = ..., source: Tensor = ..., reduce: str = ..., *, include_self: _bool = True, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """In-place form of `index_reduce`."""
    def index_select(self, dim: _int, index: Operand) -> Tensor:
        """The slices of a dimension selected by an index vector (int64 or int32)."""
    def indices(self) -> Tensor:
        """The indices (sparse dimensions, values) of a coalesced tensor in COO."""
    def inner(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Sums of products over the last dimension of both tensors; a 0-d tensor scales the other."""
    def int(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.int32; itself where it already is."""
    def inverse(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of each square matrix; raises `linalg.LinAlgError` for singular ones."""
    def ipu(self, *args: Any, **options: Any) -> NoReturn:
        """Raise RuntimeError, as in a PyTorch without that device."""
    def is_coalesced(self) -> _bool:
        """Whether the indices of a tensor in COO are sorted, and each of them is there once."""
    def is_complex(self) -> builtins.bool:
        """Whether the dtype is complex."""
    def is_conj(self) -> _bool:
        """False: conjugation is never lazy."""
    def is_contiguous(self, memory_format: Any = ...) -> _bool:
        """Whether the elements are dense in memory, in the order of the dimensions."""
    @property
    def is_cpu(self) -> Any: ...
    @property
    def is_cuda(self) -> Any: ...
    def is_floating_point(self) -> builtins.bool:
        """Whether the dtype is a real floating-point one."""
    def is_inference(self) -> _bool:
        """Whether the tensor was made in `inference_mode`, or is a view of one that was."""
    @property
    def is_leaf(self) -> _bool: ...
    @property
    def is_meta(self) -> Any: ...
    @property
    def is_mkldnn(self) -> Any: ...
    @property
    def is_mps(self) -> Any: ...
    def is_neg(self) -> _bool:
        """False: negation is never lazy."""
    @property
    def is_nested(self) -> Any: ...
    def is_nonzero(self) -> _bool:
        """Whether the single element is nonzero; RuntimeError unless there is exactly one."""
    def is_pinned(self, device: Any = None) -> _bool:
        """False: there is no accelerator to pin memory for."""
    @property
    def is_quantized(self) -> Any: ...
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether another tensor has the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether another tensor is the same view of the same memory."""
    def is_shared(self) -> _bool:
        """Whether `share_memory_` moved the elements to shared memory."""
    def is_signed(self) -> _bool:
        """Whether the dtype has negative values."""
    @property
    def is_sparse(self) -> Any: ...
    @property
    def is_sparse_csr(self) -> Any: ...
    @property
    def is_xpu(self) -> Any: ...
    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: builtins.bool = False) -> Tensor:
        """Whether ``|input - other| <= atol + rtol * |other|``; the dtypes must be equal."""
    def isfinite(self) -> Tensor:
        """Whether each element is neither infinite nor NaN."""
    def isinf(self) -> Tensor:
        """Whether each element, or a part of it, is infinite."""
    def isnan(self) -> Tensor:
        """Whether each element is NaN."""
    def isneginf(self) -> Tensor:
        """Whether each element is minus infinity."""
    def isposinf(self) -> Tensor:
        """Whether each element is plus infinity."""
    def isreal(self) -> Tensor:
        """Whether each element has no imaginary part."""
    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """The signal whose `stft` comes closest to `input`; its inverse, with the same arguments."""
    def item(self) -> Any:
        """Return the single element as a Python number; RuntimeError unless there is exactly one."""
    @property
    def itemsize(self) -> Any: ...
    def kron(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Kronecker product: each element of `input` replaced by the product of it and `other`."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False, *, axis: _int | None = None, keepdims: _bool | None = None, out: tuple[Tensor, ...] | None = None) -> ValuesIndices:
        """The k-th smallest element along `dim` (k counts from 1) and its index."""
    @property
    def layout(self) -> Any: ...
    def lcm(self, other: Operand) -> Tensor:
        """Least common multiple."""
    def lcm_(self, other: Operand) -> Tensor:
        """In-place form of `lcm`."""
    def ldexp(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``input * 2 ** other``."""
    def ldexp_(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `ldexp`."""
    def le(self, other: Operand) -> Tensor:
        """Whether ``input <= other``."""
    def le_(self, other: Operand) -> Tensor:
        """In-place form of `le`."""
    def lerp(self, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
        """``input + weight * (end - input)``; all tensors must have the same dtype."""
    def lerp_(self, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `lerp`."""
    def less(self, other: Operand) -> Tensor:
        """Whether ``input < other``."""
    def less_(self, other: Operand) -> Tensor:
        """In-place form of `less`."""
    def less_equal(self, other: Operand) -> Tensor:
        """Whether ``input <= other``."""
    def less_equal_(self, other: Operand) -> Tensor:
        """In-place form of `less_equal`."""
    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Tensor:
        """In-place form of `lgamma`."""
    def log(self) -> Tensor:
        """Natural logarithm of each element; NaN for negative real ones."""
    def log10(self) -> Tensor:
        """Logarithm to the base 10."""
    def log10_(self) -> Tensor:
        """In-place form of `log10`."""
    def log1p(self) -> Tensor:
        """``log(1 + x)``, accurate near zero."""
    def log1p_(self) -> Tensor:
        """In-place form of `log1p`."""
    def log2(self) -> Tensor:
        """Logarithm to the base 2."""
    def log2_(self) -> Tensor:
        """In-place form of `log2`."""
    def log_(self) -> Tensor:
        """In-place form of `log`."""
    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with numbers whose logarithms are normal."""
    def log_softmax(self, dim: _int = ..., dtype: DType | None = None, *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """The logarithm of `softmax` along `dim`, finite where softmax would round to zero."""
    def logaddexp(self, other: Operand) -> Tensor:
        """``log(exp(input) + exp(other))``, without intermediate overflow."""
    def logaddexp2(self, other: Operand) -> Tensor:
        """``log2(2**input + 2**other)``, without intermediate overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """Logarithm of the running sum of exponentials along `dim`."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant; nan if that is negative."""
    def logical_and(self, other: Operand) -> Tensor:
        """Whether both elements are nonzero."""
    def logical_and_(self, other: Operand) -> Tensor:
        """In-place form of `logical_and`."""
    def logical_not(self) -> Tensor:
        """Whether each element is zero."""
    def logical_not_(self) -> Tensor:
        """In-place form of `logical_not`."""
    def logical_or(self, other: Operand) -> Tensor:
        """Whether either element is nonzero."""
    def logical_or_(self, other: Operand) -> Tensor:
        """In-place form of `logical_or`."""
    def logical_xor(self, other: Operand) -> Tensor:
        """Whether exactly one of the two elements is nonzero."""
    def logical_xor_(self, other: Operand) -> Tensor:
        """In-place form of `logical_xor`."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """``log(x / (1 - x))``, the inverse of `sigmoid`; with `eps`, x is first clamped to [eps, 1 - eps]."""
    def logit_(self, eps: _float | None = None) -> Tensor:
        """In-place form of `logit`."""
    def logsumexp(self, dim: Dims, keepdim: _bool = False) -> Tensor:
        """Logarithm of the sum of exponentials over `dim`, computed without overflow."""
    def long(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.int64; itself where it already is."""
    def lstsq(self, **kwargs: Any) -> Any:
        """RuntimeError: least squares are found otherwise, see the error."""
    def lt(self, other: Operand) -> Tensor:
        """Whether ``input < other``."""
    def lt_(self, other: Operand) -> Tensor:
        """In-place form of `lt`."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> tuple[Tensor, ...]:
        """`linalg.lu_factor` under its old name; with `get_infos`, `linalg.lu_factor_ex`."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
        """X of A @ X = input, for the result of `linalg.lu_factor` of A."""
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Any: ...
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
        """Replace each element by a function of it and of those in two other tensors; slow."""
    def map_(self, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Replace each element by a function of it and the one in `other`; slow."""
    def masked_fill(self, mask: Tensor, value: Any) -> Tensor:
        """A copy with `value`, a number or a 0-d tensor, where `mask` is true."""
    def masked_fill_(self, mask: Tensor, value: Any) -> Tensor:
        """In-place form of `masked_fill`."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy of the input with the elements of `source`, in order, where the mask is true."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In-place form of `masked_scatter`."""
    def masked_select(self, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements where the mask is true, as a vector; input and mask broadcast."""
    def matmul(self, other: Operand) -> Tensor:
        """Matrix product over the last two dimensions; the leading ones broadcast."""
    def matrix_exp(self) -> Tensor:
        """The exponential of each square matrix: the sum of its powers over factorials."""
    def matrix_power(self, n: _int, *, out: Tensor | None = None) -> Tensor:
        """The n-th power of each square matrix; of its inverse for negative `n`."""
    def max(self, dim: _int | Tensor | None = None, keepdim: _bool = False, *, other: Tensor | None = None, axis: _int | None = None, keepdims: _bool | None = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor | ValuesIndices:
        """The largest element; along `dim` with its index; or of two tensors (see `maximum`)."""
    def maximum(self, other: Operand) -> Tensor:
        """The larger of two elements; NaN if either is. Equal elements share the gradient."""
    def mean(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """Mean over `dim`, or over everything; nan for an empty tensor."""
    def median(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = None, keepdims: _bool | None = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor | ValuesIndices:
        """The median (the lower of two), nan if there is a nan; along `dim` with its index."""
    def min(self, dim: _int | Tensor | None = None, keepdim: _bool = False, *, other: Tensor | None = None, axis: _int | None = None, keepdims: _bool | None = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor | ValuesIndices:
        """The smallest element; along `dim` with its index; or of two tensors (see `minimum`)."""
    def minimum(self, other: Operand) -> Tensor:
        """The smaller of two elements; NaN if either is. Equal elements share the gradient."""
    def mm(self, mat2: Operand) -> Tensor:
        """Product of two matrices of the same dtype."""
    def mode(self, dim: _int = -1, keepdim: _bool = False, *, axis: _int | None = None, keepdims: _bool | None = None, out: tuple[Tensor, ...] | None = None) -> ValuesIndices:
        """The most frequent value along `dim` (the smallest of several) and its last index."""
    def module_load(self, other: Tensor, assign: _bool = False) -> Tensor:
        """What `load_state_dict` swaps a tensor of a module with, to load `other` into it."""
    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """As `movedim`."""
    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Move the dimensions `source` to the positions `destination`; the others stay in order."""
    def msort(self, *, out: Tensor | None = None) -> Tensor:
        """The elements sorted along the first dimension."""
    def mtia(self, *args: Any, **options: Any) -> NoReturn:
        """Raise AssertionError, as in a PyTorch without that device."""
    def mul(self, other: Operand) -> Tensor:
        """Product, element by element, with broadcasting."""
    def mul_(self, other: Operand) -> Tensor:
        """In-place form of `mul`."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
        """Indices drawn from each row with probabilities proportional to its weights."""
    def multiply(self, other: Operand) -> Tensor:
        """Product, element by element, with broadcasting."""
    def multiply_(self, other: Operand) -> Tensor:
        """In-place form of `multiply`."""
    def mv(self, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Product of a matrix and a vector."""
    def mvlgamma(self, p: _int, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the gamma function of `p` dimensions."""
    def mvlgamma_(self, p: _int, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `mvlgamma`."""
    @property
    def name(self) -> Any: ...
    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """Replace NaN and infinities by 0, the largest and the smallest number, or given values."""
    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """In-place form of `nan_to_num`."""
    def nanmean(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """Mean over `dim`, ignoring nan."""
    def nanmedian(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = None, keepdims: _bool | None = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor | ValuesIndices:
        """The median, ignoring nan; along `dim` with its index."""
    def nanquantile(self, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', axis: _int | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """The q-quantiles, ignoring nan."""
    def nansum(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """Sum over `dim`, treating nan as zero."""
    def narrow(self, dim: _int = ..., start: Any = ..., length: _int = ..., *, axis: _int | None = None) -> Tensor:
        """`length` slices of a dimension starting at `start`, as a view."""
    def narrow_copy(self, dim: _int = ..., start: Any = ..., length: _int = ..., *, axis: _int | None = None) -> Tensor:
        """A copy of what `narrow` shows, with memory of its own."""
    @property
    def nbytes(self) -> Any: ...
    @property
    def ndim(self) -> Any: ...
    def ndimension(self) -> _int:
        """The number of dimensions."""
    def ne(self, other: Operand) -> Tensor:
        """Whether elements differ."""
    def ne_(self, other: Operand) -> Tensor:
        """In-place form of `ne`."""
    def neg(self) -> Tensor:
        """Each element with the opposite sign."""
    def neg_(self) -> Tensor:
        """In-place form of `neg`."""
    def negative(self) -> Tensor:
        """Each element with the opposite sign."""
    def negative_(self) -> Tensor:
        """In-place form of `negative`."""
    def nelement(self) -> _int:
        """The number of elements."""
    def new(self, *args: Any, device: Any = None) -> Tensor:
        """A tensor of this one's dtype, from a size or from data, as the old constructors."""
    def new_empty(self, *size: Any, **options: Any) -> Tensor:
        """A tensor of this size whose elements are not set, in this tensor's dtype."""
    def new_empty_strided(self, size: Any, stride: Any, **options: Any) -> Tensor:
        """A tensor of this size, these strides, and this tensor's dtype; elements are uninitialized."""
    def new_full(self, size: Any, fill_value: Any, **options: Any) -> Tensor:
        """Create a tensor filled with one value, in this tensor's dtype."""
    def new_ones(self, *size: Any, **options: Any) -> Tensor:
        """A tensor of this size whose elements are one, in this tensor's dtype."""
    def new_tensor(self, data: Any, **options: Any) -> Tensor:
        """Create a tensor from data, which is copied, in this tensor's dtype."""
    def new_zeros(self, *size: Any, **options: Any) -> Tensor:
        """A tensor of this size whose elements are zero, in this tensor's dtype."""
    def nextafter(self, other: Operand) -> Tensor:
        """The next representable number after each element in the direction of `other`."""
    def nextafter_(self, other: Operand) -> Tensor:
        """In-place form of `nextafter`."""
    def nonzero(self, *, as_tuple: _bool = False, out: Tensor | None = None) -> Any:
        """The indices of the elements that are not zero: a row each, or a vector per dimension."""
    def nonzero_static(self, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
        """`nonzero` in `size` rows: the first ones, or filled up with `fill_value`."""
    def norm(self, p: _float | str | None = 'fro', dim: Dims | None = None, keepdim: _bool = False, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
        """The p-norm of the elements over `dim`, or over everything; "fro" is p=2."""
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with normal numbers."""
    def not_equal(self, other: Operand) -> Tensor:
        """Whether elements differ."""
    def not_equal_(self, other: Operand) -> Tensor:
        """In-place form of `not_equal`."""
    def numel(self) -> _int:
        """The number of elements."""
    def numpy(self, *, force: _bool = False) -> np.ndarray:
        """Return the tensor's memory as a NumPy array."""
    def orgqr(self, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The same as `linalg.householder_product`."""
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The product of an orthogonal matrix, a product of reflections, and another matrix."""
    def outer(self, vec2: Operand) -> Tensor:
        """Products of each element of one 1-D tensor with each of another."""
    @property
    def output_nr(self) -> _int: ...
    def permute(self, *sizes: Any, **named: Any) -> Tensor:
        """The dimensions in another order, as a view."""
    def pin_memory(self, device: Any = None) -> Tensor:
        """Raise RuntimeError, as in a PyTorch without an accelerator."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The pseudoinverse; singular values within `rcond` times the largest count as zero."""
    def polygamma(self, n: _int) -> Tensor:
        """The n-th derivative of `digamma`."""
    def polygamma_(self, n: _int) -> Tensor:
        """In-place form of `polygamma`."""
    def positive(self) -> Tensor:
        """The tensor itself, the operator ``+x``."""
    def pow(self, exponent: Any, *, out: Tensor | None = None) -> Tensor:
        """``input ** exponent``, element by element; either may be a number."""
    def pow_(self, exponent: Any, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `pow`."""
    def prelu(self, weight: Tensor) -> Tensor:
        """x where positive, else ``weight * x``; `weight` has one element, or one per channel."""
    def prod(self, dim: _int | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: _int | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """Product over one dimension, or of everything; integers and booleans give int64."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy of the input with the elements of `source` written at, or added to, flat positions."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place form of `put`."""
    def qr(self, some: _bool = True, *, out: tuple[Tensor, ...] | None = None) -> Any:
        """Q and R of input = Q @ R: orthonormal columns, and an upper triangle."""
    def quantile(self, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', axis: _int | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """The q-quantiles along `dim`, or of everything; nan if there is a nan."""
    def rad2deg(self) -> Tensor:
        """Radians to degrees."""
    def rad2deg_(self) -> Tensor:
        """In-place form of `rad2deg`."""
    def random_(self, *bounds: _int, generator: Generator | None = None, **named: _int) -> Tensor:
        """Fill with integers: ``random_()``, ``random_(to)``, ``random_(from, to)``."""
    def ravel(self) -> Tensor:
        """The elements in one contiguous dimension: a view if the input is contiguous, else a copy."""
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Tensor) -> None: ...
    def reciprocal(self) -> Tensor:
        """1 over each element."""
    def reciprocal_(self) -> Tensor:
        """In-place form of `reciprocal`."""
    def record_stream(self, *args: Any, **options: Any) -> NoReturn:
        """Raise NotImplementedError, as in a PyTorch without that device."""
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` whenever the gradient of this tensor is computed."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` after the gradient of this leaf has been added to `.grad`."""
    def reinforce(self, reward: Any) -> None:
        """RuntimeError: `distributions` have the log-probabilities of samples."""
    def relu(self, inplace: _bool = False) -> Tensor:
        """``max(x, 0)``."""
    def relu_(self, inplace: _bool = False) -> Tensor:
        """In-place form of `relu`."""
    def remainder(self, other: Operand) -> Tensor:
        """Remainder of floor division, the operator ``%``; it has the sign of the divisor."""
    def remainder_(self, other: Operand) -> Tensor:
        """In-place form of `remainder`."""
    def renorm(self, p: _float, dim: _int = ..., maxnorm: _float = ..., *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """Scale slices along `dim` with a p-norm above `maxnorm` down to it."""
    def renorm_(self, p: _float, dim: _int = ..., maxnorm: _float = ..., *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """In-place form of `renorm`."""
    def repeat(self, *sizes: Any, **named: Any) -> Tensor:
        """Repeat the tensor that many times along each dimension; new dimensions come first."""
    def repeat_interleave(self, repeats: _int | Tensor | None = None, dim: _int | None = None, *, output_size: _int | None = None, axis: _int | None = None) -> Tensor:
        """Each slice along `dim` repeated in place; without `dim` each element of all."""
    @property
    def requires_grad(self) -> Any: ...
    @requires_grad.setter
    def requires_grad(self, value: Any) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Tensor:
        """Set whether this leaf requires grad; return the tensor."""
    def reshape(self, *sizes: Any, **named: Any) -> Tensor:
        """The elements in another shape, as `wengert.reshape`; a view where that is possible."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """The input reshaped to the shape of `other`."""
    def resize(self, *sizes: Any) -> Tensor:
        """The tensor in another shape of as many elements: `reshape`, with a warning."""
    def resize_(self, *size: Any, memory_format: Any = None) -> Tensor:
        """Give the tensor another shape, in its memory if that is large enough, else in new memory."""
    def resize_as(self, tensor: Tensor) -> Tensor:
        """`resize` to the shape of another tensor, with a warning."""
    def resize_as_(self, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
        """`resize_` to the shape of another tensor, and with `preserve_format` to its memory order."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself: conjugation is never lazy here."""
    def resolve_neg(self) -> Tensor:
        """The tensor itself: negation is never lazy here."""
    def retain_grad(self) -> None:
        """Store the gradient of this non-leaf tensor in `.grad`."""
    @property
    def retains_grad(self) -> _bool: ...
    def roll(self, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = None) -> Tensor:
        """Shift the elements along `dims`, wrapping around; without `dims` in flat order."""
    def rot90(self, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
        """Rotate the input k times by 90 degrees, from the first of `dims` towards the second."""
    def round(self, *, decimals: _int = 0) -> Tensor:
        """The nearest integer, or multiple of ``10 ** -decimals``; halves go to the even neighbour."""
    def round_(self, *, decimals: _int = 0) -> Tensor:
        """In-place form of `round`."""
    def row_indices(self) -> Tensor:
        """The row of each value (or block) of a tensor in CSC or BSC."""
    def rsqrt(self) -> Tensor:
        """1 over the square root of each element."""
    def rsqrt_(self) -> Tensor:
        """In-place form of `rsqrt`."""
    def scatter(self, dim: _int = ..., index: Tensor = ..., src: Any = None, *, reduce: str | None = None, value: complex | None = None, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """A copy of the input with values written along `dim` at the positions in `index`."""
    def scatter_(self, dim: _int = ..., index: Tensor = ..., src: Any = None, *, reduce: str | None = None, value: complex | None = None, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """In-place form of `scatter`."""
    def scatter_add(self, dim: _int, index: Operand, src: Operand) -> Tensor:
        """As `scatter`, adding the elements of `src`; repeated indices accumulate."""
    def scatter_add_(self, dim: _int, index: Operand, src: Operand) -> Tensor:
        """In-place form of `scatter_add`."""
    def scatter_reduce(self, dim: _int = ..., index: Tensor = ..., src: Tensor = ..., reduce: str = ..., *, include_self: _bool = True, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """As `scatter`, reducing the elements with the same index by sum, prod, mean, amax or amin."""
    def scatter_reduce_(self, dim: _int = ..., index: Tensor = ..., src: Tensor = ..., reduce: str = ..., *, include_self: _bool = True, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """In-place form of `scatter_reduce`."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """The slice at one index of a dimension, without that dimension; a view."""
    def select_scatter(self, src: Tensor, dim: _int = ..., index: _int = ..., *, axis: _int | None = None) -> Tensor:
        """A copy of the input with one slice of a dimension replaced by `src`."""
    def set_(self, source: Any = None, storage_offset: _int = 0, size: Any = None, stride: Any = None) -> Tensor:
        """Make the tensor refer to the memory of another tensor or of a storage."""
    def sgn(self, *, out: Tensor | None = None) -> Tensor:
        """`sign`, and for complex elements z / abs(z), 0 at 0."""
    def sgn_(self, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `sgn`."""
    @property
    def shape(self) -> Size: ...
    def share_memory_(self) -> Tensor:
        """Move the elements to memory shared with forked processes."""
    def short(self, memory_format: Any = ...) -> Tensor:
        """This tensor as torch.int16; itself where it already is."""
    def sigmoid(self) -> Tensor:
        """The logistic function ``1 / (1 + exp(-x))``."""
    def sigmoid_(self) -> Tensor:
        """In-place form of `sigmoid`."""
    def sign(self) -> Tensor:
        """-1, 0 or 1 by the sign of each element; 0 for NaN."""
    def sign_(self) -> Tensor:
        """In-place form of `sign`."""
    def signbit(self) -> Tensor:
        """Whether each element's sign bit is set, as it is for -0.0."""
    def sin(self) -> Tensor:
        """Sine of each element, in radians."""
    def sin_(self) -> Tensor:
        """In-place form of `sin`."""
    def sinc(self) -> Tensor:
        """``sin(pi x) / (pi x)``, and 1 at 0."""
    def sinc_(self) -> Tensor:
        """In-place form of `sinc`."""
    def sinh(self) -> Tensor:
        """Hyperbolic sine of each element."""
    def sinh_(self) -> Tensor:
        """In-place form of `sinh`."""
    def size(self, dim: _int | None = None) -> Any:
        """The shape, or the length of one dimension."""
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """A copy of the input with a slice of a dimension replaced by `src`."""
    def slogdet(self, *, out: tuple[Tensor, ...] | None = None) -> Any:
        """The sign of the determinant and the logarithm of its magnitude."""
    def smm(self, mat2: Tensor) -> Tensor:
        """As the function `smm`."""
    def softmax(self, dim: _int = ..., dtype: DType | None = None, *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """exp(x) / sum(exp(x)) along `dim`; `dtype` converts the input first."""
    def solve(self, **kwargs: Any) -> Any:
        """RuntimeError: linear equations are found otherwise, see the error."""
    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, axis: _int | None = None, out: tuple[Tensor, ...] | None = None) -> ValuesIndices:
        """The elements sorted along `dim`, and their original indices. Always stable."""
    def sparse_dim(self) -> _int:
        """How many dimensions are sparse; 0 of a dense tensor."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements at the places where the sparse tensor `mask` has values."""
    def split(self, split_size: Any, dim: _int = 0) -> tuple[Tensor, ...]:
        """Views of `split_size` elements along a dimension, or of a list of sizes."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
        """Split along a dimension into parts of the given sizes."""
    def sqrt(self) -> Tensor:
        """Square root of each element; NaN for negative ones."""
    def sqrt_(self) -> Tensor:
        """In-place form of `sqrt`."""
    def square(self, *, out: Tensor | None = None) -> Tensor:
        """Each element times itself."""
    def square_(self, *, out: Tensor | None = None) -> Tensor:
        """In-place form of `square`."""
    def squeeze(self, *dim: Any, **named: Any) -> Tensor:
        """The tensor without dimensions of length 1: all of them, or those named."""
    def squeeze_(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """In-place form of `squeeze`; no element is written."""
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """As the function `sspaddmm`."""
    def std(self, dim: Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, axis: Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """Standard deviation: the square root of `var`. Its gradient is 0 at 0."""
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """Spectra of frames of length `n_fft`, `hop_length` (a quarter of it) apart."""
    def storage(self) -> TypedStorage:
        """The memory of this tensor, as elements of its dtype."""
    def storage_offset(self) -> _int:
        """The number of elements in the underlying memory before the first one."""
    def stride(self, dim: _int | None = None) -> Any:
        """The number of elements between neighbours, along each dimension or one of them."""
    def sub(self, other: Any, *older: Any, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """``input - alpha * other``, element by element, with broadcasting."""
    def sub_(self, other: Any, *older: Any, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """In-place form of `sub`."""
    def subtract(self, other: Any, *older: Any, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """``input - alpha * other``, element by element, with broadcasting."""
    def subtract_(self, other: Any, *older: Any, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """In-place form of `subtract`."""
    def sum(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """Sum over `dim`, or over everything; integers and booleans give int64."""
    def sum_to_size(self, *size: Any) -> Tensor:
        """Sum to shape `size`, over the dimensions a broadcast to this tensor's shape would repeat."""
    def svd(self, some: _bool = True, compute_uv: _bool = True, *, out: tuple[Tensor, ...] | None = None) -> Any:
        """U, S and V of input = U @ diag(S) @ V.mH; `some=False` makes U and V square."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """As `transpose`."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """In-place form of `swapaxes`; no element is written."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """As `transpose`."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place form of `swapdims`; no element is written."""
    def symeig(self, **kwargs: Any) -> Any:
        """RuntimeError: eigenvalues of symmetric matrices are found otherwise, see the error."""
    def t(self) -> Tensor:
        """The transpose of a matrix; a vector or scalar is returned unchanged."""
    def t_(self) -> Tensor:
        """In-place form of `t`; no element is written."""
    def take(self, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements at flat positions of the input; negative ones count from the end."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None, *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
        """As `gather`, with input and indices broadcast and negative indices; flat without `dim`."""
    def tan(self) -> Tensor:
        """Tangent of each element, in radians."""
    def tan_(self) -> Tensor:
        """In-place form of `tan`."""
    def tanh(self) -> Tensor:
        """Hyperbolic tangent of each element."""
    def tanh_(self) -> Tensor:
        """In-place form of `tanh`."""
    def tensor_split(self, indices_or_sections: _int | Sequence[_int] | Tensor, dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
        """Split into parts of nearly equal size, or at the given indices."""
    def tile(self, *sizes: Any, **named: Any) -> Tensor:
        """Repeat the tensor; the numbers are aligned with the last dimension."""
    def to(self, *args: Any, **options: Any) -> Tensor:
        """``to(dtype)``, ``to(device)``, ``to(device, dtype)``, ``to(other)``."""
    def to_dense(self, dtype: Any = None, *, masked_grad: _bool | None = None) -> Tensor:
        """A sparse tensor with all its zeros; a dense one as it is. Differentiable."""
    def to_sparse(self, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: _int | None = None) -> Tensor:
        """The tensor in a sparse layout, COO by default: what is not zero. Differentiable."""
    def to_sparse_bsc(self, blocksize: Any, dense_dim: _int | None = None) -> Tensor:
        """The tensor in compressed columns of blocks."""
    def to_sparse_bsr(self, blocksize: Any, dense_dim: _int | None = None) -> Tensor:
        """The tensor in compressed rows of blocks."""
    def to_sparse_coo(self) -> Tensor:
        """The tensor in coordinates."""
    def to_sparse_csc(self, dense_dim: _int | None = None) -> Tensor:
        """The tensor in compressed columns."""
    def to_sparse_csr(self, dense_dim: _int | None = None) -> Tensor:
        """The tensor in compressed rows."""
    def tolist(self) -> Any:
        """Return nested lists of Python numbers; for a 0-d tensor, the number."""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, axis: _int | None = None, out: tuple[Tensor, ...] | None = None) -> ValuesIndices:
        """The k largest (or smallest) elements along `dim` and their indices, best first."""
    def trace(self) -> Tensor:
        """Sum of the diagonal of a matrix; integers give int64."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """The input with two dimensions swapped."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place form of `transpose`; no element is written."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> Any:
        """X of A @ X = input (of A.mT with `transpose`) and a copy of A; an older `solve_triangular`."""
    def tril(self, diagonal: _int = 0) -> Tensor:
        """The lower triangle of each matrix, up to a diagonal; zeros above."""
    def tril_(self, diagonal: _int = 0) -> Tensor:
        """In-place form of `tril`."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """The upper triangle of each matrix, from a diagonal on; zeros below."""
    def triu_(self, diagonal: _int = 0) -> Tensor:
        """In-place form of `triu`."""
    def true_divide(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """Quotient, element by element; integers give the default floating-point dtype."""
    def true_divide_(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """In-place form of `true_divide`."""
    def trunc(self) -> Tensor:
        """Each element without its fractional part."""
    def trunc_(self) -> Tensor:
        """In-place form of `trunc`."""
    def type(self, dtype: Any = None, non_blocking: _bool = False, *, memory_format: Any = ...) -> Any:
        """The name of the tensor's old type; or the tensor converted to a dtype or type."""
    def type_as(self, other: Tensor) -> Tensor:
        """This tensor in the dtype of another."""
    def unbind(self, dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
        """The slices along a dimension, without that dimension."""
    def unflatten(self, dim: _int = ..., sizes: Sequence[_int] = ..., *, axis: _int | None = None) -> Tensor:
        """Dimension `dim` split into several of the given sizes, one of which may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """All slices of length `size` along a dimension, `step` apart, as a view."""
    def uniform_(self, *bounds: _float, generator: Generator | None = None, **named: _float) -> Tensor:
        """Fill with uniform numbers: ``uniform_(from=0, to=1)``."""
    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
        """The distinct elements in ascending order, or the distinct slices along `dim`."""
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
        """The elements, or the slices along `dim`, without immediate repetitions."""
    def unsafe_chunk(self, chunks: _int, dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
        """`chunk`; writing to one part is always safe here."""
    def unsafe_split(self, split_size: _int, dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
        """`split`; writing to one part is always safe here."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
        """`split_with_sizes`; writing to one part is always safe here."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """The input with a dimension of length 1 inserted before position `dim`."""
    def unsqueeze_(self, dim: _int) -> Tensor:
        """In-place form of `unsqueeze`; no element is written."""
    def untyped_storage(self) -> UntypedStorage:
        """The memory of this tensor, possibly shared with others."""
    def values(self) -> Tensor:
        """The stored values of a sparse tensor, which is coalesced if it is in COO. Differentiable."""
    def var(self, dim: Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, axis: Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """Variance over `dim`, or over everything, with `correction` (1) subtracted from the count."""
    def vdot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """As `dot`, with the conjugate of the first tensor."""
    def view(self, *given: Any, size: Any = None, dtype: DType | None = None) -> Tensor:
        """View the same memory in another shape, or as elements of another dtype."""
    def view_as(self, other: Tensor) -> Tensor:
        """The input viewed in the shape of `other`."""
    @property
    def volatile(self) -> _bool: ...
    @volatile.setter
    def volatile(self, value: _bool) -> None: ...
    def vsplit(self, indices_or_sections: _int | Sequence[_int]) -> tuple[Tensor, ...]:
        """`tensor_split` into equal parts along the rows."""
    def where(self, condition: Tensor, other: Any) -> Tensor:
        """Select this tensor's elements where `condition` is true, those of `other` elsewhere."""
    def xlogy(self, other: Operand) -> Tensor:
        """``input * log(other)``, and 0 wherever `input` is 0 and `other` is not NaN."""
    def xlogy_(self, other: Operand) -> Tensor:
        """In-place form of `xlogy`."""
    def xpu(self, *args: Any, **options: Any) -> NoReturn:
        """Raise AssertionError, as in a PyTorch without that device."""
    def zero_(self) -> Tensor:
        """Set all elements to zero."""
