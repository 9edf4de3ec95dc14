-- wiretool: a dissector for the wire protocols of streaming storage.
-- Generated from the declarations of wiretool by `wiretool export wireshark`; changes are lost with the next export.

local set_plugin_info = set_plugin_info or function() end
set_plugin_info({ version = "@VERSION@", author = "wiretool" })

local HEADER_BYTES = 8
local tcp_stream = Field.new("tcp.stream")

-- values ---------------------------------------------------------------------------------------------------------------

-- Java's modified UTF-8 as UTF-8: NUL has two bytes, other planes have surrogates.
local function java_text(raw)
  if not raw:find("[%z\xC0\xED]") then return raw end
  raw = raw:gsub("\xC0\x80", "\0"):gsub("%z", "\xE2\x90\x80") -- Wireshark's text ends at a NUL
  return (raw:gsub("\xED([\xA0-\xAF])([\x80-\xBF])\xED([\xB0-\xBF])([\x80-\xBF])", function(a, b, c, d)
    local high = (a:byte() - 0xA0) * 64 + b:byte() - 0x80
    local low = (c:byte() - 0xB0) * 64 + d:byte() - 0x80
    local code = 0x10000 + high * 1024 + low
    return string.char(
      0xF0 + math.floor(code / 262144),
      0x80 + math.floor(code / 4096) % 64,
      0x80 + math.floor(code / 64) % 64,
      0x80 + code % 64
    )
  end))
end

-- Readers that all messages of a protocol share; `problem` is its expert field.
-- They return where a value ends, or nil and where it begins.
local function readers(problem)
  local function bad(t, b, at, stop, kind, path)
    t:add_proto_expert_info(problem, kind .. ": " .. path)
    return nil, at
  end

  local function short(t, b, at, stop, path)
    return bad(t, b, at, stop, "truncated-field", path)
  end

  local function count_at(t, b, at, stop, width, sign, negative_is_empty, kind, path)
    if stop - at < width then return short(t, b, at, stop, path) end
    local count = sign == "int" and b(at, width):int() or b(at, width):uint()
    if count < 0 and not negative_is_empty then return bad(t, b, at, stop, kind, path) end
    if stop - at - width < count then return bad(t, b, at, stop, kind, path) end
    return count
  end

  local function counted_text(t, b, at, stop, field, width, sign, negative_is_empty, path)
    local count = count_at(t, b, at, stop, width, sign, negative_is_empty, "truncated-field", path)
    if not count then return nil end
    local text = count > 0 and java_text(b(at + width, count):raw()) or ""
    t:add(field, b(at, width + count), text)
    return at + width + count
  end

  local function counted_bytes(t, b, at, stop, field, width, sign, negative_is_empty, path)
    local count = count_at(t, b, at, stop, width, sign, negative_is_empty, "bad-nested-length", path)
    if not count then return nil end
    if count < 0 then
      t:add(b(at, width), path .. ": empty")
      return at + width
    end
    t:add(field, b(at, width)) -- the type of the field reads the count
    return at + width + count
  end

  local function measured(t, b, at, stop, field, length, path)
    if length < 0 then return bad(t, b, at, stop, "bad-nested-length", path) end
    if stop - at < length then return bad(t, b, at, stop, "bad-nested-length", path) end
    if length > 0 then t:add(field, b(at, length)) end
    return at + length
  end

  return short, bad, counted_text, counted_bytes, measured
end

-- A tree that shows nothing: messages are read with it to see whether they fit.
local nothing = {}
function nothing.add() return nothing end
function nothing.set_len() end
function nothing.add_proto_expert_info() end

-- requests and replies -------------------------------------------------------------------------------------------------

-- Links replies to requests by the values that both have, and adds the links and the time between them.
-- `F`: fields `response_to`, `response_in` and `response_time`.
local function linker(proto, F, messages)
  local streams, links, order = {}, {}, 0
  proto.prefs.links = Pref.bool("Link replies to requests", true, "Show the request of a reply, and the time between them")

  function proto.init()
    streams, links, order = {}, {}, 0
  end

  local function key_of(fields, last, values)
    if last == 0 then return "" end
    if last == 1 then return values[fields[1]] end
    if last == 2 then return values[fields[1]] .. values[fields[2]] end
    return values[fields[1]] .. values[fields[2]] .. values[fields[3]]
  end

  local function client_of(stream, message, pinfo)
    if stream.client then return stream.client end
    local from, to = pinfo.src_port, pinfo.dst_port
    if message.sender == "client" then
      stream.client = from
    elseif message.sender == "server" then
      stream.client = to
    elseif pinfo.match_uint == to then
      stream.client = from
    elseif pinfo.match_uint == from then
      stream.client = to
    elseif message.is_first then
      stream.client = from
    end
    return stream.client
  end

  local function is_open(link)
    return not link.reply and not (link.settled and link.order <= link.settled.order)
  end

  local function ask(message, values, stream, link)
    for _, rule in ipairs(message.asks) do
      local waiting = stream[rule.index]
      if not waiting then
        waiting = {}
        stream[rule.index] = waiting
      end
      local key = key_of(rule, #rule, values)
      local held = waiting[key]
      if held == nil then
        waiting[key] = link
      elseif held.last then
        held.last = held.last + 1
        held[held.last] = link
      else
        waiting[key] = { first = 1, last = 2, held, link }
      end
      if rule.settles then
        local group = key_of(rule, #rule - 1, values)
        link.settled = stream.settled[group]
        if not link.settled then
          link.settled = { order = 0 }
          stream.settled[group] = link.settled
        end
      end
    end
  end

  -- The oldest open request that waits with this key.
  local function oldest(waiting, key)
    local held = waiting and waiting[key]
    if not held then return nil end
    if not held.last then
      if is_open(held) then return held end
    else
      while held.first <= held.last do
        local link = held[held.first]
        if is_open(link) then return link end
        held[held.first] = nil
        held.first = held.first + 1
      end
    end
    waiting[key] = nil
    return nil
  end

  local function answer(message, values, stream, link)
    for _, rule in ipairs(message.answers) do
      local key = key_of(rule, #rule, values)
      for _, index in ipairs(rule.indexes) do
        local found = oldest(stream[index], key)
        if found then
          found.reply, link.request = link, found
          if rule.settles and found.settled then found.settled.order = found.order end
          return
        end
      end
    end
  end

  -- Notes a message when its packet is read for the first time; `place` tells it from others of the same packet.
  local function note(message, values, stream, pinfo, place)
    local client = client_of(stream, message, pinfo)
    if not client then return nil end
    order = order + 1
    local link = { number = pinfo.number, time = pinfo.rel_ts, order = order }
    local is_client = client == pinfo.src_port
    if message.answers and not is_client then answer(message, values, stream, link) end
    if message.asks and is_client then ask(message, values, stream, link) end
    local here = links[pinfo.number]
    if not here then
      here = {}
      links[pinfo.number] = here
    end
    here[place] = link
    return link
  end

  local function show(link, item)
    if link.request then
      item:add(F.response_to, link.request.number):set_generated()
      local elapsed_ns = math.floor(math.max(link.time - link.request.time, 0) * 1e9 + 0.5)
      item:add(F.response_time, NSTime.new(math.floor(elapsed_ns / 1e9), elapsed_ns % 1e9)):set_generated()
    elseif link.reply then
      item:add(F.response_in, link.reply.number):set_generated()
    end
  end

  -- Returns the state of the connection of a packet; false where its messages are linked already, nil without links.
  local function stream_of(pinfo)
    if not proto.prefs.links then return nil end
    if pinfo.visited then return false end
    local number = tcp_stream().value
    local stream = streams[number]
    if not stream then
      stream = { settled = {} }
      streams[number] = stream
    end
    return stream
  end

  local function link_message(message, values, stream, pinfo, place, item)
    if stream == nil or not message.asks and not message.answers then return end
    local link
    if stream then
      link = note(message, values, stream, pinfo, place)
    else
      link = links[pinfo.number] and links[pinfo.number][place]
    end
    if link then show(link, item) end
  end

  return stream_of, link_message
end

-- frames ---------------------------------------------------------------------------------------------------------------

-- A protocol whose frames have a type and a length in a header of eight bytes.
-- `length_max`: of the bytes after the header; `column`: its name in the list of packets.
local function typed_frames(proto, F, experts, messages, length_max, column)
  local stream_of, link_message = linker(proto, F, messages)
  local header = Struct.unpack
  local f_type, f_length = F.type, F.length
  local values = {} -- of the fields that link, of the message that is read; each reader sets those of its message

  -- The type and length of the frame at a place.
  local function header_at(b, at)
    local kind, length = header(">i4I4", b:raw(at, HEADER_BYTES))
    return kind, length
  end

  local function is_header(b, at)
    local kind, length = header_at(b, at)
    return messages[kind] ~= nil and length <= length_max
  end

  local function add_message(message, b, at, stop, pinfo, stream, item)
    local done, broken_at = message.read(item, b, at, stop, values)
    if done then link_message(message, values, stream, pinfo, b:len() * 0x4000000 + at, item) end
    if message.is_failure then item:add_proto_expert_info(experts.failure, message.name) end
    return done or broken_at
  end

  local function add_frame(kind, b, at, size, pinfo, stream, tree)
    local message = messages[kind]
    local item = tree:add(proto, b(at, size), message and message.title or "Unknown")
    item:add(f_type, b(at, 4))
    item:add(f_length, b(at + 4, 4))
    local done = at + HEADER_BYTES
    if message then
      done = add_message(message, b, done, at + size, pinfo, stream, item)
    else
      item:add_proto_expert_info(experts.problem, "unknown-type: no message has type " .. kind)
    end
    if done < at + size then item:add(F.left_over, b(done, at + size - done)) end
    return message and message.name or "Unknown"
  end

  -- Shows the bytes up to the next header that fits, and returns where that is.
  local function add_unframed(b, at, stop, why, tree)
    local next = at + 1
    while next + HEADER_BYTES <= stop and not is_header(b, next) do next = next + 1 end
    if next + HEADER_BYTES > stop then next = stop end
    local item = tree:add(F.unframed, b(at, next - at))
    item:add_proto_expert_info(experts.problem, why)
    return next
  end

  function proto.dissector(b, pinfo, tree)
    pinfo.cols.protocol = column
    local at, stop, shown, in_step = 0, b:len(), {}, true
    local stream = stream_of(pinfo)
    while at < stop do
      local left = stop - at
      if left < HEADER_BYTES then
        pinfo.desegment_offset, pinfo.desegment_len = at, DESEGMENT_ONE_MORE_SEGMENT
        break
      end
      local kind, length = header_at(b, at)
      if length <= length_max and (in_step or messages[kind]) then
        local size = HEADER_BYTES + length
        if left < size then
          pinfo.desegment_offset, pinfo.desegment_len = at, size - left
          break
        end
        shown[#shown + 1] = add_frame(kind, b, at, size, pinfo, stream, tree)
        at, in_step = at + size, true
      else
        local why = in_step and "frame-too-large: length" or "bytes without a frame"
        at, in_step = add_unframed(b, at, stop, why, tree), false
      end
    end
    if #shown > 0 then pinfo.cols.info = table.concat(shown, ", ") end
  end

  -- Whether a segment is nothing but whole messages of this protocol, each without bytes that are left over, and one
  -- of them with fields: eight zeros are an empty message as well.
  local function fits(b)
    local at, stop, has_fields = 0, b:len(), false
    while at < stop do
      if stop - at < HEADER_BYTES or not is_header(b, at) then return false end
      local kind, length = header_at(b, at)
      local size = HEADER_BYTES + length
      if stop - at < size then return false end
      if messages[kind].read(nothing, b, at + HEADER_BYTES, at + size, values) ~= at + size then return false end
      at, has_fields = at + size, has_fields or length > 0
    end
    return has_fields
  end

  proto:register_heuristic("tcp", function(b, pinfo, tree)
    if not fits(b) then return false end
    pinfo.conversation = proto
    proto.dissector(b, pinfo, tree)
    return true
  end)
end

-- Preferences for the ports of a protocol, and its registration on them.
local function on_ports(proto, ports)
  local tcp = DissectorTable.get("tcp.port")
  local current = ports
  proto.prefs.ports = Pref.range("TCP ports", ports, "TCP ports of servers", 65535)
  tcp:add_for_decode_as(proto)
  if current ~= "" then tcp:add(current, proto) end
  function proto.prefs_changed()
    local chosen = tostring(proto.prefs.ports)
    if chosen ~= current then
      if current ~= "" then tcp:remove(current, proto) end
      if chosen ~= "" then tcp:add(chosen, proto) end
      current = chosen
    end
  end
end

-- statistics -----------------------------------------------------------------------------------------------------------

-- A window under Statistics: how many messages of each type, their bytes, and the times of their replies.
local function statistics(name, prefix, messages)
  if not gui_enabled() then return end
  local types, lengths = Field.new(prefix .. ".type"), Field.new(prefix .. ".length")

  register_menu("wiretool: messages of " .. name, function()
    local window = TextWindow.new("Messages of " .. name)
    local tap = Listener.new("tcp", prefix)
    local counts = {}
    window:set_atclose(function() tap:remove() end)

    function tap.packet()
      local sizes = { lengths() }
      for n, kind in ipairs({ types() }) do
        local found = counts[kind.value] or { messages = 0, bytes = 0 }
        counts[kind.value] = found
        found.messages, found.bytes = found.messages + 1, found.bytes + HEADER_BYTES + sizes[n].value
      end
    end

    function tap.reset() counts = {} end

    function tap.draw()
      local order = {}
      for kind in pairs(counts) do order[#order + 1] = kind end
      table.sort(order, function(a, b) return counts[a].messages > counts[b].messages end)
      local lines = { string.format("%-32s %10s %14s", "message", "messages", "bytes") }
      for _, kind in ipairs(order) do
        local message = messages[kind] and messages[kind].name or "Unknown (" .. kind .. ")"
        lines[#lines + 1] = string.format("%-32s %10d %14d", message, counts[kind].messages, counts[kind].bytes)
      end
      window:set(table.concat(lines, "\n") .. "\n")
    end

    retap_packets()
  end, MENU_STAT_UNSORTED)
end
