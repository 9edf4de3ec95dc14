"""PyArrow without pandas, for the command line: nothing here uses pandas, which takes 0.2 s to load."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    """Finds no pandas, even where it is installed."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=fullname)


def forgo_pandas() -> None:
    """Keep PyArrow from loading pandas later, for the rest of this process.

    PyArrow looks for pandas once, when the first list or array is made one of its own.
    """
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(finder)
