"""Rows of `wengert.ops.bitwise`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row

INTS = np.array([0, 1, -1, 6, -7, 127]), np.array([3, -5, 12, 6, 2, 1])
BOOLS = np.array([True, True, False, False]), np.array([True, False, True, False])
LOGIC = ("bitwise_and", "bitwise_or", "bitwise_xor")
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")


def pair(dtype):
    return lambda rng: tuple(a.astype(dtype) for a in INTS)


def shifts(dtype, width):
    return lambda rng: (
        np.array([1, 3, -8, 100, 5, 5]).astype(dtype),
        np.array([0, 2, 1, 3, width - 1, width]).astype(dtype),
    )


ROWS = [
    *(Row(n, pair(d), tag=d, grad=False)
      for n in (*LOGIC, "gcd", "lcm") for d in ("int64", "int32", "uint8")),
    *(Row(n, lambda rng: BOOLS, tag="bool", grad=False) for n in LOGIC),
    *(Row(n, lambda rng: (INTS[0], 3), tag="number", grad=False) for n in (*LOGIC, *SHIFTS)),
    *(Row(n, lambda rng: (np.arange(3)[:, None], np.arange(2)), tag="broadcast", grad=False)
      for n in LOGIC),
    *(Row("bitwise_not", lambda rng, d=d: (INTS[0].astype(d),), tag=d, grad=False)
      for d in ("int64", "uint8", "bool")),
    *(Row(n, shifts("int64", 64), grad=False) for n in SHIFTS),
    *(Row(n, shifts("uint8", 8), tag="uint8", grad=False) for n in SHIFTS),
    *(Row(f"Tensor.__{n}__", lambda rng: (INTS[0], 3), grad=False)
      for n in ("and", "or", "xor", "lshift", "rshift")),
    *(Row(f"Tensor.__r{n}__", lambda rng: (INTS[0], 3), grad=False) for n in ("and", "or", "xor")),
    *(Row(f"Tensor.{n}_", pair("int64"), grad=False) for n in (*LOGIC, "gcd", "lcm")),
    Row("Tensor.bitwise_not_", lambda rng: INTS[:1], grad=False),
]  # fmt: skip

ERRORS = [
    *(ErrorRow(n, lambda rng: (np.ones(2), np.ones(2)), NotImplementedError, "not implemented")
      for n in (*LOGIC, *SHIFTS, "gcd", "lcm")),
    ErrorRow("bitwise_not", lambda rng: (np.ones(2),), NotImplementedError, "not implemented"),
    *(ErrorRow(n, lambda rng: BOOLS, NotImplementedError, "not implemented", tag="bool")
      for n in SHIFTS),
]  # fmt: skip
