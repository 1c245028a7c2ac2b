"""Under the alias a second backward passes released nodes that saved nothing, with a warning."""

from __future__ import annotations

import json
import textwrap

import pytest

from tests.cli.process import good, python, script, wengert

# The closed form: y = x.mean(1) + 3, z = mean(y ** 2); d(sum y)/dx = 1/n, dz/dx = 2y/(mn).
SHARED = """
    import json, sys
    import torch
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    y = x.mean(1) + 3
    z = y.pow(2).mean()
    y.sum().backward()
    z.backward()
    print(json.dumps(x.grad.tolist()))
"""
EXPECTED = [[0.5 + 4.5 / 2] * 2, [0.5 + 7.0 / 2] * 2]


def test_gradient_is_right_and_a_warning_names_the_lines(tmp_path):
    file = script(tmp_path, SHARED)
    result = wengert("run", "--quiet", str(file))
    assert json.loads(good(result)) == EXPECTED
    assert result.stderr.count("UserWarning") == 1
    assert f"{file}:8: UserWarning: this backward passes" in result.stderr
    assert f"released by {file}:7" in result.stderr


@pytest.mark.torch
def test_pytorch_gives_the_same(torch, capsys):
    exec(textwrap.dedent(SHARED), {})
    assert json.loads(capsys.readouterr().out) == EXPECTED


def test_one_warning_for_each_line(tmp_path):
    file = script(
        tmp_path,
        """
        import torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        for step in range(5):
            y = x + 1
            z = y * 2
            y.sum().backward()
            z.sum().backward()
        print(x.grad.tolist())
        """,
    )
    result = wengert("run", "--quiet", str(file))
    assert good(result) == "[15.0, 15.0]\n"
    assert result.stderr.count("UserWarning") == 1


def test_where_values_were_saved_it_raises(tmp_path):
    file = script(
        tmp_path,
        """
        import torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).sum()
        y.backward()
        y.backward()
        """,
    )
    result = wengert("run", "--quiet", str(file))
    assert result.returncode == 1
    assert "UserWarning" not in result.stderr  # of the sum, which saved nothing: nothing passed
    assert "Trying to backward through the graph a second time" in result.stderr


def test_both_lines_that_use_the_value_are_named(tmp_path):
    """Released nodes keep their edges here: who used a value in the earlier graph is known."""
    file = script(
        tmp_path,
        """
        import torch
        generator, discriminator = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
        fake = generator(torch.randn(4, 2)).tanh()
        first = discriminator(fake).mean()
        first.backward()
        second = discriminator(fake).square().mean()
        second.backward()
        """,
    )
    error = wengert("run", "--quiet", str(file)).stderr
    assert f"used by:     linear in Linear ({file}:5  first = discriminator(fake).mean())" in error
    assert f"joined by:   linear in Linear ({file}:7  second = " in error
    assert "1. both losses are wanted" in error
    assert "2. only one of the two should pass gradients on: use fake.detach()" in error


def test_without_the_alias_it_raises():
    result = python(
        "-c", SHARED.replace("    ", "").replace("import torch", "import wengert as torch")
    )
    assert result.returncode == 1
    assert "GraphReleasedError" in result.stderr
