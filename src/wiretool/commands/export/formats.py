"""The protocols that can be exported in a format."""

from wiretool.protocols.base.proto_file import ProtoFile
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS


def protocols_as(form: str) -> list[str]:
    """Return the names of the protocols that can be exported as `kaitai` or `protobuf`."""
    from wiretool.export import kaitai

    is_able = {"kaitai": kaitai.is_exportable, "protobuf": has_proto_file}[form]
    return [name for name, protocol in PROTOCOLS.items() if is_able(protocol)]


def has_proto_file(protocol: Protocol) -> bool:
    """Return whether a .proto file declares the messages of a protocol."""
    return isinstance(protocol.frames, ProtoFile)
