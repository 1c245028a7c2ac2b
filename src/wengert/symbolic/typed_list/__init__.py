"""``theano.typed_list``: variables whose values are lists of values of one type."""

from wengert.symbolic.typed_list import basic as basic
from wengert.symbolic.typed_list import type as type
from wengert.symbolic.typed_list.basic import *
from wengert.symbolic.typed_list.type import TypedListType as TypedListType
