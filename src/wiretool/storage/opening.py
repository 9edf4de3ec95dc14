"""Opens objects by their URLs."""

from typing import TypeVar

from wiretool.errors import RemoteError
from wiretool.storage.object_reader import ObjectReader
from wiretool.storage.object_stream import ObjectInfo, ObjectStream, RemoteObject
from wiretool.storage.url_path import WEB, UrlPath

Stream = TypeVar("Stream", bound=ObjectStream)


def open_url(path: UrlPath) -> ObjectStream:
    """Open an object as a stream, which is read forward.

    UnopenedError where there is none or access is denied; RemoteError where the server cannot be reached, or where the
    object is another one than it was when the same path was opened before: by its version, or else by its size.
    """
    return _checked(ObjectStream(str(path), _make_object(path)), path)


def open_ranges(path: UrlPath) -> ObjectReader:
    """Open an object to be read at any place.

    Errors as those of `open_url`; also RemoteError for a server that names no size or no version of the object.
    """
    reader = _checked(ObjectReader(str(path), _make_object(path)), path)
    if reader.info.size < 0 or not reader.info.version:
        reader.close()
        missing = "size" if reader.info.size < 0 else "version (ETag or Last-Modified)"
        why = (
            f"parts of it cannot be read: the server names no {missing}; expected --engine local, or a copy of the file"
        )
        raise RemoteError(str(path), why)
    return reader


def _checked(stream: Stream, path: UrlPath) -> Stream:
    if path.first_opened is not None and _is_other(stream.info, *path.first_opened):
        stream.close()
        raise RemoteError(str(path), "the object changed since it was read first; run the command again")
    path.first_opened = stream.info.size, stream.info.version
    return stream


def _is_other(info: ObjectInfo, size: int, version: str) -> bool:
    """Return whether an object is another one than that of a size and version; -1 and "" are unknown."""
    return info.version != version or (info.size != size and min(info.size, size) >= 0)


def _make_object(path: UrlPath) -> RemoteObject:
    if path.scheme in WEB:  # imported here: only one of the two is required, and each takes a while
        from wiretool.storage.web import WebObject

        return WebObject(path.url, str(path))
    from wiretool.storage.stores import StoredObject

    return StoredObject(path)
