/** What hooks need of Node.js: hash functions, and modules that are loaded when a configuration names them. */
import { type HookConfig, type HookType, hookTypes } from '../index.ts'
import { loadModules } from './modules.ts'

export { hashOf } from './hash.ts'

/**
 * All types of hooks, with those that the configurations need loaded: for `HookOptions.types`. Relative paths begin in `folder`. Throws
 * a `GatewayError` that says what cannot be loaded.
 */
export async function loadHookTypes(
  configs: readonly HookConfig[],
  folder: string = process.cwd(),
): Promise<Readonly<Record<string, HookType>>> {
  return { ...hookTypes, module: await loadModules(configs, folder) }
}
