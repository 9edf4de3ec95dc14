"""Fuzzing of Pravega's controller: the frames of HTTP/2, header blocks, and the messages of gRPC."""

from wiretool.fuzz.part import FuzzPart
from wiretool.protocols.pravega_controller.fuzz import grpc, header_blocks, http2

FUZZ = FuzzPart(mutations=(*http2.MUTATIONS, *header_blocks.MUTATIONS, *grpc.MUTATIONS))
