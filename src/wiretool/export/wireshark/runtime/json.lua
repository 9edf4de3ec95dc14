-- JSON objects in messages of WebSocket, which Wireshark takes out of their frames, and inflates.

local JSON_NESTING_MAX = 200
local is_masked, reserved_bits = Field.new("websocket.mask"), Field.new("websocket.rsv")

-- Reads JSON text strictly, and keeps where values are. A value is a table with `kind` ("text", "number", "true", "false",
-- "null", "object" or "array"), the places `at` and `stop` in the text, from 1 on, and by its kind `text`, `members` or
-- `elements`. Text that is not JSON ends the reading with an error of Lua, which `parse` catches.
local parse_json
do
  local read_value
  local has_overflow, repeats

  local function fail(kind) error({ kind = kind }, 0) end

  local function skip(s, at) return s:match("^[ \t\r\n]*()", at) end

  local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

  local function utf8_of(code)
    if code < 0x80 then return string.char(code) end
    if code < 0x800 then return string.char(0xC0 + math.floor(code / 64), 0x80 + code % 64) end
    if code < 0x10000 then
      return string.char(0xE0 + math.floor(code / 4096), 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
    end
    local high = 0xF0 + math.floor(code / 262144)
    return string.char(high, 0x80 + math.floor(code / 4096) % 64, 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
  end

  -- Reads an escape that begins with `\u`; half of a surrogate pair becomes U+FFFD.
  local function read_unicode(s, at)
    local code = s:match("^%x%x%x%x", at)
    if not code then fail("malformed_json") end
    code, at = tonumber(code, 16), at + 4
    if code < 0xD800 or code > 0xDFFF then return utf8_of(code), at end
    local low = code < 0xDC00 and s:match("^\\u(%x%x%x%x)", at)
    low = low and tonumber(low, 16)
    if not low or low < 0xDC00 or low > 0xDFFF then return "\xEF\xBF\xBD", at end
    return utf8_of(0x10000 + (code - 0xD800) * 1024 + low - 0xDC00), at + 6
  end

  -- Returns the text of a string that begins after a quote, and the place after it.
  local function read_string(s, at)
    local parts = {}
    while true do
      local stop = s:find('["\\%c]', at)
      while stop and s:byte(stop) == 127 do stop = s:find('["\\%c]', stop + 1) end
      if not stop then fail("malformed_json") end
      parts[#parts + 1] = s:sub(at, stop - 1)
      local found = s:sub(stop, stop)
      if found == '"' then return table.concat(parts), stop + 1 end
      if found ~= "\\" then fail("malformed_json") end
      local escape = s:sub(stop + 1, stop + 1)
      if escape == "u" then
        parts[#parts + 1], at = read_unicode(s, stop + 2)
      elseif escapes[escape] then
        parts[#parts + 1], at = escapes[escape], stop + 2
      else
        fail("malformed_json")
      end
    end
  end

  local function read_number(s, at)
    local stop = s:match("^%-?0()", at) or s:match("^%-?[1-9]%d*()", at)
    if not stop then fail("malformed_json") end
    local whole_stop = stop
    stop = s:match("^%.%d+()", stop) or stop
    stop = s:match("^[eE][+-]?%d+()", stop) or stop
    local is_whole = stop == whole_stop
    if not is_whole and math.abs(tonumber(s:sub(at, stop - 1))) == math.huge then has_overflow = true end
    return { kind = "number", at = at, stop = stop, is_whole = is_whole }
  end

  local function read_member(s, at, depth)
    if s:sub(at, at) ~= '"' then fail("malformed_json") end
    local name, stop = read_string(s, at + 1)
    stop = skip(s, stop)
    if s:sub(stop, stop) ~= ":" then fail("malformed_json") end
    local value = read_value(s, skip(s, stop + 1), depth)
    return { name = name, at = at, stop = value.stop, value = value }
  end

  -- Reads the parts of an object or array up to the closing bracket.
  local function read_parts(s, at, depth, close, read_part)
    local parts = {}
    local first = skip(s, at + 1)
    if s:sub(first, first) == close then return parts, first + 1 end
    while true do
      parts[#parts + 1] = read_part(s, first, depth)
      first = skip(s, parts[#parts].stop)
      local mark = s:sub(first, first)
      if mark == close then return parts, first + 1 end
      if mark ~= "," then fail("malformed_json") end
      first = skip(s, first + 1)
    end
  end

  local function note_repeats(members)
    local seen = {}
    for _, member in ipairs(members) do
      if seen[member.name] then repeats = true end
      seen[member.name] = true
    end
  end

  function read_value(s, at, depth)
    local mark = s:sub(at, at)
    if mark == '"' then
      local text, stop = read_string(s, at + 1)
      return { kind = "text", at = at, stop = stop, text = text }
    elseif mark == "{" or mark == "[" then
      if depth >= JSON_NESTING_MAX then fail("nesting_too_deep") end
      if mark == "{" then
        local members, stop = read_parts(s, at, depth + 1, "}", read_member)
        note_repeats(members)
        return { kind = "object", at = at, stop = stop, members = members }
      end
      local elements, stop = read_parts(s, at, depth + 1, "]", read_value)
      return { kind = "array", at = at, stop = stop, elements = elements }
    end
    for _, word in ipairs({ "true", "false", "null" }) do
      if s:sub(at, at + #word - 1) == word then return { kind = word, at = at, stop = at + #word } end
    end
    return read_number(s, at)
  end

  -- Returns the first value of a text, nil where it is not JSON; the kind of problem; and whether a number is too large.
  function parse_json(s)
    has_overflow, repeats = false, false
    local done, value = pcall(function() return read_value(s, skip(s, 1), 0) end)
    if not done and type(value) ~= "table" then error(value, 0) end
    if not done then return nil, value.kind end
    if repeats then return value, "duplicate_key" end
    return value, skip(s, value.stop) <= #s and "trailing_data" or nil, has_overflow
  end
end

-- Whether a decimal number fits so many bits.
local function fits_bits(text, bits)
  local digits = text:match("^%-?(%d+)$")
  local most = bits == 32 and "2147483647" or "9223372036854775807"
  if text:sub(1, 1) == "-" then most = most:sub(1, -2) .. "8" end
  return #digits < #most or #digits == #most and digits <= most
end

-- Checks and shows values of JSON; a declared type has a `kind`, a `field`, and `bits` or an `element` by its kind.
local checks, shows = {}, {}

function checks.int(s, value, wire)
  if value.kind ~= "number" or not value.is_whole then return "bad_field_type" end
  return not fits_bits(s:sub(value.at, value.stop - 1), wire.bits) and "out_of_range" or nil
end

function checks.text(_, value) return value.kind ~= "text" and "bad_field_type" or nil end

function checks.bool(_, value) return value.kind ~= "true" and value.kind ~= "false" and "bad_field_type" or nil end

function checks.any() return nil end

function checks.list(s, value, wire)
  if value.kind ~= "array" then return "bad_field_type" end
  for _, element in ipairs(value.elements) do
    local wrong = checks[wire.element.kind](s, element, wire.element)
    if wrong then return wrong end
  end
end

function checks.map(s, value, wire)
  if value.kind ~= "object" then return "bad_field_type" end
  for _, member in ipairs(value.members) do
    local is_key = member.name == "0" or member.name:find("^[1-9]%d*$") and #member.name <= 10
    if not is_key or tonumber(member.name) > wire.key_max then return wire.key_problem end
    local wrong = checks[wire.element.kind](s, member.value, wire.element)
    if wrong then return wrong end
  end
end

local function range_of(b, part) return b(part.at - 1, part.stop - part.at) end

-- Text as Wireshark shows it, which ends at a NUL.
local function shown_text(text) return (text:gsub("%z", "\xE2\x90\x80")) end

function shows.int(t, b, s, part, value, wire)
  local text = s:sub(value.at, value.stop - 1)
  t:add(wire.field, range_of(b, part), wire.bits == 64 and Int64.new(text) or tonumber(text))
end

function shows.text(t, b, _, part, value, wire) t:add(wire.field, range_of(b, part), shown_text(value.text)) end

function shows.bool(t, b, _, part, value, wire) t:add(wire.field, range_of(b, part), value.kind == "true") end

function shows.any(t, b, s, part, value, wire)
  t:add(wire.field, range_of(b, part), shown_text(s:sub(value.at, value.stop - 1)))
end

function shows.list(t, b, s, part, value, wire)
  local tree = t:add(range_of(b, part), wire.name)
  for _, element in ipairs(value.elements) do
    shows[wire.element.kind](tree_for_element(tree), b, s, element, element, wire.element)
  end
end

function shows.map(t, b, s, part, value, wire)
  local tree = t:add(range_of(b, part), wire.name)
  for _, member in ipairs(value.members) do
    local entry = tree_for_element(tree):add(range_of(b, member), member.name)
    entry:add(wire.key_field, b(member.at - 1, member.value.at - member.at), tonumber(member.name))
    shows[wire.element.kind](entry, b, s, member.value, member.value, wire.element)
  end
end

-- Dissects a protocol of such messages, which are by name; `column`: its name in the list of packets.
local function dissect_json_messages(proto, F, experts, messages, column)
  local forget_links, stream_of, link_message = link_replies(proto, F)
  local known, deflates = {}, {} -- connections that have sent a message of this protocol, and those with deflated ones

  function proto.init()
    forget_links()
    known, deflates = {}, {}
  end

  -- Returns the members of an object by name, its message, and the kind of problem where it is none.
  local function meaning_of(value, side)
    local members = {}
    for _, member in ipairs(value.members) do members[member.name] = member end
    if not members.type then return members, nil, "missing_type" end
    if members.type.value.kind ~= "text" then return members, nil, "bad_type: type" end
    local message = messages[members.type.value.text]
    if not message then return members, nil, "unknown_type: type" end
    return members, message, message.sender ~= side and "wrong_direction: type" or nil
  end

  -- Shows a member, and returns the kind of its problem.
  local function add_member(item, b, s, wire, member)
    if not member then return wire.required and "missing_field" or nil end
    local value = member.value
    if value.kind == "null" and wire.kind ~= "any" then
      item:add(range_of(b, member), wire.name .. ": null")
      return not wire.nullable and "missing_field" or nil
    end
    local wrong = checks[wire.kind](s, value, wire)
    if wrong then
      item:add(F.other, range_of(b, member), shown_text(s:sub(member.at, member.stop - 1)))
    else
      shows[wire.kind](item, b, s, member, value, wire)
      if wire.fails_by_false and value.kind == "false" then item:add_proto_expert_info(experts.failure, wire.path) end
    end
    return wrong
  end

  -- Shows all members, and returns the first problem.
  local function add_members(item, b, s, value, members, message)
    local first, declared = nil, {}
    for _, wire in ipairs(message or {}) do
      declared[wire.name] = true
      local wrong = add_member(item, b, s, wire, members[wire.name])
      first = first or wrong and wrong .. ": " .. wire.path
    end
    for _, member in ipairs(value.members) do
      if not declared[member.name] then
        tree_for_element(item):add(F.other, range_of(b, member), shown_text(s:sub(member.at, member.stop - 1)))
      end
    end
    return first
  end

  -- The values that link, as the server repeats them: numbers as text, half a surrogate pair as `?`.
  local function values_of(s, members, message)
    local values = {}
    for _, wire in ipairs(message) do
      local value = members[wire.name] and members[wire.name].value
      if not value or value.kind == "null" then
        values[wire.name] = "\0null"
      else
        values[wire.name] = (value.text or s:sub(value.at, value.stop - 1)):gsub("\xEF\xBF\xBD", "?")
      end
    end
    return values
  end

  -- Shows an object, and returns its name.
  local function add_object(item, b, s, value, malformed, overflows, pinfo)
    local mask = { is_masked() }
    local side = #mask > 0 and mask[#mask].value and "client" or "server"
    local members, message, wrong = meaning_of(value, side)
    local first = add_members(item, b, s, value, members, message)
    wrong = malformed or wrong or first or overflows and "out_of_range"
    report_unshown(item, experts.unshown)
    if wrong then item:add_proto_expert_info(experts.problem, wrong) end
    if not message then return "Unknown" end
    if message.is_failure then item:add_proto_expert_info(experts.failure, message.name) end
    if not wrong or message.asks then
      link_message(message, values_of(s, members, message), stream_of(pinfo), pinfo, -#mask, item)
    end
    return message.name
  end

  -- Shows text that is not an object, and returns its name. Wireshark hands over what it cannot inflate as it is.
  local function add_text(item, b, s, wrong)
    if deflates[tcp_stream().value] then
      item:add(F.data, b())
      item:add(b(), "not inflated by Wireshark")
      return "Deflated"
    end
    if wrong == "malformed_utf8" then
      item:add(F.data, b())
    else
      item:add(F.text, b(), shown_text(s))
    end
    item:add_proto_expert_info(experts.problem, wrong)
    return "Unknown"
  end

  local function read(s)
    if not is_utf8(s) then return nil, "malformed_utf8" end
    local value, wrong, overflows = parse_json(s)
    if value and value.kind ~= "object" then return nil, "not_an_object" end
    return value, wrong, overflows
  end

  local function is_message(value)
    if not value then return false end
    for _, member in ipairs(value.members) do
      if member.name == "type" and member.value.kind == "text" then return messages[member.value.text] ~= nil end
    end
    return false
  end

  function proto.dissector(b, pinfo, tree)
    if b:len() == 0 then return 0 end
    local s, stream = b:raw(0, b:len()), tcp_stream().value
    local value, wrong, overflows = read(s)
    if not known[stream] and not is_message(value) then return 0 end -- another protocol on the same port
    known[stream] = true
    for _, bits in ipairs({ reserved_bits() }) do deflates[stream] = deflates[stream] or bits.value >= 4 end
    pinfo.cols.protocol = column
    local item = tree:add(proto, b(), proto.description)
    item:add(F.length, b:len()):set_generated()
    local name = value and add_object(item, b, s, value, wrong, overflows, pinfo) or add_text(item, b, s, wrong)
    item:append_text(": " .. name)
    add_info(pinfo, { name })
    return b:len()
  end

  proto:register_heuristic("ws", function(b, pinfo, tree)
    return proto.dissector(b, pinfo, tree) > 0
  end)
end
