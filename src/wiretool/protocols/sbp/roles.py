"""The values that servers of the Streaming Batch Protocol make up, whatever the schema."""

from typing import Annotated

from wiretool.codec.flatbuffers.declaration import Int32, Int64, Int64s, RequiredString, String
from wiretool.codec.message import Issued

_STREAM = Issued("stream", besides=(-1,))
_ADDRESS = Issued("range server address", besides=("",), is_unique=False)

#: Given out by the placement driver (sbp.md §4.5, CREATE_STREAM and ALLOCATE_ID).
StreamId = Annotated[Int64, _STREAM]
StreamIds = Annotated[Int64s, _STREAM]
ServerId = Annotated[Int32, Issued("range server", besides=(-1,))]
#: Where a range server is; told by itself, and by the placement driver to all others.
Address = Annotated[String, _ADDRESS]
RequiredAddress = Annotated[RequiredString, _ADDRESS]
