-- The appends of the Pravega wire protocol for tshark: the peer that tests/bench/decode.py measures against.
-- A frame is type:int32, length:int32 (of the payload), payload; all big-endian.

local HEADER_BYTES = 8
local APPEND_BLOCK_END = 4
local DATA_APPENDED = 7

local names = {
    [-127] = "Hello",
    [1] = "SetupAppend",
    [2] = "AppendSetup",
    [APPEND_BLOCK_END] = "AppendBlockEnd",
    [DATA_APPENDED] = "DataAppended",
}

local pravega = Proto("pravega", "Pravega wire protocol")
local f_type = ProtoField.int32("pravega.type", "Type", base.DEC, names)
local f_length = ProtoField.uint32("pravega.length", "Length", base.DEC)
local f_writer = ProtoField.guid("pravega.writer", "Writer")
local f_event_number = ProtoField.int64("pravega.event_number", "Event number", base.DEC)
pravega.fields = { f_type, f_length, f_writer, f_event_number }

local function frame_length(tvb, _, offset)
    return HEADER_BYTES + tvb(offset + 4, 4):uint()
end

local function dissect_frame(tvb, _, tree)
    local subtree = tree:add(pravega, tvb())
    local message_type = tvb(0, 4):int()
    subtree:add(f_type, tvb(0, 4))
    subtree:add(f_length, tvb(4, 4))
    if message_type == APPEND_BLOCK_END then
        -- writer:uuid, size_of_whole_events:int32, data:int32 and bytes, num_events:int32, last_event_number:int64
        subtree:add(f_writer, tvb(8, 16))
        subtree:add(f_event_number, tvb(36 + tvb(28, 4):int(), 8))
    elseif message_type == DATA_APPENDED then
        -- writer:uuid, event_number:int64
        subtree:add(f_writer, tvb(8, 16))
        subtree:add(f_event_number, tvb(24, 8))
    end
    return tvb:len()
end

function pravega.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol = "Pravega"
    dissect_tcp_pdus(tvb, tree, HEADER_BYTES, frame_length, dissect_frame)
    return tvb:len()
end

DissectorTable.get("tcp.port"):add(12345, pravega)
