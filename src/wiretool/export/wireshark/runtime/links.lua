-- Replies and their requests.

local tls_lengths = Field.new("tls.record.length")

-- What tells a message from others of the same packet: its place, and where that is decrypted, the records until there.
local function place_of(b, at)
  local place = b:len() * 0x4000000 + at
  if b:offset() > 0 then return place end
  local records = #{ tls_lengths() }
  return records > 0 and records .. ":" .. place or place
end

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
    local is_client = client == sender_of(pinfo)
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

  return forget, stream_of, link_message
end
