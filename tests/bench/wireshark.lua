-- Appends and acks of the Pravega wire protocol, by hand: all their fields, and the time from an append to its ack.
-- The peer of tests/bench/wireshark.py.

local HEADER_BYTES = 8
local names = { [4] = "AppendBlockEnd", [7] = "DataAppended" }

local pravega = Proto("pravega", "Pravega wire protocol")
local F = {
    type = ProtoField.int32("pravega.type", "Type", base.DEC, names),
    length = ProtoField.uint32("pravega.length", "Length", base.DEC),
    writer = ProtoField.guid("pravega.writer_id", "Writer"),
    whole = ProtoField.int32("pravega.size_of_whole_events", "Size of whole events", base.DEC),
    data = ProtoField.bytes("pravega.data", "Data"),
    events = ProtoField.int32("pravega.num_events", "Events", base.DEC),
    last_event = ProtoField.int64("pravega.last_event_number", "Last event number", base.DEC),
    event = ProtoField.int64("pravega.event_number", "Event number", base.DEC),
    previous = ProtoField.int64("pravega.previous_event_number", "Previous event number", base.DEC),
    request_id = ProtoField.int64("pravega.request_id", "Request id", base.DEC),
    offset = ProtoField.int64("pravega.current_segment_write_offset", "Write offset", base.DEC),
    append = ProtoField.framenum("pravega.response_to", "Append", base.NONE, frametype.REQUEST),
    time = ProtoField.relative_time("pravega.response_time", "Time"),
}
pravega.fields = F

local stream_field = Field.new("tcp.stream")
local appends, acks = {}, {}

function pravega.init()
    appends, acks = {}, {}
end

local function key_of(tvb, writer_at, number_at)
    return stream_field().value .. "/" .. tvb(writer_at, 16):raw() .. tvb(number_at, 8):raw()
end

local function show_ack(tree, found)
    tree:add(F.append, found.number):set_generated()
    local whole = math.floor(found.seconds)
    tree:add(F.time, NSTime.new(whole, math.floor((found.seconds - whole) * 1e9 + 0.5))):set_generated()
end

local function dissect_append(tvb, pinfo, tree)
    local bytes = tvb(28, 4):int()
    tree:add(F.writer, tvb(8, 16))
    tree:add(F.whole, tvb(24, 4))
    tree:add(F.data, tvb(32, bytes))
    tree:add(F.events, tvb(32 + bytes, 4))
    tree:add(F.last_event, tvb(36 + bytes, 8))
    tree:add(F.request_id, tvb(44 + bytes, 8))
    if not pinfo.visited then
        appends[key_of(tvb, 8, 36 + bytes)] = { number = pinfo.number, time = pinfo.rel_ts }
    end
end

local function dissect_ack(tvb, pinfo, tree)
    tree:add(F.writer, tvb(8, 16))
    tree:add(F.event, tvb(24, 8))
    tree:add(F.previous, tvb(32, 8))
    tree:add(F.request_id, tvb(40, 8))
    tree:add(F.offset, tvb(48, 8))
    local key = key_of(tvb, 8, 24)
    if not pinfo.visited and appends[key] then
        local append = appends[key]
        acks[pinfo.number .. key] = { number = append.number, seconds = pinfo.rel_ts - append.time }
    end
    local found = acks[pinfo.number .. key]
    if found then show_ack(tree, found) end
end

local function dissect_frame(tvb, pinfo, tree)
    local kind = tvb(0, 4):int()
    local subtree = tree:add(pravega, tvb())
    subtree:append_text(": " .. (names[kind] or "?"))
    subtree:add(F.type, tvb(0, 4))
    subtree:add(F.length, tvb(4, 4))
    if kind == 4 then
        dissect_append(tvb, pinfo, subtree)
    elseif kind == 7 then
        dissect_ack(tvb, pinfo, subtree)
    end
    return tvb:len()
end

function pravega.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol = "Pravega"
    dissect_tcp_pdus(tvb, tree, HEADER_BYTES, function(t, _, at) return HEADER_BYTES + t(at + 4, 4):uint() end, dissect_frame)
    return tvb:len()
end

DissectorTable.get("tcp.port"):add(12345, pravega)
