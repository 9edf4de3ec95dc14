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
  local tables_left, bytes_left, is_exact

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
    if is_exact and (at + 4 + count == stop or b(at + 4 + count, 1):uint() > 0) then fail(slot.path) end
    if count > 0 then t:add(slot.field, b(at + 4, count), (raw:gsub("%z", "\xE2\x90\x80"))) end
  end

  function readers.bytes(t, b, base, stop, at, slot)
    local count = count_at(b, at, stop, 1, slot.path)
    if count > 0 then t:add(slot.field, b(at + 4, count)) end
  end

  function readers.numbers(t, b, base, stop, at, slot)
    local count = count_at(b, at, stop, slot.width, slot.path)
    if is_exact and (at + 4 - base) % slot.width > 0 then fail(slot.path) end
    for n = 0, count_shown(t, count) - 1 do
      t:add_le(slot.field, b(at + 4 + n * slot.width, slot.width))
    end
  end

  function readers.table(t, b, base, stop, at, slot, depth)
    if at + 4 > stop then fail(slot.path) end
    local item = t:add(b(at, stop - at), slot.name)
    read_table(item, b, base, stop, at, slot.slots, depth + 1)
  end

  function readers.tables(t, b, base, stop, at, slot, depth)
    local count = count_at(b, at, stop, 4, slot.path)
    for n = 1, count do
      local where = at + 4 * n
      readers.table(tree_for_element(t), b, base, stop, where + number(b, where, stop, 4, slot.path), slot, depth)
    end
  end

  function readers.union(t, b, base, stop, at, slot, depth, tag)
    local slots = slot.members[tag]
    if not slots and not is_exact then return end
    if not slots or at + 4 > stop then fail(slot.path) end
    read_table(t:add(b(at, stop - at), slot.name), b, base, stop, at, slots, depth + 1)
  end

  -- Refuses a table that a writer of this schema would have laid out differently.
  local function check_table(b, base, at, vtable, size, slots)
    if (at - base) % 4 > 0 or (vtable - base) % 2 > 0 then fail("") end
    for n = #slots + 1, (size - 4) / 2 do
      if b(vtable + 2 + 2 * n, 2):le_uint() > 0 then fail("") end
    end
    local fields, used = {}, 4
    for n, slot in ipairs(slots) do
      local offset = 2 + 2 * n < size and b(vtable + 2 + 2 * n, 2):le_uint() or 0
      if offset == 0 and slot.required then fail(slot.path) end
      if offset > 0 then fields[#fields + 1] = { offset = offset, slot = slot } end
    end
    table.sort(fields, function(one, two) return one.offset < two.offset end)
    for _, each in ipairs(fields) do
      local slot, is_scalar = each.slot, each.slot.kind == "scalar"
      local width = is_scalar and slot.width or 4
      if each.offset < used or (at - base + each.offset) % width > 0 then fail(slot.path) end
      if is_scalar and b:raw(at + each.offset, width) == slot.default then fail(slot.path) end
      used = each.offset + width
    end
  end

  function read_table(t, b, base, stop, at, slots, depth)
    tables_left = tables_left - 1
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
    if is_exact then check_table(b, base, at, vtable, size, slots) end
  end

  -- Shows the table that a buffer is the root of; returns whether it could be read. `kind` is that of a problem.
  -- `exact`: what a writer of this schema never makes is refused too.
  return function(t, b, at, stop, slots, kind, exact)
    is_exact, tables_left, bytes_left = exact, math.min(TABLES_MAX, stop - at), SHARING_MAX * (stop - at)
    local done, why = pcall(function()
      read_table(t, b, at, stop, at + number(b, at, stop, 4, ""), slots, 1)
    end)
    if done then return true end
    if type(why) ~= "table" then error(why, 0) end
    t:add_proto_expert_info(problem, kind .. ": " .. why.path)
    return false
  end
end

-- Reads the messages of a payload one after another: their members are numbers, bytes with a count, tables with one, and
-- elements whose members have their counts in front of all.
local function make_batch_reader(problem, read_root)
  local function read_sized(t, b, first, count, stop, member)
    if count < 0 or first + count > stop then
      t:add_proto_expert_info(problem, "record_length_mismatch: " .. member.path)
      return nil
    end
    if member.kind == "bytes" then
      if count > 0 then t:add(member.field, b(first, count)) end
    elseif not read_root(t:add(b(first, count), member.name), b, first, first + count, member.slots, "bad_record_meta") then
      return nil
    end
    return first + count
  end

  local function read_counted(t, b, at, stop, member)
    return read_sized(t, b, at + 4, at + 4 <= stop and b(at, 4):int() or -1, stop, member)
  end

  local function read_element(t, b, at, stop, members)
    local first = at + 4 * #members
    for n, member in ipairs(members) do
      local counted_at = at + 4 * n - 4
      first = read_sized(t, b, first, counted_at + 4 <= stop and b(counted_at, 4):int() or -1, stop, member)
      if not first then return nil end
    end
    return first
  end

  local function read_elements(t, b, at, stop, member)
    while at < stop and b(at, 1):uint() ~= member.stop do
      local item = tree_for_element(t):add(b(at, stop - at), member.name)
      local after = read_element(item, b, at, stop, member)
      if not after then return nil end
      item:set_len(after - at)
      at = after
    end
    return at
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
      elseif member.kind == "elements" then
        at = read_elements(t, b, at, stop, member)
        if not at then return nil end
      else
        at = read_counted(t, b, at, stop, member)
        if not at then return nil end
      end
    end
    return at
  end

  -- Returns whether all messages could be read.
  return function(t, b, at, stop, batch)
    while at < stop do
      local item = tree_for_element(t):add(b(at, stop - at), batch.name)
      local after = read_batch(item, b, at, stop, batch)
      if not after then return false end
      item:set_len(after - at)
      at = after
    end
    return true
  end
end

-- Dissects a protocol of such frames, as `frames` describes them (tables.py).
local function dissect_table_frames(proto, F, experts, frames, column)
  local forget_links, stream_of, link_message = link_replies(proto, F)
  local read_root = make_table_reader(experts.problem)
  local read_batches = make_batch_reader(experts.problem, read_root)
  local header_at, schemas, decided = frames.header_at, frames.schemas, {}
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
    if not size or not form.is_listed(b, at) then return nil end
    return b(at + header_at, 3):uint() + frames.length_min <= size - 4 and size or nil
  end

  function form.is_listed(b, at)
    local opcode = number(b, at, "opcode")
    for _, schema in ipairs(schemas) do
      if schema.operations[opcode] then return true end
    end
    return false
  end

  function form.tells() return true end

  -- The operation of a frame by a schema, whether it is a response, and the slots of its table.
  local function meaning_of(schema, b, at)
    local operation, flags = schema.operations[number(b, at, "opcode")] or schema.unknown, number(b, at, "flags")
    local is_response = math.floor(flags / frames.response) % 2 == 1
    local is_error = is_response and math.floor(flags / frames.system_error) % 2 == 1
    local name = is_response and operation.response or not is_response and operation.request or nil
    if is_error and operation.system_error then name = operation.system_error end
    return operation, is_response, schema.tables[name], is_error
  end

  -- Whether the header of a whole frame, which ends at `stop`, can be read.
  local function reads(schema, b, at, stop, is_exact)
    local _, _, slots = meaning_of(schema, b, at)
    local first = at + form.header_bytes
    local length = b(at + header_at, 3):uint()
    if first + length > stop - 4 then return false end
    return length == 0 or not slots or read_root(nothing, b, first, first + length, slots, "", is_exact)
  end

  function form.is_message(b, at, stop)
    for _, schema in ipairs(schemas) do
      if reads(schema, b, at, stop) then return true end
    end
    return false
  end

  -- Whether a payload is batches, where the header could be read.
  local function has_batches(schema, operation, slots)
    return operation.batch and (not operation.batch_header or slots == schema.tables[operation.batch_header])
  end

  -- Whether a writer of a schema makes such a frame.
  local function fits(schema, b, at, stop)
    local operation, is_response, slots, is_error = meaning_of(schema, b, at)
    local length, last = b(at + header_at, 3):uint(), stop - 4
    local first = at + form.header_bytes + length
    if first > last or b(at + header_at - 1, 1):uint() ~= FLATBUFFERS then return false end
    if operation == schema.unknown and not is_error or bit.band(number(b, at, "flags"), bit.bnot(schema.flags)) ~= 0 then
      return false
    end
    if first == last and b(last, 4):uint() > 0 then return false end -- the checksum of no bytes is 0
    if length == 0 and operation.needs_header and not is_response or not reads(schema, b, at, stop, true) then return false end
    return not has_batches(schema, operation, slots) or read_batches(nothing, b, first, last, operation.batch)
  end

  -- The schema of a connection, which the first frame decides that fits one schema alone; until then the first one.
  local function schema_of(b, at, stop)
    if #schemas == 1 then return schemas[1] end
    local stream, only = tcp_stream().value, nil
    if decided[stream] then return decided[stream] end
    for _, schema in ipairs(schemas) do
      if fits(schema, b, at, stop) then
        if only then return schemas[1] end
        only = schema
      end
    end
    decided[stream] = only
    return only or schemas[1]
  end

  function form.add_header(b, at, stop, tree, schema)
    schema = schema or schemas[1]
    local operation, is_response, slots, is_error = meaning_of(schema, b, at)
    local name = operation.name
    local title = proto.description .. ": " .. name .. (is_response and " response" or "")
    local item = tree:add(proto, b(at, stop - at), title)
    item:add(F.frame_length, b(at, 4))
    item:add(F.magic, b(at + 4, 1))
    for _, each in ipairs(frames.envelope) do item:add(F[each[1]], b(at + each[2], each[3])) end
    item:add(F.header_length, b(at + header_at, 3))
    if operation == schema.unknown and not is_error then
      item:add_proto_expert_info(experts.problem, "unknown_opcode: opcode")
    end
    return item, name, operation, is_response, slots
  end

  local function add_payload(item, b, at, stop, operation, is_batches)
    if at == stop then return end
    if is_batches then
      read_batches(item, b, at, stop, operation.batch)
    else
      item:add(F.payload, b(at, stop - at))
    end
  end

  -- Shows the header of at most `room` bytes; returns how many it has, nil for more, and whether its table could be read.
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
      return length, read_root(root, b, at, at + length, slots, "bad_flatbuffer_header")
    elseif length > 0 then
      item:add(F.header, b(at, length))
    elseif is_needed then
      item:add_proto_expert_info(experts.problem, "bad_flatbuffer_header: header")
    end
    return length
  end

  function form.add_frame(b, at, stop, pinfo, stream, tree)
    local schema = schema_of(b, at, stop)
    local item, name, operation, is_response, slots = form.add_header(b, at, stop, tree, schema)
    local first, last = at + form.header_bytes, stop - 4
    local is_needed = not is_response and operation.needs_header
    local length, is_read = add_table(item, b, first, b(at + header_at, 3):uint(), last - first, slots, is_needed)
    if length then
      local is_batches = has_batches(schema, operation, slots) and (is_read or not operation.batch_header)
      add_payload(item, b, first + length, last, operation, is_batches)
      item:add(F.checksum, b(last, 4))
    end
    report_unshown(item, experts.unshown)
    values.stream_id = b:raw(at + places.stream_id[2], places.stream_id[3])
    link_message(is_response and response or request, values, stream, pinfo, place_of(b, at), item)
    return is_response and name .. " response" or name
  end

  local function forget()
    decided = {}
    forget_links()
  end

  dissect_frames(proto, F, experts, form, column, stream_of, forget)
end
