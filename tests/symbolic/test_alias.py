"""`import theano`, in a process and by the command."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import wengert.compat
from tests.cli.process import forked, good


def test_alias_comes_and_goes() -> None:
    assert not wengert.compat.installed("theano")
    wengert.compat.install("theano")
    try:
        import theano
        import theano.tensor as T
        from theano.compat.python2x import OrderedDict
        from theano.gof import compilelock
        from theano.graph import basic
        from theano.graph.basic import Apply, graph_inputs
        from theano.graph.fg import FunctionGraph
        from theano.graph.op import Op
        from theano.graph.opt import local_optimizer
        from theano.sandbox import blocksparse, multinomial
        from theano.scalar.basic import UnaryScalarOp
        from theano.scan import until
        from theano.scan.utils import map_variables
        from theano.tensor.nnet import conv2d
        from theano.tensor.nnet.abstract_conv import get_conv_output_shape
        from theano.tensor.signal import downsample, pool
        from theano.tensor.sort import argsort, sort
        from theano.version import version

        from wengert import symbolic

        assert theano is symbolic
        assert version == theano.__version__
        assert UnaryScalarOp is theano.scalar.UnaryScalarOp
        assert OrderedDict is theano.compat.OrderedDict
        assert get_conv_output_shape((1, 1, 5, 5), (2, 1, 3, 3), "valid", (1, 1)) == (1, 2, 3, 3)
        with compilelock.lock_ctx():
            compilelock.set_lock_status(False)
        assert T is symbolic.tensor
        assert downsample is pool
        assert basic is symbolic.gof.graph
        assert (until, map_variables) == (symbolic.scan_module.until, theano.map_variables)
        assert theano.scan is symbolic.scan_module.scan  # which a module has not replaced
        assert (Apply, Op, FunctionGraph) == (theano.Apply, theano.Op, theano.FunctionGraph)
        assert local_optimizer is T.opt.local_optimizer
        x = T.dscalar()
        assert graph_inputs([x * 2.0])[0] is x
        assert blocksparse is T.nnet.blocksparse
        assert multinomial is theano.sandbox.rng_mrg
        assert (sort, argsort) == (T.sort, T.argsort)  # which a module has not replaced
        assert conv2d is T.nnet.conv2d
        with pytest.raises(ImportError, match="no such part of theano"):
            import theano.gpuarray
    finally:
        wengert.compat.uninstall("theano")
    assert not wengert.compat.installed("theano")
    assert not [name for name in sys.modules if name.partition(".")[0] == "theano"]
    with pytest.raises(ValueError, match="'horovod', 'theano', not for 'jax'"):
        wengert.compat.install("jax")


def test_run_as_theano(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import theano, theano.tensor as T\n"
        "x = T.vector('x')\n"
        "print(theano.config.floatX, theano.function([x], x * 2)([1, 2]))\n"
        "T.dot(T.matrix('a'), T.matrix('b')).eval({})\n"
    )
    done = forked("wengert", "-m", "wengert", "run", "--as", "theano", str(script))
    assert done.stdout == "float64 [2. 4.]\n"
    assert "Undeclared input: a has no value" in done.stderr
    assert "wengert/symbolic" not in done.stderr
    script.write_text("import theano\nprint(theano.shared(1.0).get_value())\n")
    assert good(forked("wengert", "-m", "wengert", "run", "--quiet", "--as", "theano",
                       str(script))) == "1.0\n"  # fmt: skip
