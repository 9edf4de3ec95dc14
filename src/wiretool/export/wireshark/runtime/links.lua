-- Replies and their requests.

local tls_lengths = Field.new("tls.record.length")

-- What tells a message from others of the same packet: its place, and where that is decrypted, the records until there.
local function place_of(b, at)
  local place = b:len() * 0x4000000 + at
  if b:offset() > 0 then return place end
  local records = #{ tls_lengths() }
  return records > 0 and records .. ":" .. place or place
end

-- A link is a list, which takes a third of the memory of a table with names: the packet of a message, its time and place;
-- the links of its request and reply, or false; its order among all, and what settles it, if it is a request.
local NUMBER, TIME, PLACE, REQUEST, REPLY, ORDER, SETTLED = 1, 2, 3, 4, 5, 6, 7

-- Links replies to requests by the values that both have, and adds the links and the time between them.
-- `F`: fields `response_to`, `response_in` and `response_time`.
-- Returns three functions: `forget` everything, the `stream_of` a packet, and `link_message`.
local function link_replies(proto, F)
  local streams, links, order = {}, {}, 0
  proto.prefs.links = Pref.bool("Link replies to requests", true, "Show the request of a reply, and the time between them")

  local function forget()
    streams, links, order = {}, {}, 0
  end

  local function key_of(fields, last, values)
    if last == 0 then return "" end
    if last == 1 then return values[fields[1]] end
    if last == 2 then return values[fields[1]] .. values[fields[2]] end
    return values[fields[1]] .. values[fields[2]] .. values[fields[3]]
  end

  -- The end that is the client: a message that only one side sends tells it, the port or a first message suggests it.
  local function client_of(stream, message, pinfo)
    local from, to = sender_of(pinfo), receiver_of(pinfo)
    if message.sender == "client" then
      stream.client = from
    elseif message.sender == "server" then
      stream.client = to
    elseif not stream.client then
      if pinfo.match_uint == to then
        stream.client = from
      elseif pinfo.match_uint == from then
        stream.client = to
      elseif message.is_first then
        stream.client = from
      end
    end
    return stream.client
  end

  local function is_open(link)
    return not link[REPLY] and not (link[SETTLED] and link[ORDER] <= link[SETTLED].order)
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
        link[SETTLED] = stream.settled[group]
        if not link[SETTLED] then
          link[SETTLED] = { order = 0 }
          stream.settled[group] = link[SETTLED]
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
          found[REPLY], link[REQUEST] = link, found
          if rule.settles and found[SETTLED] then found[SETTLED].order = found[ORDER] end
          if not stream[index][key].last then stream[index][key] = nil end
          return
        end
      end
    end
  end

  -- Keeps a link for when its packet is read again: by itself, or in a table by place where the packet has several.
  local function keep(link)
    local number = link[NUMBER]
    local here = links[number]
    if not here then
      links[number] = link
    elseif here[PLACE] ~= nil then
      links[number] = { [here[PLACE]] = here, [link[PLACE]] = link }
    else
      here[link[PLACE]] = link
    end
  end

  -- Notes a message when its packet is read for the first time; `place` tells it from others of the same packet.
  local function note(message, values, stream, pinfo, place)
    local client = client_of(stream, message, pinfo)
    if not client then return nil end
    order = order + 1
    local is_client = client == sender_of(pinfo)
    local link
    if message.asks and is_client then
      link = { pinfo.number, pinfo.rel_ts, place, false, false, order, false }
    else
      link = { pinfo.number, pinfo.rel_ts, place, false, false }
    end
    if message.answers and not is_client then answer(message, values, stream, link) end
    if message.asks and is_client then ask(message, values, stream, link) end
    keep(link)
    return link
  end

  -- Finds the link of a message in a packet that was read before.
  local function find_link(number, place)
    local here = links[number]
    if not here or here[PLACE] ~= nil then return here and here[PLACE] == place and here or nil end
    return here[place]
  end

  local function show(link, item)
    local request, reply = link[REQUEST], link[REPLY]
    if request then
      item:add(F.response_to, request[NUMBER]):set_generated()
      local elapsed_ns = math.floor(math.max(link[TIME] - request[TIME], 0) * 1e9 + 0.5)
      item:add(F.response_time, NSTime.new(math.floor(elapsed_ns / 1e9), elapsed_ns % 1e9)):set_generated()
    elseif reply then
      item:add(F.response_in, reply[NUMBER]):set_generated()
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
      link = find_link(pinfo.number, place)
    end
    if link then show(link, item) end
  end

  return forget, stream_of, link_message
end
