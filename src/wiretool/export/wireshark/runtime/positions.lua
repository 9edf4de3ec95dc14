-- Where the bytes of a packet stand in their direction of a connection.

local tcp_stream, tcp_seq, tcp_len = Field.new("tcp.stream"), Field.new("tcp.seq"), Field.new("tcp.len")
local has_completeness, tcp_completeness = pcall(Field.new, "tcp.completeness")
local SEQUENCE_NUMBERS, HALF = 2 ^ 32, 2 ^ 31

-- Names the end of a connection that sent a packet.
local function sender_of(pinfo)
  return pinfo.src_port ~= pinfo.dst_port and pinfo.src_port or tostring(pinfo.src)
end

local function receiver_of(pinfo)
  return pinfo.src_port ~= pinfo.dst_port and pinfo.dst_port or tostring(pinfo.dst)
end

-- Follows where the next frame of each direction begins, so that a dissector knows whether its bytes begin with one.
-- Returns four functions: `forget` everything, `begin` with the bytes of a call, `finish` that call, and `is_unread`.
local function follow_positions()
  local directions, unusual = {}, {}
  local as_expected = { is_in_step = true, rest = 0 }

  local function forget()
    directions, unusual = {}, {}
  end

  local function direction_of(pinfo)
    local number, sender = tcp_stream().value, sender_of(pinfo)
    local both = directions[number]
    if not both then
      both = {}
      directions[number] = both
    end
    if not both[sender] then both[sender] = { is_new = true } end
    return both[sender]
  end

  -- Whether no bytes of this direction were read before, and no frame is expected in the other one.
  local function is_unread(pinfo)
    local both = directions[tcp_stream().value]
    if not both then return true end
    local other = both[receiver_of(pinfo)]
    return not both[sender_of(pinfo)] and not (other and other.boundary)
  end

  -- Whether a connection was seen from its beginning, and nothing is missing since.
  local function is_first(start)
    return has_completeness and tcp_completeness().value % 4 > 0 and start <= 1
  end

  local function start_of(b, direction)
    if b:offset() > 0 then return (tcp_seq().value + tcp_len().value - b:reported_len()) % SEQUENCE_NUMBERS end
    return direction.asked or direction.boundary or 0 -- reassembled, or of another layer
  end

  local function position_of(b, direction, start)
    if b:offset() == 0 and direction.asked then
      return direction.boundary and as_expected or { is_in_step = false, rest = 0, is_asked = true }
    end
    local ahead = direction.boundary and (direction.boundary - start) % SEQUENCE_NUMBERS
    if ahead == 0 then return as_expected end
    if ahead and ahead < HALF then
      if not direction.is_cut then return { is_in_step = false, rest = 0, is_known = true } end
      return { is_in_step = true, rest = math.min(ahead, b:len()), is_known = ahead >= b:reported_len() }
    end
    return { is_in_step = false, rest = 0 }
  end

  -- Returns the direction, nil where the packet was read before, and the position of the bytes: whether a frame begins
  -- behind the first `rest` of them, which belong to a frame of earlier packets; whether the next frame is known to begin
  -- behind all of them; and whether they are bytes that were asked for without being in step.
  local function begin(b, pinfo)
    local key, here = b:len() * 0x4000000 + b:offset(), unusual[pinfo.number]
    if pinfo.visited then return nil, here and here[key] or as_expected end
    local direction = direction_of(pinfo)
    direction.start = start_of(b, direction)
    if direction.is_new then
      direction.is_new = nil
      if is_first(direction.start) then direction.boundary = direction.start end
    end
    local position = position_of(b, direction, direction.start)
    if position ~= as_expected then
      if not here then
        here = {}
        unusual[pinfo.number] = here
      end
      here[key] = position
    end
    return direction, position
  end

  -- Notes that the bytes of a call are read up to `at`. `is_in_step`: a frame begins there, of which `size` bytes are
  -- known to follow where it is cut. `is_asked`: the next call has the bytes from there on.
  local function finish(direction, position, at, is_in_step, size, is_asked)
    if not direction or position.is_known then return end
    local stop = (direction.start + at) % SEQUENCE_NUMBERS
    direction.asked = is_asked and stop or nil
    direction.boundary = is_in_step and (stop + (size or 0)) % SEQUENCE_NUMBERS or nil
    direction.is_cut = size ~= nil
  end

  return forget, begin, finish, is_unread
end
