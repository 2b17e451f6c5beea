/** Hooks that are JavaScript modules: imported before hooks are made. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { GatewayError, type HookConfig, type HookModule, type HookType, moduleHook } from '../index.ts'

/** Returns the hook `module`, with all modules that the configurations name; relative paths begin in `folder`. Throws a `GatewayError`. */
export async function loadModules(configs: readonly HookConfig[], folder: string): Promise<HookType> {
  const modules = new Map<string, HookModule>()
  for (const { type, enabled, settings } of configs) {
    const path = settings.path
    if (type === 'module' && enabled && typeof path === 'string' && !modules.has(path))
      modules.set(path, await load(path, folder))
  }
  return moduleHook(modules)
}

async function load(path: string, folder: string): Promise<HookModule> {
  const expected = 'Its default export must be an object with make(settings, context), which returns a hook'
  let module: { default?: Partial<HookModule> }
  try {
    module = (await import(pathToFileURL(resolve(folder, path)).href)) as typeof module
  } catch (error) {
    throw new GatewayError('ERR_GATEWAY_SETTING', `hook module: ${path} cannot be loaded: ${(error as Error).message}`)
  }
  if (typeof module.default?.make !== 'function')
    throw new GatewayError('ERR_GATEWAY_SETTING', `hook module: ${path} is no hook. ${expected}`)
  return module.default as HookModule
}
