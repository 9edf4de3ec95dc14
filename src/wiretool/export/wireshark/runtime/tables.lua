-- Frames with an operation code in an envelope of fixed size, and a FlatBuffers table.

-- Deeper tables are refused.
local NESTING_MAX = 64
-- Tables may share others: the tables that are read of one buffer are bounded, and the bytes in units of its size.
local TABLES_MAX, SHARING_MAX = 100000, 16
-- The header format that is defined.
local FLATBUFFERS = 1

-- Reads FlatBuffers tables: `b` between `base` and `stop`, where places count from `base`. A slot of a table has `kind`,
-- `field`, `path`, and by its kind `width`, `slots` or `members`. Problems end the reading with an error of Lua, which
-- `read_root` catches.
local function make_table_reader(problem)
  local read_table
  local tables_left, bytes_left, shown_left

  local function fail(path) error({ path = path }, 0) end

  local function number(b, at, stop, width, path)
    if at < 0 or at + width > stop then fail(path) end
    return b(at, width):le_uint()
  end

  local function count_at(b, at, stop, width, path)
    local count = number(b, at, stop, 4, path)
    if at + 4 + count * width > stop then fail(path) end
    bytes_left = bytes_left - count * width
    if bytes_left < 0 then fail(path) end
    return count
  end

  local readers = {}

  function readers.text(t, b, base, stop, at, slot)
    local count = count_at(b, at, stop, 1, slot.path)
    local raw = count > 0 and b:raw(at + 4, count) or ""
    if not is_utf8(raw) then fail(slot.path) end
    if count > 0 then t:add(slot.field, b(at + 4, count), (raw:gsub("%z", "\xE2\x90\x80"))) end
  end

  function readers.bytes(t, b, base, stop, at, slot)
    local count = count_at(b, at, stop, 1, slot.path)
    if count > 0 then t:add(slot.field, b(at + 4, count)) end
  end

  function readers.numbers(t, b, base, stop, at, slot)
    local count = count_at(b, at, stop, slot.width, slot.path)
    for n = 0, math.min(count, shown_left) - 1 do
      t:add_le(slot.field, b(at + 4 + n * slot.width, slot.width))
    end
    shown_left = shown_left - count
  end

  function readers.table(t, b, base, stop, at, slot, depth)
    if at + 4 > stop then fail(slot.path) end
    local item = t:add(b(at, stop - at), slot.name)
    read_table(item, b, base, stop, at, slot.slots, depth + 1)
  end

  function readers.tables(t, b, base, stop, at, slot, depth)
    local count = count_at(b, at, stop, 4, slot.path)
    for n = 1, count do
      if shown_left <= 0 then t = nothing end
      local where = at + 4 * n
      readers.table(t, b, base, stop, where + number(b, where, stop, 4, slot.path), slot, depth)
    end
  end

  function readers.union(t, b, base, stop, at, slot, depth, tag)
    local slots = slot.members[tag]
    if at + 4 > stop then fail(slot.path) end
    if slots then read_table(t:add(b(at, stop - at), slot.name), b, base, stop, at, slots, depth + 1) end
  end

  function read_table(t, b, base, stop, at, slots, depth)
    tables_left, shown_left = tables_left - 1, shown_left - 1 - #slots
    if depth > NESTING_MAX or tables_left < 0 then fail("") end
    if at < base or at + 4 > stop then fail("") end
    local vtable = at - b(at, 4):le_int()
    if vtable < base then fail("") end
    local size = number(b, vtable, stop, 2, "")
    if size < 4 or size % 2 == 1 or vtable + size > stop then fail("") end
    local tag
    for n, slot in ipairs(slots) do
      local offset = 2 + 2 * n < size and b(vtable + 2 + 2 * n, 2):le_uint() or 0
      if offset > 0 then
        local place = at + offset
        if slot.kind == "scalar" then
          if place + slot.width > stop then fail(slot.path) end
          tag = slot.width == 1 and b(place, 1):uint() or nil
          t:add_le(slot.field, b(place, slot.width))
        else
          local target = place + number(b, place, stop, 4, slot.path)
          readers[slot.kind](t, b, base, stop, target, slot, depth, tag)
        end
      else
        tag = nil
        if slot.required then t:add_proto_expert_info(problem, "missing_required_field: " .. slot.path) end
      end
    end
  end

  -- Shows the table that a buffer is the root of; returns whether it could be read. `kind` is that of a problem.
  return function(t, b, at, stop, slots, kind)
    tables_left, bytes_left = math.min(TABLES_MAX, stop - at), SHARING_MAX * (stop - at)
    shown_left = SHOWN_ELEMENTS_MAX
    local done, why = pcall(function()
      read_table(t, b, at, stop, at + number(b, at, stop, 4, ""), slots, 1)
    end)
    if done then return true end
    if type(why) ~= "table" then error(why, 0) end
    t:add_proto_expert_info(problem, kind .. ": " .. why.path)
    return false
  end
end

-- Reads the messages of a payload one after another: their members are numbers, bytes with a count, and tables with one.
local function make_batch_reader(problem, read_root)
  local function read_counted(t, b, at, stop, member)
    local count = at + 4 <= stop and b(at, 4):int() or -1
    if count < 0 or at + 4 + count > stop then
      t:add_proto_expert_info(problem, "record_length_mismatch: " .. member.path)
      return nil
    end
    local first = at + 4
    if member.kind == "bytes" then
      if count > 0 then t:add(member.field, b(first, count)) end
    elseif not read_root(t:add(b(first, count), member.name), b, first, first + count, member.slots, "bad_record_meta") then
      return nil
    end
    return first + count
  end

  local function read_batch(t, b, at, stop, batch)
    for _, member in ipairs(batch) do
      if member.kind == "number" then
        if at + member.width > stop then
          t:add_proto_expert_info(problem, "record_length_mismatch: " .. batch.name)
          return nil
        end
        t:add(member.field, b(at, member.width))
        at = at + member.width
      else
        at = read_counted(t, b, at, stop, member)
        if not at then return nil end
      end
    end
    return at
  end

  -- Returns where the messages end that could be read.
  return function(t, b, at, stop, batch)
    while at < stop do
      local item = t:add(b(at, stop - at), batch.name)
      local after = read_batch(item, b, at, stop, batch)
      if not after then return end
      item:set_len(after - at)
      at = after
    end
  end
end

-- Dissects a protocol of such frames, as `frames` describes them (tables.py).
local function dissect_table_frames(proto, F, experts, frames, column)
  local forget_links, stream_of, link_message = link_replies(proto, F)
  local read_root = make_table_reader(experts.problem)
  local read_batches = make_batch_reader(experts.problem, read_root)
  local header_at, operations = frames.header_at, frames.operations
  local places, values = {}, {}
  for _, each in ipairs(frames.envelope) do places[each[1]] = each end
  -- Servers reply to any frame of a client, whatever its flags.
  local asks = { { index = 1, "stream_id" } }
  local request = { sender = "both", is_first = true, asks = asks }
  local response = { sender = "both", asks = asks, answers = { { indexes = { 1 }, "stream_id" } } }
  local form = { header_bytes = header_at + 3, first_bytes = "[\0\1]", beginning = "[\0\1]..." .. string.char(frames.magic) }

  local function number(b, at, name)
    return b(at + places[name][2], places[name][3]):uint()
  end

  function form.size_at(b, at)
    local length = b(at, 4):uint()
    if length < frames.length_min then return nil, "length_too_small" end
    if length > frames.length_max then return nil, "length_too_large" end
    if b(at + 4, 1):uint() ~= frames.magic then return nil, "bad_magic" end
    return 4 + length
  end

  function form.known_size_at(b, at)
    local size = form.size_at(b, at)
    if not size or not operations[number(b, at, "opcode")] then return nil end
    return b(at + header_at, 3):uint() + frames.length_min <= size - 4 and size or nil
  end

  function form.is_listed(b, at) return operations[number(b, at, "opcode")] ~= nil end

  function form.tells() return true end

  -- The operation of a frame, whether it is a response, and the slots of its table.
  local function meaning_of(b, at)
    local operation, flags = operations[number(b, at, "opcode")] or frames.unknown, number(b, at, "flags")
    local is_response = math.floor(flags / frames.response) % 2 == 1
    local is_error = is_response and math.floor(flags / frames.system_error) % 2 == 1
    local name = is_response and operation.response or not is_response and operation.request or nil
    if is_error and operation.system_error then name = operation.system_error end
    return operation, is_response, frames.tables[name], is_error
  end

  function form.is_message(b, at, stop)
    local _, _, slots = meaning_of(b, at)
    local first = at + form.header_bytes
    local length = b(at + header_at, 3):uint()
    return length == 0 or not slots or read_root(nothing, b, first, first + length, slots, "")
  end

  function form.add_header(b, at, stop, tree)
    local operation, is_response, slots, is_error = meaning_of(b, at)
    local name = operation.name
    local title = proto.description .. ": " .. name .. (is_response and " response" or "")
    local item = tree:add(proto, b(at, stop - at), title)
    item:add(F.frame_length, b(at, 4))
    item:add(F.magic, b(at + 4, 1))
    for _, each in ipairs(frames.envelope) do item:add(F[each[1]], b(at + each[2], each[3])) end
    item:add(F.header_length, b(at + header_at, 3))
    if operation == frames.unknown and not is_error then
      item:add_proto_expert_info(experts.problem, "unknown_opcode: opcode")
    end
    return item, name, operation, is_response, slots
  end

  local function add_payload(item, b, at, stop, operation)
    if at == stop then return end
    if operation.batch then
      read_batches(item, b, at, stop, operation.batch)
    else
      item:add(F.payload, b(at, stop - at))
    end
  end

  -- Shows the header of at most `room` bytes; returns how many it has, nil for more.
  local function add_table(item, b, at, length, room, slots, is_needed)
    if length > room then
      item:add_proto_expert_info(experts.problem, "header_length_overflow: header_length")
      return nil
    end
    if length > 0 and slots then
      local root = item:add(b(at, length), "header")
      if b(at - 4, 1):uint() ~= FLATBUFFERS then
        item:add_proto_expert_info(experts.problem, "unsupported_header_format: header_format")
      end
      read_root(root, b, at, at + length, slots, "bad_flatbuffer_header")
    elseif length > 0 then
      item:add(F.header, b(at, length))
    elseif is_needed then
      item:add_proto_expert_info(experts.problem, "bad_flatbuffer_header: header")
    end
    return length
  end

  function form.add_frame(b, at, stop, pinfo, stream, tree)
    local item, name, operation, is_response, slots = form.add_header(b, at, stop, tree)
    local first, last = at + form.header_bytes, stop - 4
    local is_needed = not is_response and operation.needs_header
    local length = add_table(item, b, first, b(at + header_at, 3):uint(), last - first, slots, is_needed)
    if length then
      add_payload(item, b, first + length, last, operation)
      item:add(F.checksum, b(last, 4))
    end
    values.stream_id = b:raw(at + places.stream_id[2], places.stream_id[3])
    link_message(is_response and response or request, values, stream, pinfo, b:len() * 0x4000000 + at, item)
    return is_response and name .. " response" or name
  end

  dissect_frames(proto, F, experts, form, column, stream_of, forget_links)
end
