"""wengert.special: special functions, as `torch.special`.

Those that `wengert` has at its root come from `ops`; the others are operations declared here, on
SciPy's functions (`_bessel.py`, `_normal.py`) or by recurrences (`_polynomials.py`).
"""

from wengert.core.fronts import publish_module
from wengert.ops.bessel import i0 as i0
from wengert.ops.exponential import exp2 as exp2
from wengert.ops.exponential import expm1 as expm1
from wengert.ops.exponential import log1p as log1p
from wengert.ops.exponential import logit as logit
from wengert.ops.exponential import sigmoid
from wengert.ops.exponential import xlogy as xlogy
from wengert.ops.gamma import igamma, igammac, mvlgamma
from wengert.ops.rounding import round as round
from wengert.ops.softmax import log_softmax as log_softmax
from wengert.ops.softmax import logsumexp as logsumexp
from wengert.ops.softmax import softmax as softmax
from wengert.ops.special import digamma as digamma
from wengert.ops.special import erf as erf
from wengert.ops.special import erfc as erfc
from wengert.ops.special import erfinv as erfinv
from wengert.ops.special import lgamma
from wengert.ops.special import polygamma as polygamma
from wengert.ops.trigonometry import sinc as sinc
from wengert.special._bessel import airy_ai as airy_ai
from wengert.special._bessel import bessel_j0 as bessel_j0
from wengert.special._bessel import bessel_j1 as bessel_j1
from wengert.special._bessel import bessel_y0 as bessel_y0
from wengert.special._bessel import bessel_y1 as bessel_y1
from wengert.special._bessel import i0e as i0e
from wengert.special._bessel import i1 as i1
from wengert.special._bessel import i1e as i1e
from wengert.special._bessel import modified_bessel_i0 as modified_bessel_i0
from wengert.special._bessel import modified_bessel_i1 as modified_bessel_i1
from wengert.special._bessel import modified_bessel_k0 as modified_bessel_k0
from wengert.special._bessel import modified_bessel_k1 as modified_bessel_k1
from wengert.special._bessel import (
    scaled_modified_bessel_k0 as scaled_modified_bessel_k0,
)
from wengert.special._bessel import (
    scaled_modified_bessel_k1 as scaled_modified_bessel_k1,
)
from wengert.special._bessel import spherical_bessel_j0 as spherical_bessel_j0
from wengert.special._normal import entr as entr
from wengert.special._normal import erfcx as erfcx
from wengert.special._normal import log_ndtr as log_ndtr
from wengert.special._normal import ndtr as ndtr
from wengert.special._normal import ndtri as ndtri
from wengert.special._normal import xlog1py as xlog1py
from wengert.special._normal import zeta as zeta
from wengert.special._polynomials import (
    chebyshev_polynomial_t as chebyshev_polynomial_t,
)
from wengert.special._polynomials import (
    chebyshev_polynomial_u as chebyshev_polynomial_u,
)
from wengert.special._polynomials import (
    chebyshev_polynomial_v as chebyshev_polynomial_v,
)
from wengert.special._polynomials import (
    chebyshev_polynomial_w as chebyshev_polynomial_w,
)
from wengert.special._polynomials import hermite_polynomial_h as hermite_polynomial_h
from wengert.special._polynomials import hermite_polynomial_he as hermite_polynomial_he
from wengert.special._polynomials import laguerre_polynomial_l as laguerre_polynomial_l
from wengert.special._polynomials import legendre_polynomial_p as legendre_polynomial_p
from wengert.special._polynomials import (
    shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t,
)
from wengert.special._polynomials import (
    shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u,
)
from wengert.special._polynomials import (
    shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v,
)
from wengert.special._polynomials import (
    shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w,
)

expit = sigmoid
gammainc = igamma
gammaincc = igammac
multigammaln = mvlgamma
psi = digamma
gammaln = lgamma

publish_module("torch.special", [*filter(str.islower, globals())], globals())
