"""Opens objects by their URLs."""

from wiretool.errors import RemoteError
from wiretool.storage.object_stream import ObjectStream, RemoteObject
from wiretool.storage.url_path import WEB, UrlPath


def open_url(path: UrlPath) -> ObjectStream:
    """Open an object as a stream, which is read forward.

    UnopenedError where there is none or access is denied; RemoteError where the server cannot be reached, or where the
    object is another one than it was when the same path was opened before.
    """
    stream = ObjectStream(str(path), _object_of(path))
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
