"""Probability distributions: samples with gradients, densities, moments, divergences.

Parameters come in as tensors or numbers; samples and densities are tensors, computed with the
library's own operations, so gradients flow to the parameters. A distribution has a module of its
own; `constraints` says where values lie, `transforms` maps between such sets, and `_kl_within` and
`_kl_across` register divergences with `kl`. Read `distribution.py` first, then `normal.py`.
"""

from wengert.distributions import _kl_across as _kl_across
from wengert.distributions import _kl_within as _kl_within
from wengert.distributions import constraints as constraints
from wengert.distributions import transforms as transforms
from wengert.distributions.bernoulli import Bernoulli as Bernoulli
from wengert.distributions.beta import Beta as Beta
from wengert.distributions.binomial import Binomial as Binomial
from wengert.distributions.categorical import Categorical as Categorical
from wengert.distributions.cauchy import Cauchy as Cauchy
from wengert.distributions.chi2 import Chi2 as Chi2
from wengert.distributions.constraint_registry import biject_to as biject_to
from wengert.distributions.constraint_registry import transform_to as transform_to
from wengert.distributions.continuous_bernoulli import ContinuousBernoulli as ContinuousBernoulli
from wengert.distributions.dirichlet import Dirichlet as Dirichlet
from wengert.distributions.distribution import Distribution as Distribution
from wengert.distributions.exp_family import ExponentialFamily as ExponentialFamily
from wengert.distributions.exponential import Exponential as Exponential
from wengert.distributions.fishersnedecor import FisherSnedecor as FisherSnedecor
from wengert.distributions.gamma import Gamma as Gamma
from wengert.distributions.generalized_pareto import GeneralizedPareto as GeneralizedPareto
from wengert.distributions.geometric import Geometric as Geometric
from wengert.distributions.gumbel import Gumbel as Gumbel
from wengert.distributions.half_cauchy import HalfCauchy as HalfCauchy
from wengert.distributions.half_normal import HalfNormal as HalfNormal
from wengert.distributions.independent import Independent as Independent
from wengert.distributions.inverse_gamma import InverseGamma as InverseGamma
from wengert.distributions.kl import kl_divergence as kl_divergence
from wengert.distributions.kl import register_kl as register_kl
from wengert.distributions.kumaraswamy import Kumaraswamy as Kumaraswamy
from wengert.distributions.laplace import Laplace as Laplace
from wengert.distributions.lkj_cholesky import LKJCholesky as LKJCholesky
from wengert.distributions.log_normal import LogNormal as LogNormal
from wengert.distributions.logistic_normal import LogisticNormal as LogisticNormal
from wengert.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal as LowRankMultivariateNormal,
)
from wengert.distributions.mixture_same_family import MixtureSameFamily as MixtureSameFamily
from wengert.distributions.multinomial import Multinomial as Multinomial
from wengert.distributions.multivariate_normal import MultivariateNormal as MultivariateNormal
from wengert.distributions.negative_binomial import NegativeBinomial as NegativeBinomial
from wengert.distributions.normal import Normal as Normal
from wengert.distributions.one_hot_categorical import OneHotCategorical as OneHotCategorical
from wengert.distributions.one_hot_categorical import (
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from wengert.distributions.pareto import Pareto as Pareto
from wengert.distributions.poisson import Poisson as Poisson
from wengert.distributions.relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from wengert.distributions.relaxed_categorical import (
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from wengert.distributions.studentT import StudentT as StudentT
from wengert.distributions.transformed_distribution import (
    TransformedDistribution as TransformedDistribution,
)
from wengert.distributions.transforms import AbsTransform as AbsTransform
from wengert.distributions.transforms import AffineTransform as AffineTransform
from wengert.distributions.transforms import CatTransform as CatTransform
from wengert.distributions.transforms import ComposeTransform as ComposeTransform
from wengert.distributions.transforms import CorrCholeskyTransform as CorrCholeskyTransform
from wengert.distributions.transforms import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from wengert.distributions.transforms import ExpTransform as ExpTransform
from wengert.distributions.transforms import IndependentTransform as IndependentTransform
from wengert.distributions.transforms import LowerCholeskyTransform as LowerCholeskyTransform
from wengert.distributions.transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from wengert.distributions.transforms import PowerTransform as PowerTransform
from wengert.distributions.transforms import ReshapeTransform as ReshapeTransform
from wengert.distributions.transforms import SigmoidTransform as SigmoidTransform
from wengert.distributions.transforms import SoftmaxTransform as SoftmaxTransform
from wengert.distributions.transforms import SoftplusTransform as SoftplusTransform
from wengert.distributions.transforms import StackTransform as StackTransform
from wengert.distributions.transforms import StickBreakingTransform as StickBreakingTransform
from wengert.distributions.transforms import TanhTransform as TanhTransform
from wengert.distributions.transforms import Transform as Transform
from wengert.distributions.transforms import identity_transform as identity_transform
from wengert.distributions.uniform import Uniform as Uniform
from wengert.distributions.von_mises import VonMises as VonMises
from wengert.distributions.weibull import Weibull as Weibull
from wengert.distributions.wishart import Wishart as Wishart

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform",
    "Categorical", "Cauchy", "Chi2", "ComposeTransform", "ContinuousBernoulli",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet", "Distribution",
    "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma",
    "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "IndependentTransform", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace",
    "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "LowerCholeskyTransform",
    "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson",
    "PositiveDefiniteTransform", "PowerTransform", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "StudentT",
    "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "VonMises", "Weibull",
    "Wishart", "biject_to", "identity_transform", "kl_divergence", "register_kl",
    "transform_to",
]  # fmt: skip
