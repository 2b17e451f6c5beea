-- A hook in Lua, as VILLASnode has it: limits a signal, and leaves out every third sample. For
--
--     hooks = ( { type = "lua", script = "gateway-hook.lua", most = 20 } )

local ok, skip = 0, 2

function prepare(cfg)
  most = cfg.most
end

function process(smp)
  smp.data.signal1 = math.min(smp.data.signal1, most)
  if smp.sequence % 3 == 0 then
    return skip
  end
  return ok
end
