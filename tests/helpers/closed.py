"""Folders that the system lets nobody look into, nor root."""

import errno
import os
from pathlib import Path

import pytest

#: A name that no file system takes.
LONG = "n" * 300


def shut(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on whoever asks what something in the folder is is refused."""
    stat = os.stat

    def refusing(path: object, *args: object, **kwargs: object) -> os.stat_result:
        if not isinstance(path, int) and folder in Path(os.fsdecode(path)).parents:  # type: ignore[arg-type]
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", refusing)
