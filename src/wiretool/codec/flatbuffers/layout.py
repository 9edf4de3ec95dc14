"""Fit of many buffers to a schema: could a writer of it have made each, as `read_root(exact=True)` answers for one?"""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from wiretool.codec.columns import Columns, Flags, Integers, Numbers
from wiretool.codec.flatbuffers.columns import TablesReader, Within, gather
from wiretool.codec.flatbuffers.declaration import Scalar, Table, slots_of

#: Of a buffer: a writer of the schema does not make it, may make it, or the reader of single buffers decides.
MISFIT, FIT, UNSURE = 0, 1, -1
#: Slots after the declared ones that are looked at.
_EXTRA_SLOTS_MAX = 16


def fits_of(
    cls: type[Table], data: bytes, starts: Integers, ends: Integers, may_lack: Collection[str] = ()
) -> NDArray[np.int8]:
    """Return whether each buffer `data[starts[i] : ends[i]]` fits: MISFIT, FIT or UNSURE.

    `may_lack` are the names of required fields without which a buffer may fit.
    """
    reader = _LayoutReader(data, starts, ends, may_lack)
    reader.roots(cls)
    is_refused = ~reader.is_read & (reader.is_refused | ~reader.is_unsure)
    return np.where(is_refused, MISFIT, np.where(reader.is_unsure, UNSURE, FIT)).astype(np.int8)


class _LayoutReader(TablesReader):
    """Also refuses what a reader passes over and no writer makes."""

    def __init__(self, data: bytes, starts: Integers, ends: Integers, may_lack: Collection[str]) -> None:
        super().__init__(data, starts, ends)
        self._may_lack = may_lack
        self.is_refused, self.is_unsure = np.zeros((2, len(starts)), np.bool_)

    def _refuse(self, within: Within, is_good: Flags) -> None:
        super()._refuse(within, is_good)
        self.is_refused[within.of[~is_good]] = True

    def _doubt(self, within: Within, is_good: Flags) -> None:
        self.is_unsure[within.of[~is_good]] = True

    def _refuse_without(self, name: str, within: Within, has: Flags) -> None:
        (self._doubt if name in self._may_lack else self._refuse)(within, has)

    def _check_layout(
        self, cls: type[Table], at: Integers, offsets: Sequence[Integers | int], columns: Columns, within: Within
    ) -> None:
        slots = slots_of(cls)
        place = at - self.starts[within.of]
        vtable = at - self._number(at, "<i4", within)
        self._refuse(within, (place % 4 == 0) & ((vtable - self.starts[within.of]) % 2 == 0))
        self._refuse_extra_slots(vtable, len(slots), within)
        if not slots or not len(at):
            return
        table = np.stack([np.broadcast_to(np.asarray(offset, np.int64), at.shape) for offset in offsets], 1)
        inline = np.array([wire.inline for _, wire, _ in slots])
        is_good = ((table == 0) | ((place[:, None] + table) % inline == 0)).all(1)
        order = np.argsort(table, 1, kind="stable")
        begins = np.take_along_axis(table, order, 1)
        used = np.where(begins > 0, begins + inline[order], 4)
        is_good &= ((begins[:, 1:] >= used[:, :-1]) | (begins[:, 1:] == 0)).all(1) & (
            (begins >= 4) | (begins == 0)
        ).all(1)
        for index, (name, wire, default) in enumerate(slots):
            column = columns[name]
            if isinstance(wire, Scalar) and isinstance(column, Numbers):
                is_good &= (table[:, index] == 0) | (column.values != default)
        self._refuse(within, is_good)

    def _refuse_extra_slots(self, vtable: Integers, declared: int, within: Within) -> None:
        """Refuse tables with fields in slots after the declared ones."""
        extra = (self._number(vtable, "<u2", within) - 4) // 2 - declared
        if not (extra > 0).any():
            return
        self._doubt(within, extra <= _EXTRA_SLOTS_MAX)
        for index in range(min(int(extra.max()), _EXTRA_SLOTS_MAX)):
            is_empty = gather(self.view, vtable + 4 + 2 * (declared + index), "<u2") == 0
            self._refuse(within, is_empty | (extra <= index))

    def _check_vector(self, at: Integers, element: Scalar, within: Within) -> None:
        self._refuse(within, (at - self.starts[within.of]) % element.inline == 0)

    def _check_text(self, ends: Integers, within: Within) -> None:
        self._refuse(within, (ends < within.ends) & (gather(self.view, ends, "u1") == 0))
