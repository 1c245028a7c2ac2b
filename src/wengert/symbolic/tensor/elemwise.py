"""``theano.tensor.elemwise``: operations on each element, reductions, and dimensions rearranged."""

from wengert.symbolic.expressions.elemwise import CAReduce as CAReduce
from wengert.symbolic.expressions.elemwise import CAReduceDtype as CAReduceDtype
from wengert.symbolic.expressions.elemwise import DimShuffle as DimShuffle
from wengert.symbolic.expressions.elemwise import Elemwise as Elemwise
from wengert.symbolic.expressions.elemwise import Sum as Sum
from wengert.symbolic.expressions.reductions import All as All
from wengert.symbolic.expressions.reductions import AnyTrue as Any
from wengert.symbolic.expressions.reductions import Prod as Prod
from wengert.symbolic.expressions.reductions import ProdWithoutZeros as ProdWithoutZeros

__all__ = [
    "All",
    "Any",
    "CAReduce",
    "CAReduceDtype",
    "DimShuffle",
    "Elemwise",
    "Prod",
    "ProdWithoutZeros",
    "Sum",
]
