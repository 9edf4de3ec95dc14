"""FlatBuffers tables as declarations: read, written and checked within bounds."""
