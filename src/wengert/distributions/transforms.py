"""Transforms of random variables, with the logarithm of how they change volumes."""

from wengert.distributions._scalar_transforms import AbsTransform as AbsTransform
from wengert.distributions._scalar_transforms import AffineTransform as AffineTransform
from wengert.distributions._scalar_transforms import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from wengert.distributions._scalar_transforms import ExpTransform as ExpTransform
from wengert.distributions._scalar_transforms import PowerTransform as PowerTransform
from wengert.distributions._scalar_transforms import SigmoidTransform as SigmoidTransform
from wengert.distributions._scalar_transforms import SoftplusTransform as SoftplusTransform
from wengert.distributions._scalar_transforms import TanhTransform as TanhTransform
from wengert.distributions._transform import ComposeTransform as ComposeTransform
from wengert.distributions._transform import IndependentTransform as IndependentTransform
from wengert.distributions._transform import ReshapeTransform as ReshapeTransform
from wengert.distributions._transform import Transform as Transform
from wengert.distributions._transform import _InverseTransform as _InverseTransform
from wengert.distributions._transform import identity_transform as identity_transform
from wengert.distributions._vector_transforms import CatTransform as CatTransform
from wengert.distributions._vector_transforms import CorrCholeskyTransform as CorrCholeskyTransform
from wengert.distributions._vector_transforms import (
    LowerCholeskyTransform as LowerCholeskyTransform,
)
from wengert.distributions._vector_transforms import (
    PositiveDefiniteTransform as PositiveDefiniteTransform,
)
from wengert.distributions._vector_transforms import SoftmaxTransform as SoftmaxTransform
from wengert.distributions._vector_transforms import StackTransform as StackTransform
from wengert.distributions._vector_transforms import (
    StickBreakingTransform as StickBreakingTransform,
)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "ExpTransform",
    "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
    "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip
