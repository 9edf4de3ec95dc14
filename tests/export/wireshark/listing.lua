-- Prints the fields that each packet has of some protocols, in a line each: packet, ends, name, offset, length, value.
-- Arguments: the first parts of filter names.

local wanted, protocols = {}, { "_ws.lua.error" }
for _, prefix in ipairs({ ... }) do
  wanted[prefix] = true
  if prefix ~= "_ws" and prefix ~= "pbf" then protocols[#protocols + 1] = prefix end
end

local function escaped(text)
  return (text:gsub("[%c\\\x7f-\xff]", function(byte) return string.format("\\x%02x", byte:byte()) end))
end

local function value_of(info)
  if info.type == ftypes.PROTOCOL or info.type == ftypes.NONE then return escaped(info.label) end
  local has_value, value = pcall(function() return info.value end)
  if not has_value then return info.display end -- Lua has no values of this type
  if info.type == ftypes.BYTES or info.type == ftypes.UINT_BYTES then return value:tohex(true) end
  return escaped(tostring(value))
end

local tap = Listener.new("tcp", table.concat(protocols, " || "), true)

function tap.packet(pinfo)
  local ends
  for _, info in ipairs({ all_field_infos() }) do
    if wanted[info.name:match("^[^.]+")] then
      ends = ends or string.format("%s:%d\t%s:%d", pinfo.src, pinfo.src_port, pinfo.dst, pinfo.dst_port)
      io.write(pinfo.number, "\t", ends, "\t", info.name, "\t", info.offset, "\t", info.len, "\t", value_of(info), "\n")
    end
  end
end
