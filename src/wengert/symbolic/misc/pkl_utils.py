"""``theano.misc.pkl_utils``: pickles beside arrays that NumPy can read alone, in one zip file.

`load` knows expressions, functions, what Python and NumPy hold data in, and what a program has
allowed by `wengert.serialization.add_safe_globals`; a file that names anything else is refused.
"""

from __future__ import annotations

import _codecs
import copyreg
import pickle
import sys
import zipfile
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np

from wengert.symbolic.graph import Scratch
from wengert.symbolic.sharing import SharedVariable

_OWN, _WRITERS = "wengert.symbolic.", ("wengert.symbolic.misc.", "wengert.symbolic.printing")
_DATA = frozenset({
    bool, bytearray, bytes, complex, dict, float, frozenset, int, list, object, range, set, slice,
    str, tuple, OrderedDict, defaultdict, deque, _codecs.encode,
    copyreg._reconstructor,  # type: ignore[attr-defined]
    np.dtype, np.ndarray, np.random.MT19937, np.random.RandomState,
})  # fmt: skip
_OF_NUMPY = frozenset({
    "_reconstruct", "scalar", "_frombuffer", "__randomstate_ctor", "__bit_generator_ctor",
})  # fmt: skip
DEFAULT_PROTOCOL = pickle.DEFAULT_PROTOCOL


class StripPickler(pickle.Pickler):
    """A pickler that leaves out what programs have attached to variables under some names.

    >>> from io import BytesIO
    >>> import pickle
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.misc.pkl_utils import StripPickler
    >>> x, file = T.dscalar("x"), BytesIO()
    >>> x.tag.note = "long"
    >>> StripPickler(file, -1, extra_tag_to_remove=["note"]).dump(x)
    >>> hasattr(pickle.loads(file.getvalue()).tag, "note")
    False
    """

    def __init__(self, file: Any, protocol: int = 0, extra_tag_to_remove: Any = None) -> None:
        super().__init__(file, protocol)
        self.tag_to_remove = {"trace", *(extra_tag_to_remove or ())}

    def reducer_override(self, obj: Any) -> Any:
        """Scratch pads without these names."""
        if type(obj) is not Scratch:
            return NotImplemented
        kept = {k: v for k, v in vars(obj).items() if k not in self.tag_to_remove}
        return Scratch, (kept,)


class CompatUnpickler(pickle._Unpickler):
    """An unpickler of files that Python 2 has written: its strings are read as Latin-1."""

    def __init__(self, file: Any, **options: Any) -> None:
        super().__init__(file, **({"encoding": "latin1"} | options))


class PersistentNdarrayID:
    """Puts arrays into a zip file, ``array_0`` and so on, and says what stands in the pickle."""

    def __init__(self, zip_file: zipfile.ZipFile) -> None:
        self.zip_file, self.count = zip_file, 0
        self.seen: dict[int, str] = {}

    def _resolve_name(self, obj: Any) -> str:
        name = f"array_{self.count}"
        self.count += 1
        return name

    def __call__(self, obj: Any) -> str | None:
        if type(obj) is not np.ndarray or obj.dtype.hasobject:
            return None
        if id(obj) not in self.seen:
            name = self._resolve_name(obj)
            zipadd(lambda file: np.lib.format.write_array(file, obj), self.zip_file, name)
            self.seen[id(obj)] = f"ndarray.{name}"
        return self.seen[id(obj)]


class PersistentSharedVariableID(PersistentNdarrayID):
    """Names the arrays of shared variables after these, and raises ValueError if that cannot be.

    `allow_unnamed` and `allow_duplicates` say whether numbers may help.
    """

    def __init__(self, zip_file: zipfile.ZipFile, allow_unnamed: bool = True,
                 allow_duplicates: bool = True) -> None:  # fmt: skip
        super().__init__(zip_file)
        self.allow_unnamed, self.allow_duplicates = allow_unnamed, allow_duplicates
        self.names: dict[int, str] = {}
        self.counts: Counter[str] = Counter()

    def _resolve_name(self, obj: Any) -> str:
        name = self.names.get(id(obj))
        if name is None:
            return super()._resolve_name(obj)
        self.counts[name] += 1
        again = self.counts[name]
        if again > 1 and not self.allow_duplicates:
            raise ValueError(f"multiple shared variables are called {name!r}")
        return name if again == 1 else f"{name}_{again}"

    def __call__(self, obj: Any) -> str | None:
        if isinstance(obj, SharedVariable):
            if obj.name and obj.name != "pkl":
                self.names[id(obj.container.storage[0])] = obj.name
            elif not self.allow_unnamed:
                raise ValueError(f"shared variables need names other than 'pkl', got {obj.name!r}")
        return super().__call__(obj)


class PersistentNdarrayLoad:
    """Reads the arrays of a zip file that a pickle names."""

    def __init__(self, zip_file: zipfile.ZipFile) -> None:
        self.zip_file = zip_file
        self.cache: dict[str, Any] = {}

    def __call__(self, persid: str) -> Any:
        kind, _, name = persid.partition(".")
        if kind != "ndarray":
            raise pickle.UnpicklingError(f"an array of NumPy was expected, got {persid!r}")
        if name not in self.cache:
            file = BytesIO(self.zip_file.read(name))
            self.cache[name] = np.lib.format.read_array(file, allow_pickle=False)
        return self.cache[name]


def dump(obj: Any, file_handler: Any, protocol: int = DEFAULT_PROTOCOL,
         persistent_id: Callable[[zipfile.ZipFile], Any] = PersistentSharedVariableID
         ) -> None:  # fmt: skip
    """Pickle an object to a zip file in which each array has an entry, as in ``.npz`` files.

    >>> from io import BytesIO
    >>> import numpy as np
    >>> from wengert.symbolic import shared
    >>> from wengert.symbolic.misc.pkl_utils import dump, load
    >>> file = BytesIO()
    >>> dump({"w": shared(np.ones(2), "w")}, file)
    >>> _ = file.seek(0)
    >>> np.load(file)["w"], load(file)["w"].get_value()
    (array([1., 1.]), array([1., 1.]))
    """
    with zipfile.ZipFile(file_handler, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        name_of = persistent_id(archive)

        def pickled(file: Any) -> None:
            pickler = pickle._Pickler(file, protocol)
            pickler.persistent_id = name_of  # type: ignore[method-assign]
            pickler.dump(obj)

        zipadd(pickled, archive, "pkl")


class _Reader(pickle._Unpickler):
    """An unpickler that calls nothing but what holds data, and expressions."""

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for; UnpicklingError if it is not allowed."""
        from wengert.serialization import get_safe_globals

        if module.partition(".")[0] in ("theano", "wengert", "numpy") or module in sys.modules:
            found = super().find_class(module, name)
            home = getattr(found, "__module__", None) or ""
            own = home.startswith(_OWN) and not home.startswith(_WRITERS)
            of_numpy = home.startswith("numpy.") and name in _OF_NUMPY
            if own or of_numpy or any(found is x for x in (*_DATA, *get_safe_globals())):
                return found
        raise pickle.UnpicklingError(
            f"the file names {module}.{name}, which is not allowed: if you trust it, allow that by"
            " wengert.serialization.add_safe_globals, or read its entry 'pkl' by pickle.load"
        )


def load(f: Any, persistent_load: Callable[[zipfile.ZipFile], Any] = PersistentNdarrayLoad) -> Any:
    """The object that `dump` has written; `pickle.UnpicklingError` for names not allowed."""
    with zipfile.ZipFile(f, "r") as archive:
        unpickler = _Reader(BytesIO(archive.read("pkl")))
        unpickler.persistent_load = persistent_load(archive)  # type: ignore[method-assign]
        return unpickler.load()


def zipadd(func: Callable[[Any], Any], zip_file: zipfile.ZipFile, name: str) -> None:
    """Add what a function writes to a file as an entry of a zip file."""
    file = BytesIO()
    func(file)
    zip_file.writestr(name, file.getvalue())
