"""Every family with parameters to try, in PyTorch's names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Values = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One distribution: the name of its class, and what the constructor gets.

    Attributes:
        name: the class.
        given: arguments; lists become float64 tensors, numbers stay what they are.
        tag: tells cases of one class apart.
        slopes: the tolerance of gradients of samples, where PyTorch approximates them.
        rtol: the tolerance of values, where PyTorch approximates them.
        unlike: in what we differ from PyTorch on purpose.
        plain: arguments that want no gradient.
    """

    name: str
    given: Values
    tag: str = ""
    slopes: float = 1e-8
    rtol: float = 1e-9
    unlike: frozenset[str] = frozenset()
    plain: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.name}{'-' + self.tag if self.tag else ''}"

    def tensors(self, lib: Any) -> Values:
        """The arguments as one library's tensors; floating-point ones require grad."""
        made = {}
        for name, value in self.given.items():
            if isinstance(value, list):
                made[name] = lib.tensor(value, dtype=lib.float64)
                if name not in self.plain:
                    made[name].requires_grad_()
            else:
                made[name] = value
        return made

    def make(self, lib: Any, given: Values | None = None) -> Any:
        """The distribution of one library."""
        given = self.tensors(lib) if given is None else given
        return getattr(lib.distributions, self.name)(**given)


MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
FACTOR = np.linalg.cholesky(MATRIX).tolist()
PROBS = [[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]]
LOGITS = [[0.3, -1.0, 2.0], [0.0, 0.5, -0.2]]
IMPLICIT = 2e-3  # PyTorch's own error

CASES = [
    Case("Bernoulli", {"probs": [0.2, 0.5, 0.9]}),
    Case("Bernoulli", {"logits": [-1.0, 0.3, 30.0]}, "logits"),
    Case("Bernoulli", {"probs": 0.3}, "number", rtol=3e-7),
    Case("Beta", {"concentration1": [0.5, 2.0, 7.0], "concentration0": [0.7, 3.0, 1.5]},
         slopes=IMPLICIT),
    Case("Beta", {"concentration1": 2.0, "concentration0": [0.7]}, "number", slopes=IMPLICIT),
    Case("Binomial", {"total_count": 6, "probs": [0.2, 0.5, 0.9]}),
    Case("Binomial", {"total_count": [60.0, 60.0], "logits": [0.3, -0.5]}, "logits",
         plain=("total_count",)),
    Case("Categorical", {"probs": PROBS}),
    Case("Categorical", {"logits": LOGITS}, "logits"),
    Case("Categorical", {"probs": [1.0, 3.0]}, "single"),
    Case("Cauchy", {"loc": [0.5, -1.0], "scale": [1.0, 2.0]}),
    Case("Chi2", {"df": [0.8, 3.0, 12.0]}, slopes=IMPLICIT),
    # There PyTorch looks at probabilities only where `validate_args` is given.
    Case("ContinuousBernoulli", {"probs": [0.2, 0.5, 0.9]}, unlike=frozenset({"checks"})),
    Case("ContinuousBernoulli", {"logits": [-2.0, 0.001, 1.0]}, "logits"),
    Case("Dirichlet", {"concentration": [[0.5, 2.0, 1.5], [3.0, 4.0, 9.0]]}, slopes=IMPLICIT),
    Case("Exponential", {"rate": [0.5, 3.0]}),
    Case("FisherSnedecor", {"df1": [3.0, 8.0], "df2": [5.0, 1.5]}, slopes=IMPLICIT),
    Case("Gamma", {"concentration": [0.4, 2.0, 30.0], "rate": [1.0, 0.5, 3.0]},
         slopes=IMPLICIT),
    # In float64 PyTorch's raises for two dtypes.
    Case("GeneralizedPareto", {"loc": [0.5, 1.0], "scale": [1.0, 2.0],
                               "concentration": [0.2, -0.3]},
         unlike=frozenset({"log_prob", "cdf"})),
    Case("Geometric", {"probs": [0.2, 0.5, 0.9]}, unlike=frozenset({"param_shape"})),
    Case("Geometric", {"logits": [-1.0, 0.3]}, "logits",
         unlike=frozenset({"param_shape"})),
    Case("Gumbel", {"loc": [0.5, -1.0], "scale": [1.0, 2.0]}),
    Case("HalfCauchy", {"scale": [0.5, 2.0]}),
    Case("HalfNormal", {"scale": [0.5, 2.0]}),
    Case("InverseGamma", {"concentration": [0.8, 1.5, 4.0], "rate": [1.0, 2.0, 0.5]},
         slopes=IMPLICIT),
    Case("Kumaraswamy", {"concentration1": [1.5, 3.0], "concentration0": [2.0, 0.7]},
         unlike=frozenset({"mode"})),
    Case("LKJCholesky", {"dim": 3, "concentration": [0.7, 2.0]}),
    Case("Laplace", {"loc": [0.5, -1.0], "scale": [1.0, 2.0]}),
    Case("LogNormal", {"loc": [0.5, -1.0], "scale": [1.0, 0.3]}),
    Case("LogisticNormal", {"loc": [0.5, -1.0, 0.2], "scale": [1.0, 0.3, 2.0]}),
    Case("LowRankMultivariateNormal", {
        "loc": [0.5, -1.0, 0.2], "cov_factor": [[1.0], [0.5], [-0.3]], "cov_diag": [1.0, 0.5, 2.0],
    }),
    Case("Multinomial", {"total_count": 5, "probs": PROBS}, rtol=1e-6),
    Case("Multinomial", {"total_count": 4, "logits": LOGITS[0]}, "logits", rtol=1e-6),
    Case("MultivariateNormal", {"loc": [0.5, -1.0, 0.2], "covariance_matrix": MATRIX.tolist()}),
    Case("MultivariateNormal", {"loc": [[0.5, -1.0, 0.2]] * 2, "scale_tril": FACTOR}, "factor",
         # only the lower triangle is read: no gradient above it
         unlike=frozenset({"precision_matrix"})),
    Case("MultivariateNormal", {"loc": [0.5, -1.0, 0.2], "precision_matrix": MATRIX.tolist()},
         "precision"),
    Case("NegativeBinomial", {"total_count": [3.0, 8.0], "probs": [0.2, 0.6]}),
    Case("NegativeBinomial", {"total_count": 4, "logits": [-0.5, 0.3]}, "logits"),
    Case("Normal", {"loc": [0.5, -1.0], "scale": [1.0, 2.0]}),
    Case("Normal", {"loc": 0, "scale": [[1.0], [2.0]]}, "broadcast"),
    Case("Normal", {"loc": 0.0, "scale": 1.0}, "number", rtol=3e-7),
    Case("OneHotCategorical", {"probs": PROBS}),
    Case("OneHotCategorical", {"logits": LOGITS}, "logits"),
    Case("OneHotCategoricalStraightThrough", {"probs": PROBS}),
    Case("Pareto", {"scale": [1.0, 0.5], "alpha": [3.0, 0.7]}),
    Case("Poisson", {"rate": [0.5, 4.0, 40.0]}),
    Case("RelaxedBernoulli", {"temperature": [0.7], "probs": [0.2, 0.6]}),
    Case("RelaxedOneHotCategorical", {"temperature": [0.7], "logits": LOGITS[0]}),
    Case("StudentT", {"df": [0.8, 1.5, 6.0], "loc": [0.0, 1.0, 2.0], "scale": [1.0, 0.5, 2.0]},
         slopes=IMPLICIT),
    Case("Uniform", {"low": [0.0, -1.0], "high": [1.0, 3.0]}),
    Case("VonMises", {"loc": [0.5, -1.0], "concentration": [0.7, 6.0]}, rtol=1e-5),
    Case("Weibull", {"scale": [1.0, 0.5], "concentration": [1.5, 3.0]}),
    Case("Wishart", {"df": [4.0], "covariance_matrix": MATRIX.tolist()},
         # PyTorch draws ten times, as it takes good samples for singular ones.
         unlike=frozenset({"sample"})),
]  # fmt: skip
