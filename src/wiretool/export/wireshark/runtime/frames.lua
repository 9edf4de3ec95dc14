-- Frames of eight bytes of header and a message.

local HEADER_BYTES = 8
-- After bytes without a frame, a header is believed to begin one that is not whole yet if it has so many bytes at most.
local OPEN_FRAME_BYTES = 65536
-- So many messages that follow one another are no chance.
local CHAIN_FRAMES = 4
local read_header = Struct.unpack

-- Appends names to the column of a packet for which TCP may call a dissector several times.
local function add_info(pinfo, names)
  if #names == 0 then return end
  local text = table.concat(names, ", ")
  pinfo.cols.info = pinfo.private.wiretool and ", " .. text or text
  pinfo.cols.info:fence()
  pinfo.private.wiretool = "shown"
end

-- Finds frames of a protocol in bytes that begin anywhere. `messages` are by type; `length_max`: of the bytes after the
-- header.
local function frame_finder(messages, length_max)
  local values = {}

  -- Whether a type is that of a message outside of blocks: the others may be any bytes.
  local function is_known(kind, length)
    return messages[kind] ~= nil and messages[kind].sender ~= "block" and length <= length_max
  end

  -- Whether bytes are a whole message without bytes that are left over.
  local function is_message(kind, b, at, stop)
    return messages[kind].read(nothing, b, at + HEADER_BYTES, stop, values) == stop
  end

  -- Whether whole messages follow one another from a place on, up to the end of the bytes or for a while; the last one
  -- may be cut. One of them must tell more than its length, except `at_front`, where the first one only has to fit.
  local function are_believed(b, at, stop, at_front)
    local first, tells = at, false
    for _ = 1, CHAIN_FRAMES do
      if stop - at < HEADER_BYTES then break end
      local kind, length = read_header(">i4I4", b:raw(at, HEADER_BYTES))
      local frame_stop = at + HEADER_BYTES + length
      if not messages[kind] or length > length_max then return false end
      if frame_stop > stop then return at > first and is_known(kind, length) and (tells or messages[kind].tells) end
      if not is_message(kind, b, at, frame_stop) then return false end
      tells = tells or messages[kind].tells and length > 0
      at = frame_stop
    end
    return tells or at_front
  end

  -- Where a header may begin that the next packet completes.
  local function tail_of(raw, at, stop)
    local first = raw:find("[\0\255]", math.max(#raw - HEADER_BYTES + 2, 1))
    if first then return at + first - 1, DESEGMENT_ONE_MORE_SEGMENT end
    return stop
  end

  -- Returns where the next frame begins that can be believed, else the end of the bytes; and the bytes that are missing
  -- to tell. `is_asked`: the bytes end where a message does that may not be one.
  local function find_frame(b, at, stop, is_asked)
    local raw, from, open, missing = b:raw(at, stop - at), 1, nil, nil
    while true do
      local found = raw:find("[\0\255][\0\255]", from)
      if not found or found + HEADER_BYTES - 1 > #raw then break end
      local kind, length = read_header(">i4I4", raw, found)
      if is_known(kind, length) then
        local here = at + found - 1
        local frame_stop = here + HEADER_BYTES + length
        if frame_stop <= stop then
          if are_believed(b, here, stop, here == at and not is_asked) then return here end
        elseif not open and length <= OPEN_FRAME_BYTES then
          open, missing = here, frame_stop - stop + (messages[kind].tells and 0 or HEADER_BYTES)
        end
      end
      from = found + 1
    end
    if open then return open, missing end
    return tail_of(raw, at, stop)
  end

  -- Whether bytes are nothing but whole messages, one of them with fields: eight zeros are an empty message as well.
  local function are_frames(b)
    local at, stop, has_fields = 0, b:len(), false
    while at < stop do
      if stop - at < HEADER_BYTES then return false end
      local kind, length = read_header(">i4I4", b:raw(at, HEADER_BYTES))
      local frame_stop = at + HEADER_BYTES + length
      if not is_known(kind, length) or frame_stop > stop or not is_message(kind, b, at, frame_stop) then return false end
      at, has_fields = frame_stop, has_fields or length > 0
    end
    return has_fields
  end

  return find_frame, are_frames
end

-- Dissects a protocol whose frames have a type and a length in a header of eight bytes.
-- `length_max`: of the bytes after the header; `column`: its name in the list of packets.
local function dissect_frames(proto, F, experts, messages, length_max, column)
  local forget_links, stream_of, link_message = link_replies(proto, F)
  local forget_positions, begin, finish = follow_positions()
  local find_frame, are_frames = frame_finder(messages, length_max)
  local f_type, f_length = F.type, F.length
  local unframed_title = proto.description .. ": bytes without a frame"
  local values = {} -- of the fields that link, of the message that is read; each reader sets those of its message

  function proto.init()
    forget_links()
    forget_positions()
  end

  local function add_header(message, b, at, count, tree)
    local item = tree:add(proto, b(at, count), message and message.title or "Unknown")
    item:add(f_type, b(at, 4))
    item:add(f_length, b(at + 4, 4))
    return item
  end

  local function add_message(message, b, at, stop, pinfo, stream, item)
    local done, broken_at = message.read(item, b, at, stop, values)
    if done then link_message(message, values, stream, pinfo, b:len() * 0x4000000 + at, item) end
    if message.is_failure then item:add_proto_expert_info(experts.failure, message.name) end
    return done or broken_at
  end

  local function add_frame(kind, b, at, size, pinfo, stream, tree)
    local message = messages[kind]
    local item = add_header(message, b, at, size, tree)
    local done = at + HEADER_BYTES
    if message then
      done = add_message(message, b, done, at + size, pinfo, stream, item)
    else
      item:add_proto_expert_info(experts.problem, "unknown-type: no message has type " .. kind)
    end
    if done < at + size then item:add(F.left_over, b(done, at + size - done)) end
    return message and message.name or "Unknown"
  end

  local function add_unframed(b, at, stop, why, tree)
    local item = tree:add(proto, b(at, stop - at), unframed_title)
    item:add(F.unframed, b(at, stop - at)):add_proto_expert_info(experts.problem, why)
  end

  -- Shows the beginning of a frame whose other bytes do not come to the dissector.
  local function add_cut(b, at, stop, size, tree)
    local message = messages[read_header(">i4", b:raw(at, 4))]
    local item = add_header(message, b, at, stop - at, tree)
    local why = string.format("incomplete: %d of %d bytes, as packets are not whole or not reassembled", stop - at, size)
    item:add_proto_expert_info(experts.problem, why)
    return message and message.name or "Unknown"
  end

  -- Shows the frames from `at` on. Returns where it ends, whether a frame begins there, the size of a frame that is cut
  -- there, and the bytes that are missing.
  local function add_frames(b, at, stop, position, pinfo, stream, tree, shown)
    local why, is_in_step = "unsynchronised: bytes without a frame", position.is_in_step
    while at < stop do
      if not is_in_step then
        local next, missing = find_frame(b, at, stop, position.is_asked)
        if next > at then add_unframed(b, at, next, why, tree) end
        if missing or next == stop then return next, false, nil, missing end
        at, is_in_step = next, true
      end
      if stop - at < HEADER_BYTES then return at, true, nil, DESEGMENT_ONE_MORE_SEGMENT end
      local kind, length = read_header(">i4I4", b:raw(at, HEADER_BYTES))
      local size = HEADER_BYTES + length
      if length > length_max then
        is_in_step, why = false, "frame-too-large: length"
      elseif size > stop - at then
        return at, true, size, size - (stop - at)
      else
        shown[#shown + 1] = add_frame(kind, b, at, size, pinfo, stream, tree)
        at = at + size
      end
    end
    return at, is_in_step
  end

  function proto.dissector(b, pinfo, tree)
    pinfo.cols.protocol = column
    local stream, stop, shown = stream_of(pinfo), b:len(), {}
    local direction, position = begin(b, pinfo)
    if position.rest > 0 then add_unframed(b, 0, position.rest, "incomplete: rest of a frame of earlier packets", tree) end
    local at, is_in_step, size, missing = add_frames(b, position.rest, stop, position, pinfo, stream, tree, shown)
    local is_asked = missing and pinfo.can_desegment > 0
    if is_asked then
      pinfo.desegment_offset, pinfo.desegment_len = at, missing
    elseif size then
      shown[#shown + 1] = add_cut(b, at, stop, size, tree)
    elseif missing then
      add_unframed(b, at, stop, "incomplete: header", tree)
      is_in_step = false
    end
    finish(direction, position, at, is_in_step, size, is_asked)
    add_info(pinfo, shown)
  end

  proto:register_heuristic("tcp", function(b, pinfo, tree)
    if not are_frames(b) then return false end
    pinfo.conversation = proto
    proto.dissector(b, pinfo, tree)
    return true
  end)
end
