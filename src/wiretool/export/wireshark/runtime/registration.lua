-- Ports and statistics.

-- Preferences for the ports of a protocol, and its registration on them; `names` are those of the tables of ports.
local function register_ports(proto, ports, names)
  local current = ports

  local function change(chosen)
    for _, name in ipairs(names) do
      local by_port = DissectorTable.get(name)
      if current ~= "" then by_port:remove(current, proto) end
      if chosen ~= "" then by_port:add(chosen, proto) end
    end
    current = chosen
  end

  proto.prefs.ports = Pref.range("TCP ports", ports, "TCP ports of servers", 65535)
  for _, name in ipairs(names) do
    local by_port = DissectorTable.get(name)
    if name ~= "ws.port" then by_port:add_for_decode_as(proto) end
    if ports ~= "" then by_port:add(ports, proto) end
  end
  function proto.prefs_changed()
    local chosen = tostring(proto.prefs.ports)
    if chosen ~= current then change(chosen) end
  end
end

-- A window under Statistics: how many messages of each type, their bytes, and the times of their replies.
-- `kind_field` and `length_field`: with the kind and the length of a frame, which does not count `uncounted` bytes.
local function register_statistics(name, prefix, names, kind_field, length_field, uncounted)
  if not gui_enabled() then return end
  local types, lengths = Field.new(kind_field), Field.new(length_field)

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
        found.messages, found.bytes = found.messages + 1, found.bytes + uncounted + sizes[n].value
      end
    end

    function tap.reset() counts = {} end

    function tap.draw()
      local order = {}
      for kind in pairs(counts) do order[#order + 1] = kind end
      table.sort(order, function(a, b) return counts[a].messages > counts[b].messages end)
      local lines = { string.format("%-32s %10s %14s", "message", "messages", "bytes") }
      for _, kind in ipairs(order) do
        local message = names[kind] or "Unknown (" .. kind .. ")"
        lines[#lines + 1] = string.format("%-32s %10d %14d", message, counts[kind].messages, counts[kind].bytes)
      end
      window:set(table.concat(lines, "\n") .. "\n")
    end

    retap_packets()
  end, MENU_STAT_UNSORTED)
end
