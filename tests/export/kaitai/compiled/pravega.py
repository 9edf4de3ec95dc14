# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Pravega(KaitaiStruct):
    """The frames of one direction of a connection, from its first byte on."""

    class MessageType(IntEnum):
        hello = -127
        storage_chunks_listed = -6
        list_storage_chunks = -5
        flushed_to_storage = -4
        flush_to_storage = -3
        partial_event = -2
        padding = -1
        event = 0
        setup_append = 1
        append_setup = 2
        append_block = 3
        append_block_end = 4
        conditional_append = 5
        data_appended = 7
        conditional_check_failed = 8
        read_segment = 9
        segment_read = 10
        get_stream_segment_info = 11
        stream_segment_info = 12
        create_segment = 20
        segment_created = 21
        seal_segment = 28
        segment_sealed = 29
        delete_segment = 30
        segment_deleted = 31
        update_segment_policy = 32
        segment_policy_updated = 33
        get_segment_attribute = 34
        segment_attribute = 35
        update_segment_attribute = 36
        segment_attribute_updated = 37
        truncate_segment = 38
        segment_truncated = 39
        create_transient_segment = 40
        locate_offset = 41
        offset_located = 42
        wrong_host = 50
        segment_is_sealed = 51
        segment_already_exists = 52
        no_such_segment = 53
        invalid_event_number = 55
        segment_is_truncated = 56
        operation_unsupported = 57
        merge_segments = 58
        segments_merged = 59
        auth_token_check_failed = 60
        error_message = 61
        get_table_segment_info = 68
        table_segment_info = 69
        create_table_segment = 70
        delete_table_segment = 71
        update_table_entries = 74
        table_entries_updated = 75
        remove_table_keys = 76
        table_keys_removed = 77
        read_table = 78
        table_read = 79
        table_segment_not_empty = 80
        table_key_does_not_exist = 81
        table_key_bad_version = 82
        read_table_keys = 83
        table_keys_read = 84
        read_table_entries = 85
        table_entries_read = 86
        table_entries_delta_read = 87
        read_table_entries_delta = 88
        conditional_block_end = 89
        merge_segments_batch = 90
        segments_batch_merged = 91
        keep_alive = 100
    def __init__(self, _io, _parent=None, _root=None):
        super(Pravega, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.frames = []
        i = 0
        while not self._io.is_eof():
            self.frames.append(Pravega.Frame(self._io, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.frames)):
            pass
            self.frames[i]._fetch_instances()


    class AppendBlock(KaitaiStruct):
        """WireCommands.java AppendBlock; Wire Protocol, AppendBlock - Request."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.AppendBlock, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.writer_id = self._io.read_bytes(16)
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class AppendBlockEnd(KaitaiStruct):
        """WireCommands.java AppendBlockEnd; Wire Protocol, AppendBlockEnd - Request."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.AppendBlockEnd, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.writer_id = self._io.read_bytes(16)
            self.size_of_whole_events = self._io.read_s4be()
            self.data_length = self._io.read_s4be()
            self.data = self._io.read_bytes((0 if self.data_length < 0 else self.data_length))
            self.num_events = self._io.read_s4be()
            self.last_event_number = self._io.read_s8be()
            if self.has_request_id:
                pass
                self.request_id = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_request_id:
                pass


        @property
        def has_request_id(self):
            if hasattr(self, '_m_has_request_id'):
                return self._m_has_request_id

            self._m_has_request_id = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_request_id', None)


    class AppendSetup(KaitaiStruct):
        """WireCommands.java AppendSetup; Wire Protocol, Append Setup - Reply."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.AppendSetup, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.writer_id = self._io.read_bytes(16)
            self.last_event_number = self._io.read_s8be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class AuthTokenCheckFailed(KaitaiStruct):
        """WireCommands.java AuthTokenCheckFailed."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.AuthTokenCheckFailed, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            if self.has_server_stack_trace:
                pass
                self.server_stack_trace_length = self._io.read_u2be()

            if self.has_server_stack_trace:
                pass
                self.server_stack_trace = (self._io.read_bytes(self.server_stack_trace_length)).decode(u"UTF-8")

            if self.has_error_code:
                pass
                self.error_code = self._io.read_s4be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_server_stack_trace:
                pass

            if self.has_server_stack_trace:
                pass

            if self.has_error_code:
                pass


        @property
        def has_error_code(self):
            if hasattr(self, '_m_has_error_code'):
                return self._m_has_error_code

            self._m_has_error_code = self._io.size() - self._io.pos() >= 4
            return getattr(self, '_m_has_error_code', None)

        @property
        def has_server_stack_trace(self):
            if hasattr(self, '_m_has_server_stack_trace'):
                return self._m_has_server_stack_trace

            self._m_has_server_stack_trace = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_server_stack_trace', None)


    class ConditionalAppend(KaitaiStruct):
        """WireCommands.java ConditionalAppend."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.ConditionalAppend, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.writer_id = self._io.read_bytes(16)
            self.event_number = self._io.read_s8be()
            self.expected_offset = self._io.read_s8be()
            self.event = Pravega.ConditionalAppend.EventValue(self._io, self, self._root)
            if self.has_request_id:
                pass
                self.request_id = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.event._fetch_instances()
            if self.has_request_id:
                pass


        class EventValue(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.ConditionalAppend.EventValue, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.type = self._io.read_s4be()
                if not self.type == 0:
                    raise kaitaistruct.ValidationNotEqualError(0, self.type, self._io, u"/types/conditional_append/types/event_value/seq/0")
                self.data_length = self._io.read_s4be()
                if not self.data_length >= 0:
                    raise kaitaistruct.ValidationLessThanError(0, self.data_length, self._io, u"/types/conditional_append/types/event_value/seq/1")
                self.data = self._io.read_bytes(self.data_length)


            def _fetch_instances(self):
                pass


        @property
        def has_request_id(self):
            if hasattr(self, '_m_has_request_id'):
                return self._m_has_request_id

            self._m_has_request_id = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_request_id', None)


    class ConditionalBlockEnd(KaitaiStruct):
        """WireCommands.java ConditionalBlockEnd."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.ConditionalBlockEnd, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.writer_id = self._io.read_bytes(16)
            self.event_number = self._io.read_s8be()
            self.expected_offset = self._io.read_s8be()
            self.data_length = self._io.read_s4be()
            self.data = self._io.read_bytes((0 if self.data_length < 0 else self.data_length))
            self.request_id = self._io.read_s8be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class ConditionalCheckFailed(KaitaiStruct):
        """WireCommands.java ConditionalCheckFailed."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.ConditionalCheckFailed, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.writer_id = self._io.read_bytes(16)
            self.event_number = self._io.read_s8be()
            if self.has_request_id:
                pass
                self.request_id = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_request_id:
                pass


        @property
        def has_request_id(self):
            if hasattr(self, '_m_has_request_id'):
                return self._m_has_request_id

            self._m_has_request_id = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_request_id', None)


    class CreateSegment(KaitaiStruct):
        """WireCommands.java CreateSegment."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.CreateSegment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.target_rate = self._io.read_s4be()
            self.scale_type = self._io.read_s1()
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            if self.has_rollover_size_bytes:
                pass
                self.rollover_size_bytes = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_rollover_size_bytes:
                pass


        @property
        def has_rollover_size_bytes(self):
            if hasattr(self, '_m_has_rollover_size_bytes'):
                return self._m_has_rollover_size_bytes

            self._m_has_rollover_size_bytes = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_rollover_size_bytes', None)


    class CreateTableSegment(KaitaiStruct):
        """WireCommands.java CreateTableSegment."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.CreateTableSegment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            if self.has_sorted_deprecated:
                pass
                self.sorted_deprecated = Pravega.Truth(self._io, self, self._root)

            if self.has_key_length:
                pass
                self.key_length = self._io.read_s4be()

            if self.has_rollover_size_bytes:
                pass
                self.rollover_size_bytes = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_sorted_deprecated:
                pass
                self.sorted_deprecated._fetch_instances()

            if self.has_key_length:
                pass

            if self.has_rollover_size_bytes:
                pass


        @property
        def has_key_length(self):
            if hasattr(self, '_m_has_key_length'):
                return self._m_has_key_length

            self._m_has_key_length = self._io.size() - self._io.pos() >= 4
            return getattr(self, '_m_has_key_length', None)

        @property
        def has_rollover_size_bytes(self):
            if hasattr(self, '_m_has_rollover_size_bytes'):
                return self._m_has_rollover_size_bytes

            self._m_has_rollover_size_bytes = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_rollover_size_bytes', None)

        @property
        def has_sorted_deprecated(self):
            if hasattr(self, '_m_has_sorted_deprecated'):
                return self._m_has_sorted_deprecated

            self._m_has_sorted_deprecated = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_sorted_deprecated', None)


    class CreateTransientSegment(KaitaiStruct):
        """WireCommands.java CreateTransientSegment."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.CreateTransientSegment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.writer_id = self._io.read_bytes(16)
            self.parent_segment_length = self._io.read_u2be()
            self.parent_segment = (self._io.read_bytes(self.parent_segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class DataAppended(KaitaiStruct):
        """WireCommands.java DataAppended; Wire Protocol, DataAppended - Reply."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.DataAppended, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.writer_id = self._io.read_bytes(16)
            self.event_number = self._io.read_s8be()
            if self.has_previous_event_number:
                pass
                self.previous_event_number = self._io.read_s8be()

            if self.has_request_id:
                pass
                self.request_id = self._io.read_s8be()

            if self.has_current_segment_write_offset:
                pass
                self.current_segment_write_offset = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_previous_event_number:
                pass

            if self.has_request_id:
                pass

            if self.has_current_segment_write_offset:
                pass


        @property
        def has_current_segment_write_offset(self):
            if hasattr(self, '_m_has_current_segment_write_offset'):
                return self._m_has_current_segment_write_offset

            self._m_has_current_segment_write_offset = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_current_segment_write_offset', None)

        @property
        def has_previous_event_number(self):
            if hasattr(self, '_m_has_previous_event_number'):
                return self._m_has_previous_event_number

            self._m_has_previous_event_number = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_previous_event_number', None)

        @property
        def has_request_id(self):
            if hasattr(self, '_m_has_request_id'):
                return self._m_has_request_id

            self._m_has_request_id = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_request_id', None)


    class DeleteSegment(KaitaiStruct):
        """WireCommands.java DeleteSegment."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.DeleteSegment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class DeleteTableSegment(KaitaiStruct):
        """WireCommands.java DeleteTableSegment."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.DeleteTableSegment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.must_be_empty = Pravega.Truth(self._io, self, self._root)
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.must_be_empty._fetch_instances()


    class ErrorMessage(KaitaiStruct):
        """WireCommands.java ErrorMessage."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.ErrorMessage, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.message_length = self._io.read_u2be()
            self.message = (self._io.read_bytes(self.message_length)).decode(u"UTF-8")
            self.error_code = self._io.read_s4be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class Event(KaitaiStruct):
        """WireCommands.java Event; Wire Protocol, Event - Request."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.Event, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class FlushToStorage(KaitaiStruct):
        """WireCommands.java FlushToStorage."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.FlushToStorage, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.container_id = self._io.read_s4be()
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.request_id = self._io.read_s8be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class FlushedToStorage(KaitaiStruct):
        """WireCommands.java StorageFlushed."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.FlushedToStorage, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class Frame(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.Frame, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.type = KaitaiStream.resolve_enum(Pravega.MessageType, self._io.read_s4be())
            self.length = self._io.read_u4be()
            if not self.length <= 16777215:
                raise kaitaistruct.ValidationGreaterThanError(16777215, self.length, self._io, u"/types/frame/seq/1")
            _on = self.type
            if _on == Pravega.MessageType.append_block:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.AppendBlock(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.append_block_end:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.AppendBlockEnd(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.append_setup:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.AppendSetup(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.auth_token_check_failed:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.AuthTokenCheckFailed(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.conditional_append:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.ConditionalAppend(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.conditional_block_end:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.ConditionalBlockEnd(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.conditional_check_failed:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.ConditionalCheckFailed(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.create_segment:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.CreateSegment(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.create_table_segment:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.CreateTableSegment(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.create_transient_segment:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.CreateTransientSegment(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.data_appended:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.DataAppended(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.delete_segment:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.DeleteSegment(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.delete_table_segment:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.DeleteTableSegment(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.error_message:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.ErrorMessage(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.event:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.Event(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.flush_to_storage:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.FlushToStorage(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.flushed_to_storage:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.FlushedToStorage(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.get_segment_attribute:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.GetSegmentAttribute(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.get_stream_segment_info:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.GetStreamSegmentInfo(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.get_table_segment_info:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.GetTableSegmentInfo(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.hello:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.Hello(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.invalid_event_number:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.InvalidEventNumber(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.keep_alive:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.KeepAlive(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.list_storage_chunks:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.ListStorageChunks(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.locate_offset:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.LocateOffset(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.merge_segments:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.MergeSegments(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.merge_segments_batch:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.MergeSegmentsBatch(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.no_such_segment:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.NoSuchSegment(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.offset_located:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.OffsetLocated(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.operation_unsupported:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.OperationUnsupported(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.padding:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.Padding(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.partial_event:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.PartialEvent(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.read_segment:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.ReadSegment(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.read_table:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.ReadTable(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.read_table_entries:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.ReadTableEntries(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.read_table_entries_delta:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.ReadTableEntriesDelta(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.read_table_keys:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.ReadTableKeys(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.remove_table_keys:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.RemoveTableKeys(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.seal_segment:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SealSegment(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segment_already_exists:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentAlreadyExists(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segment_attribute:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentAttribute(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segment_attribute_updated:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentAttributeUpdated(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segment_created:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentCreated(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segment_deleted:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentDeleted(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segment_is_sealed:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentIsSealed(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segment_is_truncated:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentIsTruncated(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segment_policy_updated:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentPolicyUpdated(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segment_read:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentRead(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segment_sealed:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentSealed(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segment_truncated:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentTruncated(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segments_batch_merged:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentsBatchMerged(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.segments_merged:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SegmentsMerged(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.setup_append:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.SetupAppend(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.storage_chunks_listed:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.StorageChunksListed(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.stream_segment_info:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.StreamSegmentInfo(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.table_entries_delta_read:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.TableEntriesDeltaRead(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.table_entries_read:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.TableEntriesRead(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.table_entries_updated:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.TableEntriesUpdated(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.table_key_bad_version:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.TableKeyBadVersion(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.table_key_does_not_exist:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.TableKeyDoesNotExist(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.table_keys_read:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.TableKeysRead(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.table_keys_removed:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.TableKeysRemoved(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.table_read:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.TableRead(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.table_segment_info:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.TableSegmentInfo(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.table_segment_not_empty:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.TableSegmentNotEmpty(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.truncate_segment:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.TruncateSegment(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.update_segment_attribute:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.UpdateSegmentAttribute(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.update_segment_policy:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.UpdateSegmentPolicy(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.update_table_entries:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.UpdateTableEntries(_io__raw_message, self, self._root)
            elif _on == Pravega.MessageType.wrong_host:
                pass
                self._raw_message = self._io.read_bytes(self.length)
                _io__raw_message = KaitaiStream(BytesIO(self._raw_message))
                self.message = Pravega.WrongHost(_io__raw_message, self, self._root)
            else:
                pass
                self.message = self._io.read_bytes(self.length)


        def _fetch_instances(self):
            pass
            _on = self.type
            if _on == Pravega.MessageType.append_block:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.append_block_end:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.append_setup:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.auth_token_check_failed:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.conditional_append:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.conditional_block_end:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.conditional_check_failed:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.create_segment:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.create_table_segment:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.create_transient_segment:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.data_appended:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.delete_segment:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.delete_table_segment:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.error_message:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.event:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.flush_to_storage:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.flushed_to_storage:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.get_segment_attribute:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.get_stream_segment_info:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.get_table_segment_info:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.hello:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.invalid_event_number:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.keep_alive:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.list_storage_chunks:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.locate_offset:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.merge_segments:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.merge_segments_batch:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.no_such_segment:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.offset_located:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.operation_unsupported:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.padding:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.partial_event:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.read_segment:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.read_table:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.read_table_entries:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.read_table_entries_delta:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.read_table_keys:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.remove_table_keys:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.seal_segment:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segment_already_exists:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segment_attribute:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segment_attribute_updated:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segment_created:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segment_deleted:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segment_is_sealed:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segment_is_truncated:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segment_policy_updated:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segment_read:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segment_sealed:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segment_truncated:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segments_batch_merged:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.segments_merged:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.setup_append:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.storage_chunks_listed:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.stream_segment_info:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.table_entries_delta_read:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.table_entries_read:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.table_entries_updated:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.table_key_bad_version:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.table_key_does_not_exist:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.table_keys_read:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.table_keys_removed:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.table_read:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.table_segment_info:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.table_segment_not_empty:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.truncate_segment:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.update_segment_attribute:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.update_segment_policy:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.update_table_entries:
                pass
                self.message._fetch_instances()
            elif _on == Pravega.MessageType.wrong_host:
                pass
                self.message._fetch_instances()
            else:
                pass


    class GetSegmentAttribute(KaitaiStruct):
        """WireCommands.java GetSegmentAttribute."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.GetSegmentAttribute, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_name_length = self._io.read_u2be()
            self.segment_name = (self._io.read_bytes(self.segment_name_length)).decode(u"UTF-8")
            self.attribute_id = self._io.read_bytes(16)
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class GetStreamSegmentInfo(KaitaiStruct):
        """WireCommands.java GetStreamSegmentInfo."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.GetStreamSegmentInfo, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_name_length = self._io.read_u2be()
            self.segment_name = (self._io.read_bytes(self.segment_name_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class GetTableSegmentInfo(KaitaiStruct):
        """WireCommands.java GetTableSegmentInfo."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.GetTableSegmentInfo, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_name_length = self._io.read_u2be()
            self.segment_name = (self._io.read_bytes(self.segment_name_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class Hello(KaitaiStruct):
        """WireCommands.java Hello."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.Hello, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.high_version = self._io.read_s4be()
            self.low_version = self._io.read_s4be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class InvalidEventNumber(KaitaiStruct):
        """WireCommands.java InvalidEventNumber."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.InvalidEventNumber, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.writer_id = self._io.read_bytes(16)
            self.request_id = self._io.read_s8be()
            if self.has_server_stack_trace:
                pass
                self.server_stack_trace_length = self._io.read_u2be()

            if self.has_server_stack_trace:
                pass
                self.server_stack_trace = (self._io.read_bytes(self.server_stack_trace_length)).decode(u"UTF-8")

            if self.has_event_number:
                pass
                self.event_number = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_server_stack_trace:
                pass

            if self.has_server_stack_trace:
                pass

            if self.has_event_number:
                pass


        @property
        def has_event_number(self):
            if hasattr(self, '_m_has_event_number'):
                return self._m_has_event_number

            self._m_has_event_number = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_event_number', None)

        @property
        def has_server_stack_trace(self):
            if hasattr(self, '_m_has_server_stack_trace'):
                return self._m_has_server_stack_trace

            self._m_has_server_stack_trace = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_server_stack_trace', None)


    class KeepAlive(KaitaiStruct):
        """WireCommands.java KeepAlive; Wire Protocol (2017), KeepAlive."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.KeepAlive, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class ListStorageChunks(KaitaiStruct):
        """WireCommands.java ListStorageChunks."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.ListStorageChunks, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.request_id = self._io.read_s8be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class LocateOffset(KaitaiStruct):
        """WireCommands.java LocateOffset."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.LocateOffset, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.target_offset = self._io.read_s8be()
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class MergeSegments(KaitaiStruct):
        """WireCommands.java MergeSegments."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.MergeSegments, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.target_length = self._io.read_u2be()
            self.target = (self._io.read_bytes(self.target_length)).decode(u"UTF-8")
            self.source_length = self._io.read_u2be()
            self.source = (self._io.read_bytes(self.source_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            if self.has_attribute_updates:
                pass
                self.attribute_updates_count = self._io.read_s4be()

            if self.has_attribute_updates:
                pass
                self.attribute_updates = []
                for i in range((0 if self.attribute_updates_count < 0 else self.attribute_updates_count)):
                    self.attribute_updates.append(Pravega.MergeSegments.AttributeUpdatesElement(self._io, self, self._root))


            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_attribute_updates:
                pass

            if self.has_attribute_updates:
                pass
                for i in range(len(self.attribute_updates)):
                    pass
                    self.attribute_updates[i]._fetch_instances()



        class AttributeUpdatesElement(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.MergeSegments.AttributeUpdatesElement, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.attribute_id = self._io.read_bytes(16)
                self.attribute_update_type = self._io.read_s1()
                self.new_value = self._io.read_s8be()
                self.old_value = self._io.read_s8be()


            def _fetch_instances(self):
                pass


        @property
        def has_attribute_updates(self):
            if hasattr(self, '_m_has_attribute_updates'):
                return self._m_has_attribute_updates

            self._m_has_attribute_updates = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_attribute_updates', None)


    class MergeSegmentsBatch(KaitaiStruct):
        """WireCommands.java MergeSegmentsBatch."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.MergeSegmentsBatch, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.target_segment_id_length = self._io.read_u2be()
            self.target_segment_id = (self._io.read_bytes(self.target_segment_id_length)).decode(u"UTF-8")
            self.source_segment_ids_count = self._io.read_s4be()
            if not self.source_segment_ids_count >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.source_segment_ids_count, self._io, u"/types/merge_segments_batch/seq/3")
            if not self.source_segment_ids_count <= 16777215:
                raise kaitaistruct.ValidationGreaterThanError(16777215, self.source_segment_ids_count, self._io, u"/types/merge_segments_batch/seq/3")
            self.source_segment_ids = []
            for i in range(self.source_segment_ids_count):
                self.source_segment_ids.append(Pravega.MergeSegmentsBatch.SourceSegmentIdsElement(self._io, self, self._root))

            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            for i in range(len(self.source_segment_ids)):
                pass
                self.source_segment_ids[i]._fetch_instances()


        class SourceSegmentIdsElement(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.MergeSegmentsBatch.SourceSegmentIdsElement, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.value_length = self._io.read_u2be()
                self.value = (self._io.read_bytes(self.value_length)).decode(u"UTF-8")


            def _fetch_instances(self):
                pass



    class NoSuchSegment(KaitaiStruct):
        """WireCommands.java NoSuchSegment."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.NoSuchSegment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            if self.has_server_stack_trace:
                pass
                self.server_stack_trace_length = self._io.read_u2be()

            if self.has_server_stack_trace:
                pass
                self.server_stack_trace = (self._io.read_bytes(self.server_stack_trace_length)).decode(u"UTF-8")

            if self.has_offset:
                pass
                self.offset = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_server_stack_trace:
                pass

            if self.has_server_stack_trace:
                pass

            if self.has_offset:
                pass


        @property
        def has_offset(self):
            if hasattr(self, '_m_has_offset'):
                return self._m_has_offset

            self._m_has_offset = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_offset', None)

        @property
        def has_server_stack_trace(self):
            if hasattr(self, '_m_has_server_stack_trace'):
                return self._m_has_server_stack_trace

            self._m_has_server_stack_trace = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_server_stack_trace', None)


    class OffsetLocated(KaitaiStruct):
        """WireCommands.java OffsetLocated."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.OffsetLocated, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.offset = self._io.read_s8be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class OperationUnsupported(KaitaiStruct):
        """WireCommands.java OperationUnsupported."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.OperationUnsupported, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.operation_name_length = self._io.read_u2be()
            self.operation_name = (self._io.read_bytes(self.operation_name_length)).decode(u"UTF-8")
            if self.has_server_stack_trace:
                pass
                self.server_stack_trace_length = self._io.read_u2be()

            if self.has_server_stack_trace:
                pass
                self.server_stack_trace = (self._io.read_bytes(self.server_stack_trace_length)).decode(u"UTF-8")

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_server_stack_trace:
                pass

            if self.has_server_stack_trace:
                pass


        @property
        def has_server_stack_trace(self):
            if hasattr(self, '_m_has_server_stack_trace'):
                return self._m_has_server_stack_trace

            self._m_has_server_stack_trace = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_server_stack_trace', None)


    class Padding(KaitaiStruct):
        """WireCommands.java Padding."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.Padding, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.length = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class PartialEvent(KaitaiStruct):
        """WireCommands.java PartialEvent; Wire Protocol, Partial Event."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.PartialEvent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class ReadSegment(KaitaiStruct):
        """WireCommands.java ReadSegment; Wire Protocol, Read Segment - Request."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.ReadSegment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.offset = self._io.read_s8be()
            self.suggested_length = self._io.read_s4be()
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            if self.has_request_id:
                pass
                self.request_id = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_request_id:
                pass


        @property
        def has_request_id(self):
            if hasattr(self, '_m_has_request_id'):
                return self._m_has_request_id

            self._m_has_request_id = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_request_id', None)


    class ReadTable(KaitaiStruct):
        """WireCommands.java ReadTable."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.ReadTable, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.keys_count = self._io.read_s4be()
            if not self.keys_count >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.keys_count, self._io, u"/types/read_table/seq/5")
            if not self.keys_count <= 16777215:
                raise kaitaistruct.ValidationGreaterThanError(16777215, self.keys_count, self._io, u"/types/read_table/seq/5")
            self.keys = []
            for i in range(self.keys_count):
                self.keys.append(Pravega.ReadTable.KeysElement(self._io, self, self._root))

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            for i in range(len(self.keys)):
                pass
                self.keys[i]._fetch_instances()


        class KeysElement(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.ReadTable.KeysElement, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.payload_size = self._io.read_s4be()
                _ = self.payload_size
                if not _ <= self._io.size() - self._io.pos():
                    raise kaitaistruct.ValidationExprError(self.payload_size, self._io, u"/types/read_table/types/keys_element/seq/0")
                self.data_length = self._io.read_s4be()
                self.data = self._io.read_bytes(self.data_length)
                if self.has_key_version:
                    pass
                    self.key_version = self._io.read_s8be()



            def _fetch_instances(self):
                pass
                if self.has_key_version:
                    pass


            @property
            def has_key_version(self):
                if hasattr(self, '_m_has_key_version'):
                    return self._m_has_key_version

                self._m_has_key_version = self.data_length != 0
                return getattr(self, '_m_has_key_version', None)



    class ReadTableEntries(KaitaiStruct):
        """WireCommands.java ReadTableEntries."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.ReadTableEntries, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.suggested_entry_count = self._io.read_s4be()
            self.args = Pravega.ReadTableEntries.ArgsValue(self._io, self, self._root)
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.args._fetch_instances()

        class ArgsValue(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.ReadTableEntries.ArgsValue, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                if self.has_continuation_token:
                    pass
                    self.continuation_token_length = self._io.read_s4be()
                    if not self.continuation_token_length >= 0:
                        raise kaitaistruct.ValidationLessThanError(0, self.continuation_token_length, self._io, u"/types/read_table_entries/types/args_value/seq/0")

                if self.has_continuation_token:
                    pass
                    self.continuation_token = self._io.read_bytes(self.continuation_token_length)

                if self.has_prefix_filter:
                    pass
                    self.prefix_filter_length = self._io.read_s4be()
                    if not self.prefix_filter_length >= 0:
                        raise kaitaistruct.ValidationLessThanError(0, self.prefix_filter_length, self._io, u"/types/read_table_entries/types/args_value/seq/2")

                if self.has_prefix_filter:
                    pass
                    self.prefix_filter = self._io.read_bytes(self.prefix_filter_length)

                if self.has_from_key:
                    pass
                    self.from_key_length = self._io.read_s4be()
                    if not self.from_key_length >= 0:
                        raise kaitaistruct.ValidationLessThanError(0, self.from_key_length, self._io, u"/types/read_table_entries/types/args_value/seq/4")

                if self.has_from_key:
                    pass
                    self.from_key = self._io.read_bytes(self.from_key_length)

                if self.has_to_key:
                    pass
                    self.to_key_length = self._io.read_s4be()
                    if not self.to_key_length >= 0:
                        raise kaitaistruct.ValidationLessThanError(0, self.to_key_length, self._io, u"/types/read_table_entries/types/args_value/seq/6")

                if self.has_to_key:
                    pass
                    self.to_key = self._io.read_bytes(self.to_key_length)



            def _fetch_instances(self):
                pass
                if self.has_continuation_token:
                    pass

                if self.has_continuation_token:
                    pass

                if self.has_prefix_filter:
                    pass

                if self.has_prefix_filter:
                    pass

                if self.has_from_key:
                    pass

                if self.has_from_key:
                    pass

                if self.has_to_key:
                    pass

                if self.has_to_key:
                    pass


            @property
            def has_continuation_token(self):
                if hasattr(self, '_m_has_continuation_token'):
                    return self._m_has_continuation_token

                self._m_has_continuation_token = self._io.size() - self._io.pos() >= 4
                return getattr(self, '_m_has_continuation_token', None)

            @property
            def has_from_key(self):
                if hasattr(self, '_m_has_from_key'):
                    return self._m_has_from_key

                self._m_has_from_key = self._io.size() - self._io.pos() >= 4
                return getattr(self, '_m_has_from_key', None)

            @property
            def has_prefix_filter(self):
                if hasattr(self, '_m_has_prefix_filter'):
                    return self._m_has_prefix_filter

                self._m_has_prefix_filter = self._io.size() - self._io.pos() >= 4
                return getattr(self, '_m_has_prefix_filter', None)

            @property
            def has_to_key(self):
                if hasattr(self, '_m_has_to_key'):
                    return self._m_has_to_key

                self._m_has_to_key = self._io.size() - self._io.pos() >= 4
                return getattr(self, '_m_has_to_key', None)



    class ReadTableEntriesDelta(KaitaiStruct):
        """WireCommands.java ReadTableEntriesDelta."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.ReadTableEntriesDelta, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.from_position = self._io.read_s8be()
            self.suggested_entry_count = self._io.read_s4be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class ReadTableKeys(KaitaiStruct):
        """WireCommands.java ReadTableKeys."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.ReadTableKeys, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.suggested_key_count = self._io.read_s4be()
            self.args = Pravega.ReadTableKeys.ArgsValue(self._io, self, self._root)
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.args._fetch_instances()

        class ArgsValue(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.ReadTableKeys.ArgsValue, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                if self.has_continuation_token:
                    pass
                    self.continuation_token_length = self._io.read_s4be()
                    if not self.continuation_token_length >= 0:
                        raise kaitaistruct.ValidationLessThanError(0, self.continuation_token_length, self._io, u"/types/read_table_keys/types/args_value/seq/0")

                if self.has_continuation_token:
                    pass
                    self.continuation_token = self._io.read_bytes(self.continuation_token_length)

                if self.has_prefix_filter:
                    pass
                    self.prefix_filter_length = self._io.read_s4be()
                    if not self.prefix_filter_length >= 0:
                        raise kaitaistruct.ValidationLessThanError(0, self.prefix_filter_length, self._io, u"/types/read_table_keys/types/args_value/seq/2")

                if self.has_prefix_filter:
                    pass
                    self.prefix_filter = self._io.read_bytes(self.prefix_filter_length)

                if self.has_from_key:
                    pass
                    self.from_key_length = self._io.read_s4be()
                    if not self.from_key_length >= 0:
                        raise kaitaistruct.ValidationLessThanError(0, self.from_key_length, self._io, u"/types/read_table_keys/types/args_value/seq/4")

                if self.has_from_key:
                    pass
                    self.from_key = self._io.read_bytes(self.from_key_length)

                if self.has_to_key:
                    pass
                    self.to_key_length = self._io.read_s4be()
                    if not self.to_key_length >= 0:
                        raise kaitaistruct.ValidationLessThanError(0, self.to_key_length, self._io, u"/types/read_table_keys/types/args_value/seq/6")

                if self.has_to_key:
                    pass
                    self.to_key = self._io.read_bytes(self.to_key_length)



            def _fetch_instances(self):
                pass
                if self.has_continuation_token:
                    pass

                if self.has_continuation_token:
                    pass

                if self.has_prefix_filter:
                    pass

                if self.has_prefix_filter:
                    pass

                if self.has_from_key:
                    pass

                if self.has_from_key:
                    pass

                if self.has_to_key:
                    pass

                if self.has_to_key:
                    pass


            @property
            def has_continuation_token(self):
                if hasattr(self, '_m_has_continuation_token'):
                    return self._m_has_continuation_token

                self._m_has_continuation_token = self._io.size() - self._io.pos() >= 4
                return getattr(self, '_m_has_continuation_token', None)

            @property
            def has_from_key(self):
                if hasattr(self, '_m_has_from_key'):
                    return self._m_has_from_key

                self._m_has_from_key = self._io.size() - self._io.pos() >= 4
                return getattr(self, '_m_has_from_key', None)

            @property
            def has_prefix_filter(self):
                if hasattr(self, '_m_has_prefix_filter'):
                    return self._m_has_prefix_filter

                self._m_has_prefix_filter = self._io.size() - self._io.pos() >= 4
                return getattr(self, '_m_has_prefix_filter', None)

            @property
            def has_to_key(self):
                if hasattr(self, '_m_has_to_key'):
                    return self._m_has_to_key

                self._m_has_to_key = self._io.size() - self._io.pos() >= 4
                return getattr(self, '_m_has_to_key', None)



    class RemoveTableKeys(KaitaiStruct):
        """WireCommands.java RemoveTableKeys."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.RemoveTableKeys, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.keys_count = self._io.read_s4be()
            if not self.keys_count >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.keys_count, self._io, u"/types/remove_table_keys/seq/5")
            if not self.keys_count <= 16777215:
                raise kaitaistruct.ValidationGreaterThanError(16777215, self.keys_count, self._io, u"/types/remove_table_keys/seq/5")
            self.keys = []
            for i in range(self.keys_count):
                self.keys.append(Pravega.RemoveTableKeys.KeysElement(self._io, self, self._root))

            if self.has_table_segment_offset:
                pass
                self.table_segment_offset = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            for i in range(len(self.keys)):
                pass
                self.keys[i]._fetch_instances()

            if self.has_table_segment_offset:
                pass


        class KeysElement(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.RemoveTableKeys.KeysElement, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.payload_size = self._io.read_s4be()
                _ = self.payload_size
                if not _ <= self._io.size() - self._io.pos():
                    raise kaitaistruct.ValidationExprError(self.payload_size, self._io, u"/types/remove_table_keys/types/keys_element/seq/0")
                self.data_length = self._io.read_s4be()
                self.data = self._io.read_bytes(self.data_length)
                if self.has_key_version:
                    pass
                    self.key_version = self._io.read_s8be()



            def _fetch_instances(self):
                pass
                if self.has_key_version:
                    pass


            @property
            def has_key_version(self):
                if hasattr(self, '_m_has_key_version'):
                    return self._m_has_key_version

                self._m_has_key_version = self.data_length != 0
                return getattr(self, '_m_has_key_version', None)


        @property
        def has_table_segment_offset(self):
            if hasattr(self, '_m_has_table_segment_offset'):
                return self._m_has_table_segment_offset

            self._m_has_table_segment_offset = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_table_segment_offset', None)


    class SealSegment(KaitaiStruct):
        """WireCommands.java SealSegment."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SealSegment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SegmentAlreadyExists(KaitaiStruct):
        """WireCommands.java SegmentAlreadyExists."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentAlreadyExists, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            if self.has_server_stack_trace:
                pass
                self.server_stack_trace_length = self._io.read_u2be()

            if self.has_server_stack_trace:
                pass
                self.server_stack_trace = (self._io.read_bytes(self.server_stack_trace_length)).decode(u"UTF-8")

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_server_stack_trace:
                pass

            if self.has_server_stack_trace:
                pass


        @property
        def has_server_stack_trace(self):
            if hasattr(self, '_m_has_server_stack_trace'):
                return self._m_has_server_stack_trace

            self._m_has_server_stack_trace = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_server_stack_trace', None)


    class SegmentAttribute(KaitaiStruct):
        """WireCommands.java SegmentAttribute."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentAttribute, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.value = self._io.read_s8be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SegmentAttributeUpdated(KaitaiStruct):
        """WireCommands.java SegmentAttributeUpdated."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentAttributeUpdated, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.success = Pravega.Truth(self._io, self, self._root)
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.success._fetch_instances()


    class SegmentCreated(KaitaiStruct):
        """WireCommands.java SegmentCreated."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentCreated, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SegmentDeleted(KaitaiStruct):
        """WireCommands.java SegmentDeleted."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentDeleted, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SegmentIsSealed(KaitaiStruct):
        """WireCommands.java SegmentIsSealed."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentIsSealed, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            if self.has_server_stack_trace:
                pass
                self.server_stack_trace_length = self._io.read_u2be()

            if self.has_server_stack_trace:
                pass
                self.server_stack_trace = (self._io.read_bytes(self.server_stack_trace_length)).decode(u"UTF-8")

            if self.has_offset:
                pass
                self.offset = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_server_stack_trace:
                pass

            if self.has_server_stack_trace:
                pass

            if self.has_offset:
                pass


        @property
        def has_offset(self):
            if hasattr(self, '_m_has_offset'):
                return self._m_has_offset

            self._m_has_offset = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_offset', None)

        @property
        def has_server_stack_trace(self):
            if hasattr(self, '_m_has_server_stack_trace'):
                return self._m_has_server_stack_trace

            self._m_has_server_stack_trace = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_server_stack_trace', None)


    class SegmentIsTruncated(KaitaiStruct):
        """WireCommands.java SegmentIsTruncated."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentIsTruncated, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.start_offset = self._io.read_s8be()
            if self.has_server_stack_trace:
                pass
                self.server_stack_trace_length = self._io.read_u2be()

            if self.has_server_stack_trace:
                pass
                self.server_stack_trace = (self._io.read_bytes(self.server_stack_trace_length)).decode(u"UTF-8")

            if self.has_offset:
                pass
                self.offset = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_server_stack_trace:
                pass

            if self.has_server_stack_trace:
                pass

            if self.has_offset:
                pass


        @property
        def has_offset(self):
            if hasattr(self, '_m_has_offset'):
                return self._m_has_offset

            self._m_has_offset = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_offset', None)

        @property
        def has_server_stack_trace(self):
            if hasattr(self, '_m_has_server_stack_trace'):
                return self._m_has_server_stack_trace

            self._m_has_server_stack_trace = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_server_stack_trace', None)


    class SegmentPolicyUpdated(KaitaiStruct):
        """WireCommands.java SegmentPolicyUpdated."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentPolicyUpdated, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SegmentRead(KaitaiStruct):
        """WireCommands.java SegmentRead; Wire Protocol, Segment Read - Reply."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentRead, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.offset = self._io.read_s8be()
            self.at_tail = Pravega.Truth(self._io, self, self._root)
            self.end_of_segment = Pravega.Truth(self._io, self, self._root)
            self.data_length = self._io.read_s4be()
            if not self.data_length >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.data_length, self._io, u"/types/segment_read/seq/5")
            self.data = self._io.read_bytes(self.data_length)
            if self.has_request_id:
                pass
                self.request_id = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.at_tail._fetch_instances()
            self.end_of_segment._fetch_instances()
            if self.has_request_id:
                pass


        @property
        def has_request_id(self):
            if hasattr(self, '_m_has_request_id'):
                return self._m_has_request_id

            self._m_has_request_id = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_request_id', None)


    class SegmentSealed(KaitaiStruct):
        """WireCommands.java SegmentSealed."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentSealed, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SegmentTruncated(KaitaiStruct):
        """WireCommands.java SegmentTruncated."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentTruncated, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class SegmentsBatchMerged(KaitaiStruct):
        """WireCommands.java SegmentsBatchMerged."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentsBatchMerged, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.target_length = self._io.read_u2be()
            self.target = (self._io.read_bytes(self.target_length)).decode(u"UTF-8")
            self.merged_count = self._io.read_s4be()
            if not self.merged_count >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.merged_count, self._io, u"/types/segments_batch_merged/seq/3")
            if not self.merged_count <= 16777215:
                raise kaitaistruct.ValidationGreaterThanError(16777215, self.merged_count, self._io, u"/types/segments_batch_merged/seq/3")
            self.merged = []
            for i in range(self.merged_count):
                self.merged.append(Pravega.SegmentsBatchMerged.MergedElement(self._io, self, self._root))

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            for i in range(len(self.merged)):
                pass
                self.merged[i]._fetch_instances()


        class MergedElement(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.SegmentsBatchMerged.MergedElement, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.source_length = self._io.read_u2be()
                self.source = (self._io.read_bytes(self.source_length)).decode(u"UTF-8")
                self.new_target_write_offset = self._io.read_s8be()


            def _fetch_instances(self):
                pass



    class SegmentsMerged(KaitaiStruct):
        """WireCommands.java SegmentsMerged."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SegmentsMerged, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.target_length = self._io.read_u2be()
            self.target = (self._io.read_bytes(self.target_length)).decode(u"UTF-8")
            self.source_length = self._io.read_u2be()
            self.source = (self._io.read_bytes(self.source_length)).decode(u"UTF-8")
            if self.has_new_target_write_offset:
                pass
                self.new_target_write_offset = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_new_target_write_offset:
                pass


        @property
        def has_new_target_write_offset(self):
            if hasattr(self, '_m_has_new_target_write_offset'):
                return self._m_has_new_target_write_offset

            self._m_has_new_target_write_offset = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_new_target_write_offset', None)


    class SetupAppend(KaitaiStruct):
        """WireCommands.java SetupAppend; Wire Protocol, Setup Append - Request."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.SetupAppend, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.writer_id = self._io.read_bytes(16)
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class StorageChunksListed(KaitaiStruct):
        """WireCommands.java StorageChunksListed."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.StorageChunksListed, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.chunks_count = self._io.read_s4be()
            if not self.chunks_count >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.chunks_count, self._io, u"/types/storage_chunks_listed/seq/1")
            if not self.chunks_count <= 16777215:
                raise kaitaistruct.ValidationGreaterThanError(16777215, self.chunks_count, self._io, u"/types/storage_chunks_listed/seq/1")
            self.chunks = []
            for i in range(self.chunks_count):
                self.chunks.append(Pravega.StorageChunksListed.ChunksElement(self._io, self, self._root))

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            for i in range(len(self.chunks)):
                pass
                self.chunks[i]._fetch_instances()


        class ChunksElement(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.StorageChunksListed.ChunksElement, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.length_in_metadata = self._io.read_s8be()
                self.length_in_storage = self._io.read_s8be()
                self.start_offset = self._io.read_s8be()
                self.chunk_name_length = self._io.read_u2be()
                self.chunk_name = (self._io.read_bytes(self.chunk_name_length)).decode(u"UTF-8")
                self.exists_in_storage = Pravega.Truth(self._io, self, self._root)


            def _fetch_instances(self):
                pass
                self.exists_in_storage._fetch_instances()



    class StreamSegmentInfo(KaitaiStruct):
        """WireCommands.java StreamSegmentInfo."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.StreamSegmentInfo, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_name_length = self._io.read_u2be()
            self.segment_name = (self._io.read_bytes(self.segment_name_length)).decode(u"UTF-8")
            self.exists = Pravega.Truth(self._io, self, self._root)
            self.is_sealed = Pravega.Truth(self._io, self, self._root)
            self.is_deleted = Pravega.Truth(self._io, self, self._root)
            self.last_modified = self._io.read_s8be()
            self.write_offset = self._io.read_s8be()
            if self.has_start_offset:
                pass
                self.start_offset = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.exists._fetch_instances()
            self.is_sealed._fetch_instances()
            self.is_deleted._fetch_instances()
            if self.has_start_offset:
                pass


        @property
        def has_start_offset(self):
            if hasattr(self, '_m_has_start_offset'):
                return self._m_has_start_offset

            self._m_has_start_offset = self._io.size() - self._io.pos() >= 8
            return getattr(self, '_m_has_start_offset', None)


    class TableEntriesDeltaRead(KaitaiStruct):
        """WireCommands.java TableEntriesDeltaRead."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.TableEntriesDeltaRead, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.entries = Pravega.TableEntriesDeltaRead.EntriesValue(self._io, self, self._root)
            self.should_clear = Pravega.Truth(self._io, self, self._root)
            self.reached_end = Pravega.Truth(self._io, self, self._root)
            self.last_position = self._io.read_s8be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.entries._fetch_instances()
            self.should_clear._fetch_instances()
            self.reached_end._fetch_instances()

        class EntriesValue(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.TableEntriesDeltaRead.EntriesValue, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.entries_count = self._io.read_s4be()
                self.entries = []
                for i in range((0 if self.entries_count < 0 else self.entries_count)):
                    self.entries.append(Pravega.TableEntriesDeltaRead.EntriesValue.EntriesElement(self._io, self, self._root))



            def _fetch_instances(self):
                pass
                for i in range(len(self.entries)):
                    pass
                    self.entries[i]._fetch_instances()


            class EntriesElement(KaitaiStruct):
                def __init__(self, _io, _parent=None, _root=None):
                    super(Pravega.TableEntriesDeltaRead.EntriesValue.EntriesElement, self).__init__(_io)
                    self._parent = _parent
                    self._root = _root
                    self._read()

                def _read(self):
                    self.key = Pravega.TableEntriesDeltaRead.EntriesValue.EntriesElement.KeyValue(self._io, self, self._root)
                    self.value = Pravega.TableEntriesDeltaRead.EntriesValue.EntriesElement.ValueValue(self._io, self, self._root)


                def _fetch_instances(self):
                    pass
                    self.key._fetch_instances()
                    self.value._fetch_instances()

                class KeyValue(KaitaiStruct):
                    def __init__(self, _io, _parent=None, _root=None):
                        super(Pravega.TableEntriesDeltaRead.EntriesValue.EntriesElement.KeyValue, self).__init__(_io)
                        self._parent = _parent
                        self._root = _root
                        self._read()

                    def _read(self):
                        self.payload_size = self._io.read_s4be()
                        _ = self.payload_size
                        if not _ <= self._io.size() - self._io.pos():
                            raise kaitaistruct.ValidationExprError(self.payload_size, self._io, u"/types/table_entries_delta_read/types/entries_value/types/entries_element/types/key_value/seq/0")
                        self.data_length = self._io.read_s4be()
                        self.data = self._io.read_bytes(self.data_length)
                        if self.has_key_version:
                            pass
                            self.key_version = self._io.read_s8be()



                    def _fetch_instances(self):
                        pass
                        if self.has_key_version:
                            pass


                    @property
                    def has_key_version(self):
                        if hasattr(self, '_m_has_key_version'):
                            return self._m_has_key_version

                        self._m_has_key_version = self.data_length != 0
                        return getattr(self, '_m_has_key_version', None)


                class ValueValue(KaitaiStruct):
                    def __init__(self, _io, _parent=None, _root=None):
                        super(Pravega.TableEntriesDeltaRead.EntriesValue.EntriesElement.ValueValue, self).__init__(_io)
                        self._parent = _parent
                        self._root = _root
                        self._read()

                    def _read(self):
                        self.payload_size = self._io.read_s4be()
                        _ = self.payload_size
                        if not _ <= self._io.size() - self._io.pos():
                            raise kaitaistruct.ValidationExprError(self.payload_size, self._io, u"/types/table_entries_delta_read/types/entries_value/types/entries_element/types/value_value/seq/0")
                        self.data_length = self._io.read_s4be()
                        self.data = self._io.read_bytes(self.data_length)


                    def _fetch_instances(self):
                        pass





    class TableEntriesRead(KaitaiStruct):
        """WireCommands.java TableEntriesRead."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.TableEntriesRead, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.entries = Pravega.TableEntriesRead.EntriesValue(self._io, self, self._root)
            self.continuation_token_length = self._io.read_s4be()
            if not self.continuation_token_length >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.continuation_token_length, self._io, u"/types/table_entries_read/seq/4")
            self.continuation_token = self._io.read_bytes(self.continuation_token_length)
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.entries._fetch_instances()

        class EntriesValue(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.TableEntriesRead.EntriesValue, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.entries_count = self._io.read_s4be()
                self.entries = []
                for i in range((0 if self.entries_count < 0 else self.entries_count)):
                    self.entries.append(Pravega.TableEntriesRead.EntriesValue.EntriesElement(self._io, self, self._root))



            def _fetch_instances(self):
                pass
                for i in range(len(self.entries)):
                    pass
                    self.entries[i]._fetch_instances()


            class EntriesElement(KaitaiStruct):
                def __init__(self, _io, _parent=None, _root=None):
                    super(Pravega.TableEntriesRead.EntriesValue.EntriesElement, self).__init__(_io)
                    self._parent = _parent
                    self._root = _root
                    self._read()

                def _read(self):
                    self.key = Pravega.TableEntriesRead.EntriesValue.EntriesElement.KeyValue(self._io, self, self._root)
                    self.value = Pravega.TableEntriesRead.EntriesValue.EntriesElement.ValueValue(self._io, self, self._root)


                def _fetch_instances(self):
                    pass
                    self.key._fetch_instances()
                    self.value._fetch_instances()

                class KeyValue(KaitaiStruct):
                    def __init__(self, _io, _parent=None, _root=None):
                        super(Pravega.TableEntriesRead.EntriesValue.EntriesElement.KeyValue, self).__init__(_io)
                        self._parent = _parent
                        self._root = _root
                        self._read()

                    def _read(self):
                        self.payload_size = self._io.read_s4be()
                        _ = self.payload_size
                        if not _ <= self._io.size() - self._io.pos():
                            raise kaitaistruct.ValidationExprError(self.payload_size, self._io, u"/types/table_entries_read/types/entries_value/types/entries_element/types/key_value/seq/0")
                        self.data_length = self._io.read_s4be()
                        self.data = self._io.read_bytes(self.data_length)
                        if self.has_key_version:
                            pass
                            self.key_version = self._io.read_s8be()



                    def _fetch_instances(self):
                        pass
                        if self.has_key_version:
                            pass


                    @property
                    def has_key_version(self):
                        if hasattr(self, '_m_has_key_version'):
                            return self._m_has_key_version

                        self._m_has_key_version = self.data_length != 0
                        return getattr(self, '_m_has_key_version', None)


                class ValueValue(KaitaiStruct):
                    def __init__(self, _io, _parent=None, _root=None):
                        super(Pravega.TableEntriesRead.EntriesValue.EntriesElement.ValueValue, self).__init__(_io)
                        self._parent = _parent
                        self._root = _root
                        self._read()

                    def _read(self):
                        self.payload_size = self._io.read_s4be()
                        _ = self.payload_size
                        if not _ <= self._io.size() - self._io.pos():
                            raise kaitaistruct.ValidationExprError(self.payload_size, self._io, u"/types/table_entries_read/types/entries_value/types/entries_element/types/value_value/seq/0")
                        self.data_length = self._io.read_s4be()
                        self.data = self._io.read_bytes(self.data_length)


                    def _fetch_instances(self):
                        pass





    class TableEntriesUpdated(KaitaiStruct):
        """WireCommands.java TableEntriesUpdated."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.TableEntriesUpdated, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.updated_versions_count = self._io.read_s4be()
            if not self.updated_versions_count >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.updated_versions_count, self._io, u"/types/table_entries_updated/seq/1")
            if not self.updated_versions_count <= 16777215:
                raise kaitaistruct.ValidationGreaterThanError(16777215, self.updated_versions_count, self._io, u"/types/table_entries_updated/seq/1")
            self.updated_versions = []
            for i in range(self.updated_versions_count):
                self.updated_versions.append(self._io.read_s8be())

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            for i in range(len(self.updated_versions)):
                pass



    class TableKeyBadVersion(KaitaiStruct):
        """WireCommands.java TableKeyBadVersion."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.TableKeyBadVersion, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.server_stack_trace_length = self._io.read_u2be()
            self.server_stack_trace = (self._io.read_bytes(self.server_stack_trace_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class TableKeyDoesNotExist(KaitaiStruct):
        """WireCommands.java TableKeyDoesNotExist."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.TableKeyDoesNotExist, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.server_stack_trace_length = self._io.read_u2be()
            self.server_stack_trace = (self._io.read_bytes(self.server_stack_trace_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class TableKeysRead(KaitaiStruct):
        """WireCommands.java TableKeysRead."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.TableKeysRead, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.keys_count = self._io.read_s4be()
            if not self.keys_count >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.keys_count, self._io, u"/types/table_keys_read/seq/3")
            if not self.keys_count <= 16777215:
                raise kaitaistruct.ValidationGreaterThanError(16777215, self.keys_count, self._io, u"/types/table_keys_read/seq/3")
            self.keys = []
            for i in range(self.keys_count):
                self.keys.append(Pravega.TableKeysRead.KeysElement(self._io, self, self._root))

            self.continuation_token_length = self._io.read_s4be()
            if not self.continuation_token_length >= 0:
                raise kaitaistruct.ValidationLessThanError(0, self.continuation_token_length, self._io, u"/types/table_keys_read/seq/5")
            self.continuation_token = self._io.read_bytes(self.continuation_token_length)
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            for i in range(len(self.keys)):
                pass
                self.keys[i]._fetch_instances()


        class KeysElement(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.TableKeysRead.KeysElement, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.payload_size = self._io.read_s4be()
                _ = self.payload_size
                if not _ <= self._io.size() - self._io.pos():
                    raise kaitaistruct.ValidationExprError(self.payload_size, self._io, u"/types/table_keys_read/types/keys_element/seq/0")
                self.data_length = self._io.read_s4be()
                self.data = self._io.read_bytes(self.data_length)
                if self.has_key_version:
                    pass
                    self.key_version = self._io.read_s8be()



            def _fetch_instances(self):
                pass
                if self.has_key_version:
                    pass


            @property
            def has_key_version(self):
                if hasattr(self, '_m_has_key_version'):
                    return self._m_has_key_version

                self._m_has_key_version = self.data_length != 0
                return getattr(self, '_m_has_key_version', None)



    class TableKeysRemoved(KaitaiStruct):
        """WireCommands.java TableKeysRemoved."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.TableKeysRemoved, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class TableRead(KaitaiStruct):
        """WireCommands.java TableRead."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.TableRead, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.entries = Pravega.TableRead.EntriesValue(self._io, self, self._root)
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.entries._fetch_instances()

        class EntriesValue(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.TableRead.EntriesValue, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.entries_count = self._io.read_s4be()
                self.entries = []
                for i in range((0 if self.entries_count < 0 else self.entries_count)):
                    self.entries.append(Pravega.TableRead.EntriesValue.EntriesElement(self._io, self, self._root))



            def _fetch_instances(self):
                pass
                for i in range(len(self.entries)):
                    pass
                    self.entries[i]._fetch_instances()


            class EntriesElement(KaitaiStruct):
                def __init__(self, _io, _parent=None, _root=None):
                    super(Pravega.TableRead.EntriesValue.EntriesElement, self).__init__(_io)
                    self._parent = _parent
                    self._root = _root
                    self._read()

                def _read(self):
                    self.key = Pravega.TableRead.EntriesValue.EntriesElement.KeyValue(self._io, self, self._root)
                    self.value = Pravega.TableRead.EntriesValue.EntriesElement.ValueValue(self._io, self, self._root)


                def _fetch_instances(self):
                    pass
                    self.key._fetch_instances()
                    self.value._fetch_instances()

                class KeyValue(KaitaiStruct):
                    def __init__(self, _io, _parent=None, _root=None):
                        super(Pravega.TableRead.EntriesValue.EntriesElement.KeyValue, self).__init__(_io)
                        self._parent = _parent
                        self._root = _root
                        self._read()

                    def _read(self):
                        self.payload_size = self._io.read_s4be()
                        _ = self.payload_size
                        if not _ <= self._io.size() - self._io.pos():
                            raise kaitaistruct.ValidationExprError(self.payload_size, self._io, u"/types/table_read/types/entries_value/types/entries_element/types/key_value/seq/0")
                        self.data_length = self._io.read_s4be()
                        self.data = self._io.read_bytes(self.data_length)
                        if self.has_key_version:
                            pass
                            self.key_version = self._io.read_s8be()



                    def _fetch_instances(self):
                        pass
                        if self.has_key_version:
                            pass


                    @property
                    def has_key_version(self):
                        if hasattr(self, '_m_has_key_version'):
                            return self._m_has_key_version

                        self._m_has_key_version = self.data_length != 0
                        return getattr(self, '_m_has_key_version', None)


                class ValueValue(KaitaiStruct):
                    def __init__(self, _io, _parent=None, _root=None):
                        super(Pravega.TableRead.EntriesValue.EntriesElement.ValueValue, self).__init__(_io)
                        self._parent = _parent
                        self._root = _root
                        self._read()

                    def _read(self):
                        self.payload_size = self._io.read_s4be()
                        _ = self.payload_size
                        if not _ <= self._io.size() - self._io.pos():
                            raise kaitaistruct.ValidationExprError(self.payload_size, self._io, u"/types/table_read/types/entries_value/types/entries_element/types/value_value/seq/0")
                        self.data_length = self._io.read_s4be()
                        self.data = self._io.read_bytes(self.data_length)


                    def _fetch_instances(self):
                        pass





    class TableSegmentInfo(KaitaiStruct):
        """WireCommands.java TableSegmentInfo."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.TableSegmentInfo, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_name_length = self._io.read_u2be()
            self.segment_name = (self._io.read_bytes(self.segment_name_length)).decode(u"UTF-8")
            self.start_offset = self._io.read_s8be()
            self.length = self._io.read_s8be()
            self.entry_count = self._io.read_s8be()
            self.key_length = self._io.read_s4be()
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class TableSegmentNotEmpty(KaitaiStruct):
        """WireCommands.java TableSegmentNotEmpty."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.TableSegmentNotEmpty, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.server_stack_trace_length = self._io.read_u2be()
            self.server_stack_trace = (self._io.read_bytes(self.server_stack_trace_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class TruncateSegment(KaitaiStruct):
        """WireCommands.java TruncateSegment."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.TruncateSegment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.truncation_offset = self._io.read_s8be()
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class Truth(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.Truth, self).__init__(_io)
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


    class UpdateSegmentAttribute(KaitaiStruct):
        """WireCommands.java UpdateSegmentAttribute."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.UpdateSegmentAttribute, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_name_length = self._io.read_u2be()
            self.segment_name = (self._io.read_bytes(self.segment_name_length)).decode(u"UTF-8")
            self.attribute_id = self._io.read_bytes(16)
            self.new_value = self._io.read_s8be()
            self.expected_value = self._io.read_s8be()
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class UpdateSegmentPolicy(KaitaiStruct):
        """WireCommands.java UpdateSegmentPolicy."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.UpdateSegmentPolicy, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.target_rate = self._io.read_s4be()
            self.scale_type = self._io.read_s1()
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class UpdateTableEntries(KaitaiStruct):
        """WireCommands.java UpdateTableEntries."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.UpdateTableEntries, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.delegation_token_length = self._io.read_u2be()
            self.delegation_token = (self._io.read_bytes(self.delegation_token_length)).decode(u"UTF-8")
            self.table_entries = Pravega.UpdateTableEntries.TableEntriesValue(self._io, self, self._root)
            if self.has_table_segment_offset:
                pass
                self.table_segment_offset = self._io.read_s8be()

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            self.table_entries._fetch_instances()
            if self.has_table_segment_offset:
                pass


        class TableEntriesValue(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                super(Pravega.UpdateTableEntries.TableEntriesValue, self).__init__(_io)
                self._parent = _parent
                self._root = _root
                self._read()

            def _read(self):
                self.entries_count = self._io.read_s4be()
                self.entries = []
                for i in range((0 if self.entries_count < 0 else self.entries_count)):
                    self.entries.append(Pravega.UpdateTableEntries.TableEntriesValue.EntriesElement(self._io, self, self._root))



            def _fetch_instances(self):
                pass
                for i in range(len(self.entries)):
                    pass
                    self.entries[i]._fetch_instances()


            class EntriesElement(KaitaiStruct):
                def __init__(self, _io, _parent=None, _root=None):
                    super(Pravega.UpdateTableEntries.TableEntriesValue.EntriesElement, self).__init__(_io)
                    self._parent = _parent
                    self._root = _root
                    self._read()

                def _read(self):
                    self.key = Pravega.UpdateTableEntries.TableEntriesValue.EntriesElement.KeyValue(self._io, self, self._root)
                    self.value = Pravega.UpdateTableEntries.TableEntriesValue.EntriesElement.ValueValue(self._io, self, self._root)


                def _fetch_instances(self):
                    pass
                    self.key._fetch_instances()
                    self.value._fetch_instances()

                class KeyValue(KaitaiStruct):
                    def __init__(self, _io, _parent=None, _root=None):
                        super(Pravega.UpdateTableEntries.TableEntriesValue.EntriesElement.KeyValue, self).__init__(_io)
                        self._parent = _parent
                        self._root = _root
                        self._read()

                    def _read(self):
                        self.payload_size = self._io.read_s4be()
                        _ = self.payload_size
                        if not _ <= self._io.size() - self._io.pos():
                            raise kaitaistruct.ValidationExprError(self.payload_size, self._io, u"/types/update_table_entries/types/table_entries_value/types/entries_element/types/key_value/seq/0")
                        self.data_length = self._io.read_s4be()
                        self.data = self._io.read_bytes(self.data_length)
                        if self.has_key_version:
                            pass
                            self.key_version = self._io.read_s8be()



                    def _fetch_instances(self):
                        pass
                        if self.has_key_version:
                            pass


                    @property
                    def has_key_version(self):
                        if hasattr(self, '_m_has_key_version'):
                            return self._m_has_key_version

                        self._m_has_key_version = self.data_length != 0
                        return getattr(self, '_m_has_key_version', None)


                class ValueValue(KaitaiStruct):
                    def __init__(self, _io, _parent=None, _root=None):
                        super(Pravega.UpdateTableEntries.TableEntriesValue.EntriesElement.ValueValue, self).__init__(_io)
                        self._parent = _parent
                        self._root = _root
                        self._read()

                    def _read(self):
                        self.payload_size = self._io.read_s4be()
                        _ = self.payload_size
                        if not _ <= self._io.size() - self._io.pos():
                            raise kaitaistruct.ValidationExprError(self.payload_size, self._io, u"/types/update_table_entries/types/table_entries_value/types/entries_element/types/value_value/seq/0")
                        self.data_length = self._io.read_s4be()
                        self.data = self._io.read_bytes(self.data_length)


                    def _fetch_instances(self):
                        pass




        @property
        def has_table_segment_offset(self):
            if hasattr(self, '_m_has_table_segment_offset'):
                return self._m_has_table_segment_offset

            self._m_has_table_segment_offset = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_table_segment_offset', None)


    class WrongHost(KaitaiStruct):
        """WireCommands.java WrongHost."""
        def __init__(self, _io, _parent=None, _root=None):
            super(Pravega.WrongHost, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.request_id = self._io.read_s8be()
            self.segment_length = self._io.read_u2be()
            self.segment = (self._io.read_bytes(self.segment_length)).decode(u"UTF-8")
            self.correct_host_length = self._io.read_u2be()
            self.correct_host = (self._io.read_bytes(self.correct_host_length)).decode(u"UTF-8")
            if self.has_server_stack_trace:
                pass
                self.server_stack_trace_length = self._io.read_u2be()

            if self.has_server_stack_trace:
                pass
                self.server_stack_trace = (self._io.read_bytes(self.server_stack_trace_length)).decode(u"UTF-8")

            self.left_over = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.has_server_stack_trace:
                pass

            if self.has_server_stack_trace:
                pass


        @property
        def has_server_stack_trace(self):
            if hasattr(self, '_m_has_server_stack_trace'):
                return self._m_has_server_stack_trace

            self._m_has_server_stack_trace = self._io.size() - self._io.pos() >= 1
            return getattr(self, '_m_has_server_stack_trace', None)



