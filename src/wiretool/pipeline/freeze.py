"""What is open of a flow as bytes, from which another process goes on.

They are pickles with a head that says who wrote them. Whoever can write pickles can run programs: bytes are thawed from
a checkpoint of our own only, a folder in which nobody else may write.
"""

import io
import pickle
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

import wiretool
from wiretool.capture.items import NO_DUPLICATES
from wiretool.codec.columns import Integers
from wiretool.errors import UsageError
from wiretool.protocols.registry import PROTOCOLS
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp_0_1.messages import S1, S2

#: Counts the forms that this had, so that none is read as another.
FORM = 1
_HEAD = f"wiretool {wiretool.__version__} flow {FORM}\n".encode()
#: Bytes that say how many the indices have.
_SIZE_BYTES = 8
#: What is there once, in every process: it is known by name.
_KNOWN: Mapping[str, object] = {
    "no duplicates": NO_DUPLICATES,
    **{f"protocol {name}": protocol for name, protocol in PROTOCOLS.items()},
    **{f"schema {schema.name}": schema for schema in (LATEST, S1, S2)},
}
_NAMES = {id(known): name for name, known in _KNOWN.items()}


class Index(Protocol):
    """What is asked by numbers that the rest of a state holds."""

    def keep(self, numbers: Integers, /) -> None: ...


def frozen(state: object, indices: Mapping[str, Index], hosts: Mapping[str, object]) -> bytes:
    """A state as bytes, apart from its `hosts`.

    Of its `indices` is kept what numbers in the state may ask for: each whole number in it is taken for one.
    """
    out = io.BytesIO()
    freezer = _Freezer(out, {**indices, **hosts})
    freezer.dump(state)
    for index in indices.values():
        index.keep(freezer.numbers)
    head = pickle.dumps(dict(indices), protocol=5)
    return b"".join((_HEAD, len(head).to_bytes(_SIZE_BYTES, "big"), head, out.getbuffer()))


def thawed(data: bytes, hosts: Mapping[str, object]) -> Any:
    """The state that was frozen, with other hosts of the same names.

    UsageError where another version of wiretool has written it.
    """
    if not data.startswith(_HEAD):
        by = data[: len(_HEAD) + 16].partition(b"\n")[0].decode("ascii", "replace")
        raise UsageError(
            f"the state of an open flow is of {by!r}, not of {_HEAD.decode().strip()!r}: "
            "go on with the version that began, or begin anew in another folder"
        )
    file = io.BytesIO(data)
    file.seek(len(_HEAD))
    size = int.from_bytes(file.read(_SIZE_BYTES), "big")
    indices = pickle.loads(file.read(size))
    return _Thawer(file, {**indices, **hosts}).load()


class _Freezer(pickle.Pickler):
    def __init__(self, out: io.BytesIO, apart: Mapping[str, object]) -> None:
        super().__init__(out, protocol=5)
        self._names = {**_NAMES, **{id(each): name for name, each in apart.items()}}
        self._numbers: list[int] = []
        self._arrays: list[Integers] = []

    def persistent_id(self, each: Any) -> str | None:
        """The name of what is there once or stays behind; whole numbers are noted in passing."""
        kind = type(each)
        if kind is str:
            return None
        if kind is int or kind is np.int64:
            self._numbers.append(each)
            return None
        if kind is np.ndarray and each.dtype == np.int64:
            self._arrays.append(each.ravel())
        return self._names.get(id(each))

    @property
    def numbers(self) -> Integers:
        """The whole numbers in the state that fit in 64 bits."""
        single = [number for number in self._numbers if 0 <= number < 1 << 63]
        return np.unique(np.concatenate([np.array(single, np.int64), *self._arrays]))


class _Thawer(pickle.Unpickler):
    def __init__(self, data: io.BytesIO, apart: Mapping[str, object]) -> None:
        super().__init__(data)
        self._known = {**_KNOWN, **apart}

    def persistent_load(self, name: str) -> object:
        """What has that name here."""
        return self._known[name]
