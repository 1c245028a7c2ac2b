"""The functions of ``theano.sandbox.linalg``, which are those of `nlinalg` and `slinalg`."""

from wengert.symbolic.expressions.nlinalg import AllocDiag as AllocDiag
from wengert.symbolic.expressions.nlinalg import Det as Det
from wengert.symbolic.expressions.nlinalg import ExtractDiag as ExtractDiag
from wengert.symbolic.expressions.nlinalg import MatrixInverse as MatrixInverse
from wengert.symbolic.expressions.nlinalg import MatrixPinv as MatrixPinv
from wengert.symbolic.expressions.nlinalg import alloc_diag as alloc_diag
from wengert.symbolic.expressions.nlinalg import det as det
from wengert.symbolic.expressions.nlinalg import diag as diag
from wengert.symbolic.expressions.nlinalg import eig as eig
from wengert.symbolic.expressions.nlinalg import eigh as eigh
from wengert.symbolic.expressions.nlinalg import extract_diag as extract_diag
from wengert.symbolic.expressions.nlinalg import matrix_dot as matrix_dot
from wengert.symbolic.expressions.nlinalg import matrix_inverse as matrix_inverse
from wengert.symbolic.expressions.nlinalg import pinv as pinv
from wengert.symbolic.expressions.nlinalg import qr as qr
from wengert.symbolic.expressions.nlinalg import svd as svd
from wengert.symbolic.expressions.nlinalg import trace as trace
from wengert.symbolic.expressions.slinalg import Cholesky as Cholesky
from wengert.symbolic.expressions.slinalg import Eigvalsh as Eigvalsh
from wengert.symbolic.expressions.slinalg import Solve as Solve
from wengert.symbolic.expressions.slinalg import cholesky as cholesky
from wengert.symbolic.expressions.slinalg import eigvalsh as eigvalsh
from wengert.symbolic.expressions.slinalg import expm as expm
from wengert.symbolic.expressions.slinalg import kron as kron
from wengert.symbolic.expressions.slinalg import solve as solve


def psd(v: object) -> object:
    """A matrix that is said to be positive semi-definite: here it changes nothing."""
    return v
