/** Functions of Node.js for hooks and nodes: hash functions, modules, Lua and packages that are loaded when a configuration needs them. */
import { type HookConfig, type HookType, hookTypes } from '../index.ts'
import type { FengariModule } from './lua.ts'
import { luaHook } from './lua-hook.ts'
import { loadModules } from './modules.ts'
import { peerPackage } from './peer-package.ts'

export { hashOf } from './hash.ts'
export { peerPackage } from './peer-package.ts'

/**
 * Returns all types of hooks, with those that the configurations need loaded: for `HookOptions.types`. Relative paths begin in `folder`.
 * Throws a `GatewayError` that names what cannot be loaded.
 */
export async function loadHookTypes(
  configs: readonly HookConfig[],
  folder: string = process.cwd(),
): Promise<Readonly<Record<string, HookType>>> {
  const module = await loadModules(configs, folder)
  const needsLua = configs.some(({ type, enabled }) => type === 'lua' && enabled)
  return { ...hookTypes, module, ...(needsLua && { lua: await loadLua(folder) }) }
}

async function loadLua(folder: string): Promise<HookType> {
  const loaded = await peerPackage('the hook lua', 'fengari@0', () => import('fengari'))
  // It is not an ES module.
  const { default: fengari = loaded } = loaded as { default?: FengariModule } & FengariModule
  return luaHook(fengari, folder)
}
