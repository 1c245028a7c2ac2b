"""Programs about rarer parts of Theano, for `programs.py`: steps of loops, random matrices."""

import numpy as np

PARTS = {}


def program(function):
    PARTS[function.__name__] = function
    return function


@program
def scans_with_steps_that_are_replaced(theano, T):
    from theano.scan_module.scan_utils import map_variables

    x, c, q = T.dvector("x"), T.dscalar("c"), T.dscalar("q")
    zero = T.constant(0.0, dtype="float64")

    def step(v, total, c):
        product = v * 2
        product.tag.replacement = v * q
        return product + total * c

    def stopping(v, total):
        product = v * 2
        product.tag.replacement = v * 3
        return product + total, theano.scan_module.until(product > 4)

    def replacement(v):
        return getattr(v.tag, "replacement", v)

    loop, _ = theano.scan(step, [x], [zero], [c])
    stopped, _ = theano.scan(stopping, [x], [zero])
    (new,) = map_variables(replacement, [loop], additional_inputs=[q])
    (shorter,) = map_variables(replacement, [stopped])
    (doubled,) = map_variables(lambda v: v * 2 if v.name == "c" else v, [loop[-1]])
    results = [loop, new, T.grad(new.sum(), q), T.grad(new.sum(), x), stopped, shorter, doubled]
    return theano.function([x, c, q], results)([1.0, 2.0, 4.0], 0.25, 5.0)


@program
def sparse_random_numbers(theano, T):
    import scipy.sparse
    from theano import sparse
    from theano.sparse.sandbox import sp2

    x, p = sparse.csr_matrix("x", "float64"), sparse.csr_matrix("p", "float64")
    n, several, shape = T.lscalar("n"), T.lvector("several"), T.lvector("shape")
    draws = [
        sp2.poisson(x), sp2.csr_fbinomial(n, T.constant(0.3), shape),
        sp2.csc_dbinomial(n, T.constant(0.6), shape), sp2.multinomial(n, p),
        sp2.multinomial(several, p),
    ]  # fmt: skip
    f = [
        theano.function([x, p, n, several, shape], draw, on_unused_input="ignore") for draw in draws
    ]
    rates = scipy.sparse.csr_matrix([[0, 3.0, 1.0], [0.1, 5.0, 0]])
    chances = scipy.sparse.csr_matrix([[0.2, 0.3, 0.5], [0, 0.4, 0.6]])
    np.random.seed(3)
    values = [g(rates, chances, 10, [3, 5], [3, 4]) for g in f for _ in range(2)]
    return [v.toarray() for v in values]


@program
def values_that_are_absent(theano, T):
    x, y, state = T.dscalars("x", "y", "state")
    f = theano.function([x, y], T.default(x, y))
    new = y + T.default(state, np.float64(3.8))
    g = theano.function([y, theano.In(state, value=12.0, update=new)], new)
    results = [f(1, 2), f(None, 2), f(1, None), g(3)]
    g["state"] = None
    return [*results, g(1), g(2.2)]


@program
def directions_of_what_does_not_depend(theano, T):
    x, v, z = T.dmatrix("x"), T.dmatrix("v"), T.dvector("z")
    results = [T.Rop(z * 2, x, v), T.Rop(T.gt(x, 0), x, v), T.Rop(T.exp(z).sum() * x, x, v)]
    results += [T.Rop(T.grad(T.dot(x, z).sum(), z), z, z), T.Rop(T.exp(z).sum(), x, v)]
    f = theano.function([x, v, z], results, on_unused_input="ignore")
    return f([[1.0, 2.0]], [[3.0, 4.0]], [0.5, 1.5])


@program
def factors_and_orders(theano, T):
    from theano.tensor.sort import ArgSortOp, SortOp

    x, v = T.dmatrix("x"), T.dvector("v")
    results = [*T.nlinalg.qr(x, "raw"), SortOp("quicksort", None)(v, -1)]
    results += [ArgSortOp("quicksort", None)(v, -1), T.isnan_(x), T.isinf_(x)]
    return theano.function([x, v], results)([[1.0, 2.0], [3.0, 4.0]], [3.0, 1.0, 2.0])


@program
def logarithms_of_sums(theano, T):
    x, y, v = T.dmatrix("x"), T.dmatrix("y"), T.dvector("v")
    total = T.log(T.sum(T.exp(x), axis=1))
    some = T.log(T.exp(x).sum(axis=0, keepdims=True))
    rest = T.log(T.erfc(v))
    results = [
        total, some, T.log(T.exp(x).sum()), T.log(T.exp(x) + T.exp(y)), rest,
        T.grad(rest.sum(), v), T.log(T.exp(v).sum()).dimshuffle("x"),
    ]  # fmt: skip
    f = theano.function([x, y, v], results)
    large = f([[1000.0, 1001.0], [-1000.0, -1002.0]], [[999.0, 1001.0], [-1000.0, 5.0]],
              [-3.0, 0.5, 9.0, 11.0, 30.0])  # fmt: skip
    g = theano.function([x], [T.grad(total.sum(), x), T.grad((some**2).sum(), x)])
    return large + g([[10.0, 11.0], [-10.0, 2.0]])
