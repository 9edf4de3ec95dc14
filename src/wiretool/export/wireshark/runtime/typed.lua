-- Frames with a type and a length in a header of eight bytes, and a message.

local HEADER_BYTES = 8
local read_header = Struct.unpack

-- Dissects a protocol of such frames. `messages` are by type; `length_max`: of the bytes after the header; `column`: its
-- name in the list of packets.
local function dissect_typed_frames(proto, F, experts, messages, length_max, column)
  local forget_links, stream_of, link_message = link_replies(proto, F)
  local f_type, f_length = F.type, F.length
  local values = {} -- of the fields that link, of the message that is read; each reader sets those of its message
  local form = { header_bytes = HEADER_BYTES, first_bytes = "[\0\255]", beginning = "[\0\255][\0\255]" }

  function form.size_at(b, at)
    local _, length = read_header(">i4I4", b:raw(at, HEADER_BYTES))
    if length > length_max then return nil, "frame-too-large: length" end
    return HEADER_BYTES + length
  end

  local function message_at(b, at) return messages[read_header(">i4", b:raw(at, 4))] end

  function form.is_listed(b, at) return message_at(b, at) ~= nil end

  -- The messages of blocks are left to those: they may be any bytes.
  function form.known_size_at(b, at)
    local message = message_at(b, at)
    if message and message.sender ~= "block" then return (form.size_at(b, at)) end
    return nil
  end

  function form.tells(b, at) return message_at(b, at).tells end

  function form.is_message(b, at, stop)
    return message_at(b, at).read(nothing, b, at + HEADER_BYTES, stop, values) == stop
  end

  function form.add_header(b, at, stop, tree)
    local message = message_at(b, at)
    local item = tree:add(proto, b(at, stop - at), message and message.title or "Unknown")
    item:add(f_type, b(at, 4))
    item:add(f_length, b(at + 4, 4))
    return item, message and message.name or "Unknown", message
  end

  local function add_message(message, b, at, stop, pinfo, stream, item)
    local done, broken_at = message.read(item, b, at, stop, values)
    if done then link_message(message, values, stream, pinfo, place_of(b, at), item) end
    if message.is_failure then item:add_proto_expert_info(experts.failure, message.name) end
    return done or broken_at
  end

  function form.add_frame(b, at, stop, pinfo, stream, tree)
    local item, name, message = form.add_header(b, at, stop, tree)
    local done = at + HEADER_BYTES
    if message then
      done = add_message(message, b, done, stop, pinfo, stream, item)
    else
      local kind = read_header(">i4", b:raw(at, 4))
      item:add_proto_expert_info(experts.problem, "unknown-type: no message has type " .. kind)
    end
    if done < stop then item:add(F.left_over, b(done, stop - done)) end
    report_unshown(item, experts.unshown)
    return name
  end

  dissect_frames(proto, F, experts, form, column, stream_of, forget_links)
end
