-- Regions for counters, from LuaJIT: luajit regions.lua [MACHINE]
local ffi = require("ffi")
ffi.cdef[[
const char *cd_error_text(void);
int cd_regions_open(const char *machine, const char *events, uint64_t *regions);
int cd_region(uint64_t regions, const char *name, uint32_t *region);
int cd_region_start(uint64_t regions, uint32_t region);
int cd_region_stop(uint64_t regions, uint32_t region);
int cd_regions_loop(uint64_t regions, uint64_t trips);
int cd_regions_text(uint64_t regions, char **text);
int cd_string_free(char **text);
int cd_regions_close(uint64_t regions);
]]
local cd = ffi.load("libcpudyno.so.0")

local function ok(status)
   if status ~= 0 then error(ffi.string(cd.cd_error_text()), 2) end
end

local regions, region = ffi.new("uint64_t[1]"), ffi.new("uint32_t[1]")
ok(cd.cd_regions_open(arg[1], "instructions,branches", regions))
ok(cd.cd_region(regions[0], "packets", region))
for _ = 1, 1000 do
   ok(cd.cd_region_start(regions[0], region[0]))
   ok(cd.cd_regions_loop(regions[0], 100)) -- your work: here two instructions, 100 times
   ok(cd.cd_region_stop(regions[0], region[0]))
end

local text = ffi.new("char *[1]")
ok(cd.cd_regions_text(regions[0], text))
io.write(ffi.string(text[0]))
ok(cd.cd_string_free(text))
ok(cd.cd_regions_close(regions[0]))
