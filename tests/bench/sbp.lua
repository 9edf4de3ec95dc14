-- The frames of the Streaming Batch Protocol for tshark: the peer that tests/bench/columns measures against. It only
-- finds where each frame begins and ends, and shows its fixed header; what is in header and payload it leaves alone.
-- A frame is length:uint32 (of what follows), magic:uint8, opcode:uint16, flags:uint8, stream_id:uint32,
-- header_format:uint8, header_length:uint24, header, payload, checksum:uint32; all big-endian.

local LENGTH_BYTES = 4

local operations = {
    [0x0003] = "HEARTBEAT",
    [0x1001] = "APPEND",
    [0x1002] = "FETCH",
}

local sbp = Proto("sbp", "Streaming Batch Protocol")
local f_length = ProtoField.uint32("sbp.length", "Length", base.DEC)
local f_opcode = ProtoField.uint16("sbp.opcode", "Operation", base.HEX, operations)
local f_flags = ProtoField.uint8("sbp.flags", "Flags", base.HEX)
local f_stream_id = ProtoField.uint32("sbp.stream_id", "Stream id", base.DEC)
sbp.fields = { f_length, f_opcode, f_flags, f_stream_id }

local function frame_length(tvb, _, offset)
    return LENGTH_BYTES + tvb(offset, 4):uint()
end

local function dissect_frame(tvb, _, tree)
    local subtree = tree:add(sbp, tvb())
    subtree:add(f_length, tvb(0, 4))
    subtree:add(f_opcode, tvb(5, 2))
    subtree:add(f_flags, tvb(7, 1))
    subtree:add(f_stream_id, tvb(8, 4))
    return tvb:len()
end

function sbp.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol = "SBP"
    dissect_tcp_pdus(tvb, tree, LENGTH_BYTES, frame_length, dissect_frame)
    return tvb:len()
end

DissectorTable.get("tcp.port"):add(10911, sbp)
