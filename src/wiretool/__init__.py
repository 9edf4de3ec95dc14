"""wiretool: the wire protocols of streaming storage, dissected.

`read` gives the records of captures, `decode` the messages in bytes, `encode` the bytes of a message. The parts are
loaded when they are first asked for, so that the command line starts quickly.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # known to type checkers; importing it takes a while in which Ctrl-C is Python's own
    from wiretool.api import decode as decode
    from wiretool.api import encode as encode
    from wiretool.dissect.dissector import read as read
    from wiretool.records import Record as Record

__version__ = "0.1.0"
__all__ = ["Record", "__version__", "decode", "encode", "read"]

_HOMES = {
    "read": "wiretool.dissect.dissector",
    "decode": "wiretool.api",
    "encode": "wiretool.api",
    "Record": "wiretool.records",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'wiretool' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
