-- Values of fields, and the problems that they have.

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

-- Whether bytes are text as Java reads it: overlong forms pass, forms of four bytes do not.
local function is_java_text(raw)
  local at = raw:find("[\x80-\xFF]")
  while at do
    if raw:find("^[\xC0-\xDF][\x80-\xBF]", at) then
      at = at + 2
    elseif raw:find("^[\xE0-\xEF][\x80-\xBF][\x80-\xBF]", at) then
      at = at + 3
    else
      return false
    end
    at = raw:find("[\x80-\xFF]", at)
  end
  return true
end

-- Whether bytes are UTF-8.
local function is_utf8(raw)
  local at = raw:find("[\x80-\xFF]")
  while at do
    local _, stop = raw:find("^[\xC2-\xDF][\x80-\xBF]", at)
    if not stop then _, stop = raw:find("^\xE0[\xA0-\xBF][\x80-\xBF]", at) end
    if not stop then _, stop = raw:find("^[\xE1-\xEC\xEE\xEF][\x80-\xBF][\x80-\xBF]", at) end
    if not stop then _, stop = raw:find("^\xED[\x80-\x9F][\x80-\xBF]", at) end
    if not stop then _, stop = raw:find("^\xF0[\x90-\xBF][\x80-\xBF][\x80-\xBF]", at) end
    if not stop then _, stop = raw:find("^[\xF1-\xF3][\x80-\xBF][\x80-\xBF][\x80-\xBF]", at) end
    if not stop then _, stop = raw:find("^\xF4[\x80-\x8F][\x80-\xBF][\x80-\xBF]", at) end
    if not stop then return false end
    at = raw:find("[\x80-\xFF]", stop + 1)
  end
  return true
end

-- A tree that shows nothing: messages are read with it to see whether they fit.
local nothing = {}
function nothing.add() return nothing end
function nothing.add_le() return nothing end
function nothing.set_len() end
function nothing.add_proto_expert_info() end

-- Elements of lists that are shown of a frame: Wireshark refuses a packet of a million items.
local SHOWN_ELEMENTS_MAX = 10000
local shown_elements, unshown_elements = 0, 0

-- Returns the tree for one more element of a list: `nothing` where enough are shown.
local function tree_for_element(t)
  if t == nothing then return nothing end
  if shown_elements == SHOWN_ELEMENTS_MAX then
    unshown_elements = unshown_elements + 1
    return nothing
  end
  shown_elements = shown_elements + 1
  return t
end

-- Returns how many of some more elements of a list are shown in a tree.
local function count_shown(t, count)
  if t == nothing then return 0 end
  local shown = math.min(count, SHOWN_ELEMENTS_MAX - shown_elements)
  shown_elements, unshown_elements = shown_elements + shown, unshown_elements + count - shown
  return shown
end

-- Adds the number of elements of a frame that are not shown to its item. Elements within those do not count.
local function report_unshown(item, expert)
  if unshown_elements > 0 then
    item:add_proto_expert_info(expert, string.format("%d elements of lists are not shown", unshown_elements))
  end
  shown_elements, unshown_elements = 0, 0
end

-- Makes the readers that all messages of a protocol share; `problem` is its expert field.
-- They return where a value ends, or nil and where it begins.
local function make_readers(problem)
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
    local raw = count > 0 and b:raw(at + width, count) or ""
    if not is_java_text(raw) then return bad(t, b, at, stop, "bad-utf", path) end
    t:add(field, b(at, width + count), java_text(raw))
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
