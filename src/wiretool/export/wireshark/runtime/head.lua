-- wiretool: a dissector for the wire protocols of streaming storage.
-- Generated from the declarations of wiretool by `wiretool export wireshark`; changes are lost with the next export.

if _G.wiretool_loaded_from then
  local here = debug.getinfo(1, "S").short_src
  io.stderr:write(here, ": not loaded, as another copy of this dissector is: ", _G.wiretool_loaded_from, "\n")
  return
end
_G.wiretool_loaded_from = debug.getinfo(1, "S").short_src

local set_plugin_info = set_plugin_info or function() end
set_plugin_info({ version = "@VERSION@", author = "wiretool" })
