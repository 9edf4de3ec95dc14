# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class PravegaDraft(KaitaiStruct):
    """The frames of one direction of a connection, from its first byte on."""

    class MessageType(IntEnum):
        partial_message = -2
        padding = -1
        event = 0
        setup_append = 1
        append_setup = 2
        begin_append_block = 3
        end_append_block = 4
        data_appended = 5
        read_segment = 6
        segment_read = 7
        wrong_host = 50
        segment_is_sealed = 51
        segment_already_exists = 52
        no_such_segment = 53
        keep_alive = 100
    def __init__(self, _io, _parent=None, _root=None):
        super(PravegaDraft, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.frames = []
        i = 0
        while not self._io.is_eof():
            self.frames.append(PravegaDraft.Frame(self._io, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.frames)):
            pass
            self.frames[i]._fetch_instances()


    class AppendSetup(KaitaiStruct):
        """Streaming Service Wire Protocol (2017), Append Setup - Reply; S1."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.AppendSetup, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.connection_id = self._io.read_bytes(16)
            self.connection_offset_ack_level = self._io.read_s8be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class BeginAppendBlock(KaitaiStruct):
        """Streaming Service Wire Protocol (2017), BeginAppendBlock - Request; S7, S8, S10."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.BeginAppendBlock, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.connection_id = self._io.read_bytes(16)
            self.connection_offset = self._io.read_s8be()
            self.length = self._io.read_s4be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class DataAppended(KaitaiStruct):
        """Streaming Service Wire Protocol (2017), Data Appended - Reply; S1."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.DataAppended, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.connection_id = self._io.read_bytes(16)
            self.connection_offset_ack_level = self._io.read_s8be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class EndAppendBlock(KaitaiStruct):
        """Streaming Service Wire Protocol (2017), EndAppendBlock - Request; S10, S11."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.EndAppendBlock, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.connection_id = self._io.read_bytes(16)
            self.connection_offset = self._io.read_s8be()
            self.block_length = self._io.read_s4be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class Event(KaitaiStruct):
        """Streaming Service Wire Protocol (2017), Event - Request; S1."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.Event, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class Frame(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.Frame, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.type = KaitaiStream.resolve_enum(PravegaDraft.MessageType, self._io.read_s4be())
            self.length = self._io.read_u4be()
            if not self.length <= 16777215:
                raise kaitaistruct.ValidationGreaterThanError(16777215, self.length, self._io, u"/types/frame/seq/1")
            _on = self.type
            if _on == PravegaDraft.MessageType.append_setup:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.AppendSetup(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.begin_append_block:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.BeginAppendBlock(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.data_appended:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.DataAppended(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.end_append_block:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.EndAppendBlock(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.event:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.Event(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.keep_alive:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.KeepAlive(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.no_such_segment:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.NoSuchSegment(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.padding:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.Padding(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.partial_message:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.PartialMessage(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.read_segment:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.ReadSegment(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.segment_already_exists:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.SegmentAlreadyExists(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.segment_is_sealed:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.SegmentIsSealed(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.segment_read:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.SegmentRead(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.setup_append:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.SetupAppend(_io__raw_message, self, self._root)
            elif _on == PravegaDraft.MessageType.wrong_host:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = PravegaDraft.WrongHost(_io__raw_message, self, self._root)
            else:
                pass
                self.message = self._io.read_bytes(self.length)


        def _fetch_instances(self):
            pass
            _on = self.type
            if _on == PravegaDraft.MessageType.append_setup:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.begin_append_block:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.data_appended:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.end_append_block:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.event:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.keep_alive:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.no_such_segment:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.padding:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.partial_message:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.read_segment:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.segment_already_exists:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.segment_is_sealed:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.segment_read:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.setup_append:
                pass
                self.message._fetch_instances()
            elif _on == PravegaDraft.MessageType.wrong_host:
                pass
                self.message._fetch_instances()
            else:
                pass


    class KeepAlive(KaitaiStruct):
        """Streaming Service Wire Protocol (2017), KeepAlive - Request/Reply; S16."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.KeepAlive, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class NoSuchSegment(KaitaiStruct):
        """WireCommands.java NoSuchSegment (2016); S1."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.NoSuchSegment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class Padding(KaitaiStruct):
        """WireCommands.java Padding (2016); S12."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.Padding, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.length = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class PartialMessage(KaitaiStruct):
        """Streaming Service Wire Protocol (2017), Partial Message - Request/Reply; S1 to S4."""

        class Part(IntEnum):
            begin = 0
            middle = 1
            end = 2
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.PartialMessage, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.part = KaitaiStream.resolve_enum(PravegaDraft.PartialMessage.Part, self._io.read_u1())
            if not isinstance(self.part, PravegaDraft.PartialMessage.Part):
                raise kaitaistruct.ValidationNotInEnumError(self.part, self._io, u"/types/partial_message/seq/0")
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class ReadSegment(KaitaiStruct):
        """Streaming Service Wire Protocol (2017), Read Segment - Request; S1."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.ReadSegment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.offset = self._io.read_s8be()
            self.suggested_length = self._io.read_s4be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SegmentAlreadyExists(KaitaiStruct):
        """WireCommands.java SegmentAlreadyExists (2016); S1."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.SegmentAlreadyExists, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SegmentIsSealed(KaitaiStruct):
        """WireCommands.java SegmentIsSealed (2016); S1."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.SegmentIsSealed, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SegmentRead(KaitaiStruct):
        """Streaming Service Wire Protocol (2017), Segment Read - Reply; S5, S6, S18."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.SegmentRead, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.offset = self._io.read_s8be()
            self.at_tail_byte = self._io.read_u1()
            _ = self.at_tail_byte
            if not _ & 63 == 0:
                raise kaitaistruct.ValidationExprError(self.at_tail_byte, self._io, u"/types/segment_read/seq/3")
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass

        @property
        def at_tail(self):
            """the data reaches the end that the segment has now."""
            if hasattr(self, '_m_at_tail'):
                return self._m_at_tail

            self._m_at_tail = self.at_tail_byte & 128 != 0
            return getattr(self, '_m_at_tail', None)

        @property
        def end_of_segment(self):
            """the segment is sealed and ends here."""
            if hasattr(self, '_m_end_of_segment'):
                return self._m_end_of_segment

            self._m_end_of_segment = self.at_tail_byte & 64 != 0
            return getattr(self, '_m_end_of_segment', None)


    class SetupAppend(KaitaiStruct):
        """Streaming Service Wire Protocol (2017), Setup Append - Request; S1."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.SetupAppend, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.connection_id = self._io.read_bytes(16)
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class Truth(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.Truth, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.byte = self._io.read_u1()


        def _fetch_instances(self):
            pass

        @property
        def value(self):
            if hasattr(self, '_m_value'):
                return self._m_value

            self._m_value = self.byte != 0
            return getattr(self, '_m_value', None)


    class WrongHost(KaitaiStruct):
        """WireCommands.java WrongHost (2016); S1."""
        def __init__(self, _io, _parent=None, _root=None):
            super(PravegaDraft.WrongHost, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.correct_host_length = self._io.read_u2be()
            self.correct_host = (self._io.read_bytes(self.correct_host_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass



