"""Opens objects by their URLs."""

from typing import TypeVar

from wiretool.errors import RemoteError
from wiretool.storage.object_reader import ObjectReader
from wiretool.storage.object_stream import ObjectStream, RemoteObject
from wiretool.storage.url_path import WEB, UrlPath

Stream = TypeVar("Stream", bound=ObjectStream)


def open_url(path: UrlPath) -> ObjectStream:
    """Open an object as a stream, which is read forward.

    UnopenedError where there is none or access is denied; RemoteError where the server cannot be reached, or where the
    object is another one than it was when the same path was opened before.
    """
    return _checked(ObjectStream(str(path), _object_of(path)), path)


def open_ranges(path: UrlPath) -> ObjectReader:
    """Open an object to be read at any place.

    Errors as those of `open_url`; also RemoteError for a server that names no size or no version of the object.
    """
    reader = _checked(ObjectReader(str(path), _object_of(path)), path)
    if reader.info.size < 0 or not reader.info.version:
        reader.close()
        missing = "size" if reader.info.size < 0 else "version (ETag or Last-Modified)"
        why = (
            f"parts of it cannot be read: the server names no {missing}; expected --engine local, or a copy of the file"
        )
        raise RemoteError(str(path), why)
    return reader


def _checked(stream: Stream, path: UrlPath) -> Stream:
    if path.version and path.version != stream.info.version:
        stream.close()
        raise RemoteError(str(path), "the object changed since it was read first; run the command again")
    path.version = stream.info.version
    return stream


def _object_of(path: UrlPath) -> RemoteObject:
    if path.scheme in WEB:  # imported here: only one of the two is required, and each takes a while
        from wiretool.storage.web import WebObject

        return WebObject(path.url, str(path))
    from wiretool.storage.stores import StoredObject, file_system_of

    return StoredObject(*file_system_of(path), str(path))
