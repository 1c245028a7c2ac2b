"""Settings that programs declare, and flags for a while."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import config, configparser
from wengert.symbolic import tensor as T


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(config, "of_tests", type(config)({}), raising=False)
    return monkeypatch


def test_a_declared_setting_has_its_default_and_checks_what_is_assigned(environment: Any) -> None:
    configparser.AddConfigVar("of_tests.size", "", configparser.IntParam(3, lambda n: n > 0))
    configparser.AddConfigVar("of_tests.way", "", configparser.EnumStr("fast", "slow"))
    configparser.AddConfigVar("of_tests.on", "", configparser.BoolParam(False))
    assert (config.of_tests.size, config.of_tests.way, config.of_tests.on) == (3, "fast", False)
    config.of_tests.on = "1"
    assert config.of_tests.on is True
    with pytest.raises(ValueError, match="Invalid value"):
        config.of_tests.size = -1
    with pytest.raises(ValueError, match="'fast', 'slow'"):
        config.of_tests.way = "sideways"


def test_a_flag_gives_a_declared_setting_its_value(environment: Any) -> None:
    environment.setenv("THEANO_FLAGS", "of_tests.rate=0.5,device=cpu")
    configparser.AddConfigVar("of_tests.rate", "", configparser.FloatParam(1.0))
    assert config.of_tests.rate == 0.5


def test_a_name_is_declared_once(environment: Any) -> None:
    with pytest.raises(AttributeError, match="already taken"):
        configparser.AddConfigVar("floatX", "", configparser.StrParam("float64"))
    configparser.AddConfigVar("of_tests.seed", "", configparser.IntParam(1))
    with pytest.raises(AttributeError, match="already taken"):
        configparser.AddConfigVar("of_tests.seed", "", configparser.IntParam(1))


def test_flags_change_for_a_block_and_for_a_decorated_function() -> None:
    @configparser.change_flags(compute_test_value="raise")
    def inside() -> str:
        return str(config.compute_test_value)

    with configparser.change_flags([("floatX", "float32")]):
        assert config.floatX == "float32"
    assert (inside(), config.compute_test_value, config.floatX) == ("raise", "off", "float64")


def test_flags_stay_until_they_are_exited() -> None:
    holder = [config.change_flags(floatX="float32")]
    holder[0].__enter__()
    try:
        holder[0] = config.change_flags(compute_test_value="raise")  # nobody has the first any more
        assert config.floatX == "float32"
        with holder[0]:
            assert (config.floatX, config.compute_test_value) == ("float32", "raise")
        assert (config.floatX, config.compute_test_value) == ("float32", "off")
    finally:
        config.floatX = "float64"


def test_flags_of_a_function_that_calls_itself_are_put_back() -> None:
    @config.change_flags(floatX="float32")
    def down(n: int) -> list[str]:
        return [str(config.floatX)] + (down(n - 1) if n else []) + [str(config.floatX)]

    assert down(2) == ["float32"] * 6
    assert config.floatX == "float64"


def test_two_underscores_are_a_dot() -> None:
    assert config.gcc__cxxflags == ""
    config.gcc__cxxflags = "-O3"
    assert config.gcc.cxxflags == config.gcc__cxxflags == "-O3"
    with config.change_flags(gcc__cxxflags=""):
        assert config.gcc.cxxflags == ""
    config.gcc.cxxflags = ""
    with pytest.raises(AttributeError, match="no setting 'missing'"):
        _ = config.gcc__missing


def test_packages_find_settings_in_the_list() -> None:
    found = {v.fullname: v for v in configparser._config_var_list}
    own = vars(type("Holder", (), {"flag": found["compute_test_value"]}))["flag"]
    own.__set__(None, "warn")
    assert config.compute_test_value == "warn"
    own.__set__(None, "off")
    assert own.__get__(None) == config.compute_test_value == "off"


def test_a_copy_of_the_settings_is_the_settings() -> None:
    kept = copy.copy(config)
    with config.change_flags(floatX="float32"):
        assert kept.floatX == "float32"
    assert kept is config


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_numbers_of_numpy_and_floatx(name: str) -> None:
    numbers = (1, 1.5, 70000, np.float64(1), np.int8(1), 1j)
    with theano.change_flags(cast_policy="numpy+floatX", floatX=name):
        assert [T.constant(v).dtype for v in numbers] == [
            "int64", name, "int64", "float64", "int8", "complex128",
        ]  # fmt: skip
        assert [(T.bvector() + v).dtype for v in (1, 1.5)] == ["int64", name]
    assert T.constant(1).dtype == "int8"
