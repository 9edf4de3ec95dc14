"""The classes of controller.proto, by their names: what protobuf's compiler would have generated, made on import.

Generated code runs with the protobuf it was made for and one major version more; the descriptors in controller.binpb
run with each. They are in a pool of their own, so that a program may have Pravega's own classes loaded beside these.
controller_pb2.pyi tells the types.
"""

from importlib import resources
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_POOL = DescriptorPool()
for _file in FileDescriptorSet.FromString(resources.files(__package__).joinpath("controller.binpb").read_bytes()).file:
    _POOL.Add(_file)

DESCRIPTOR = _POOL.FindFileByName("controller.proto")


def __getattr__(name: str) -> Any:
    """The class of the message called `name`."""
    message = DESCRIPTOR.message_types_by_name.get(name)
    if message is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return GetMessageClass(message)
