/**
 * lua: a hook as a Lua script, or signals as Lua expressions. The host, which may load packages, loads the interpreter
 * (`host/lua-hook.ts`).
 */
import type { HookType } from './hook.ts'

export const luaUnloaded: HookType = {
  name: 'lua',
  is: 'a script or expressions in Lua',
  priority: 1,
  make: (settings) => settings.fail(`${settings.of}: Lua was not loaded`, 'type'),
}
