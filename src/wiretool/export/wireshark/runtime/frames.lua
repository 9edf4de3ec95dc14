-- Frames one after another in the bytes of a connection, whatever their header.
--
-- The form of the frames of a protocol is a table of functions; places are those of a frame, and `stop` the end of its
-- bytes or of those that are there:
--   header_bytes        of the header, which has the size of the frame
--   first_bytes         a pattern for the first byte of a frame of a known message, and
--   beginning           one for its first bytes
--   size_at(b, at)      the size of the frame, header included; nil and the kind of problem where no frame begins
--   known_size_at(b, at)  the same for frames of known messages that may stand anywhere, nil for others
--   tells(b, at)        whether the message has more to tell it from other bytes than its length
--   is_listed(b, at)    whether its message is known, wherever it may stand
--   is_message(b, at, stop)  whether a whole frame reads to its end
--   add_frame(b, at, stop, pinfo, stream, tree)  shows a whole frame, and returns its name
--   add_header(b, at, stop, tree)  shows the header of a frame that is cut; returns its item and its name

-- After bytes without a frame, a header is believed to begin one that is not whole yet if it has so many bytes at most.
local OPEN_FRAME_BYTES = 65536
-- So many messages that follow one another are no chance.
local CHAIN_FRAMES = 4

-- Appends names to the column of a packet for which TCP may call a dissector several times.
local function add_info(pinfo, names)
  if #names == 0 then return end
  local text = table.concat(names, ", ")
  pinfo.cols.info = pinfo.private.wiretool and ", " .. text or text
  pinfo.cols.info:fence()
  pinfo.private.wiretool = "shown"
end

-- Finds frames of a form in bytes that begin anywhere.
local function frame_finder(form)
  local header_bytes = form.header_bytes

  -- Whether whole messages follow one another from a place on, up to the end of the bytes or for a while; the last one
  -- may be cut. One of them must tell more than its length, except `at_front`, where the first one only has to fit.
  local function are_believed(b, at, stop, at_front)
    local first, tells = at, false
    for _ = 1, CHAIN_FRAMES do
      if stop - at < header_bytes then break end
      local size = form.size_at(b, at)
      if not size or not form.is_listed(b, at) then return false end
      if at + size > stop then
        return at > first and form.known_size_at(b, at) ~= nil and (tells or form.tells(b, at))
      end
      if not form.is_message(b, at, at + size) then return false end
      tells = tells or size > header_bytes and form.tells(b, at)
      at = at + size
    end
    return tells or at_front
  end

  -- Where a header may begin that the next packet completes.
  local function tail_of(raw, at, stop)
    local first = raw:find(form.first_bytes, math.max(#raw - header_bytes + 2, 1))
    if first then return at + first - 1, DESEGMENT_ONE_MORE_SEGMENT end
    return stop
  end

  -- Returns where the next frame begins that can be believed, else the end of the bytes; and the bytes that are missing
  -- to tell. `is_asked`: the bytes end where a message does that may not be one.
  local function find_frame(b, at, stop, is_asked)
    local raw, from, open, missing = b:raw(at, stop - at), 1, nil, nil
    while true do
      local found = raw:find(form.beginning, from)
      if not found or found + header_bytes - 1 > #raw then break end
      local here = at + found - 1
      local size = form.known_size_at(b, here)
      if size then
        if here + size <= stop then
          if are_believed(b, here, stop, here == at and not is_asked) then return here end
        elseif not open and size <= OPEN_FRAME_BYTES then
          open, missing = here, here + size - stop + (form.tells(b, here) and 0 or header_bytes)
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
      if stop - at < header_bytes then return false end
      local size = form.known_size_at(b, at)
      if not size or at + size > stop or not form.is_message(b, at, at + size) then return false end
      at, has_fields = at + size, has_fields or size > header_bytes
    end
    return has_fields
  end

  return find_frame, are_frames
end

local tls = Dissector.get("tls")

-- Whether bytes begin with a record of TLS, as no frame does.
local function are_tls(b) return b:len() > 5 and b:raw(0, 3):find("^[\20-\23]\3[%z\1-\4]") ~= nil end

-- Leaves bytes to TLS, which calls dissectors again with decrypted ones. Each call takes one off `can_desegment`.
local function call_tls(b, pinfo, tree)
  if pinfo.can_desegment > 0 then pinfo.can_desegment = pinfo.can_desegment + 1 end
  return tls:call(b, pinfo, tree)
end

-- Dissects a protocol whose frames have a form. `column`: its name in the list of packets; `stream_of` and `forget_links`
-- are of `link_replies`.
local function dissect_frames(proto, F, experts, form, column, stream_of, forget_links)
  local forget_positions, begin, finish, is_unread = follow_positions()
  local find_frame, are_frames = frame_finder(form)
  local header_bytes, size_at, add_frame = form.header_bytes, form.size_at, form.add_frame
  local unframed_title = proto.description .. ": bytes without a frame"

  -- Connections that TLS has asked about, those with records of TLS by the packet of the first one, and whether TLS is
  -- called: it calls the dissector again.
  local over_tls, tls_since, is_in_tls = {}, {}, false

  function proto.init()
    over_tls, tls_since, is_in_tls = {}, {}, false
    forget_links()
    forget_positions()
  end

  local function add_unframed(b, at, stop, why, tree)
    local item = tree:add(proto, b(at, stop - at), unframed_title)
    item:add(F.unframed, b(at, stop - at)):add_proto_expert_info(experts.problem, why)
  end

  -- Shows the beginning of a frame whose other bytes do not come to the dissector, and returns its name.
  local function add_cut(b, at, stop, size, tree)
    local item, name = form.add_header(b, at, stop, tree)
    local why = string.format("incomplete: %d of %d bytes, as packets are not whole or not reassembled", stop - at, size)
    item:add_proto_expert_info(experts.problem, why)
    return name
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
      if stop - at < header_bytes then return at, true, nil, DESEGMENT_ONE_MORE_SEGMENT end
      local size, wrong = size_at(b, at)
      if not size then
        is_in_step, why = false, wrong
      elseif size > stop - at then
        return at, true, size, size - (stop - at)
      else
        shown[#shown + 1] = add_frame(b, at, at + size, pinfo, stream, tree)
        at = at + size
      end
    end
    return at, is_in_step
  end

  -- Asks for the bytes of a frame that is cut, where nothing else is known: the first pass of `tshark -2` without a
  -- filter has no fields.
  local function ask_for_rest(b, pinfo)
    local at, stop = 0, b:len()
    while at < stop and pinfo.can_desegment > 0 do
      local size = stop - at >= header_bytes and size_at(b, at)
      if size == nil then return end
      if not size or at + size > stop then
        pinfo.desegment_offset = at
        pinfo.desegment_len = size and at + size - stop or DESEGMENT_ONE_MORE_SEGMENT
        return
      end
      at = at + size
    end
  end

  -- Whether bytes are those of TLS. Any may look so in the middle of a message: a connection begins with TLS or is none.
  local function is_for_tls(b, pinfo)
    if is_in_tls or not are_tls(b) then return false end
    if not tcp_stream() then return true end
    local stream = tcp_stream().value
    if not tls_since[stream] and is_unread(pinfo) then tls_since[stream] = pinfo.number end
    return tls_since[stream] ~= nil and tls_since[stream] <= pinfo.number
  end

  function proto.dissector(b, pinfo, tree)
    if is_for_tls(b, pinfo) then
      is_in_tls = true
      local is_done, done = pcall(call_tls, b, pinfo, tree)
      is_in_tls = false
      if not is_done then error(done, 0) end -- of a truncated packet: Wireshark shows it
      return done
    end
    if not tcp_stream() then return ask_for_rest(b, pinfo) end
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

  -- The conversation is that of TLS, which asks for each packet.
  proto:register_heuristic("tls", function(b, pinfo, tree)
    if not tcp_stream() then -- the first pass of `tshark -2` without a filter
      if not are_frames(b) then return false end
      ask_for_rest(b, pinfo)
      return true
    end
    local stream = tcp_stream().value
    if not over_tls[stream] and not are_frames(b) then return false end
    over_tls[stream] = true
    proto.dissector(b, pinfo, tree)
    return true
  end)
end
