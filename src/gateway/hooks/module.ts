/**
 * module: a hook of one's own, as a JavaScript module. Its default export is a `HookModule`; its settings stand beside `path`, and `make`
 * reads them as hooks of this package do. The host, which may import files, loads modules before hooks are made.
 */
import { SampleField, SampleFlag } from '../samples.ts'
import type { SettingsReader } from '../settings.ts'
import { SignalType } from '../signals.ts'
import { type Hook, type HookContext, type HookType, usualPriority, Verdict } from './hook.ts'
import { selectedSignal, selectedSignals } from './selection.ts'

/** Parts of this package that a module needs, so that it need not import it, and may lie anywhere. */
export interface HookKit {
  readonly SampleField: typeof SampleField
  readonly SampleFlag: typeof SampleFlag
  readonly SignalType: typeof SignalType
  readonly Verdict: typeof Verdict
  readonly selectedSignal: typeof selectedSignal
  readonly selectedSignals: typeof selectedSignals
}

/** Default export of a module. */
export interface HookModule {
  /** Makes the hook, as `HookType.make` does. A setting that it does not read from `settings` is unknown, and an error. */
  make(settings: SettingsReader, context: HookContext, kit: HookKit): Hook
}

const kit: HookKit = { SampleField, SampleFlag, SignalType, Verdict, selectedSignal, selectedSignals }

/** Returns the hook `module`, with those modules that were loaded, by their paths as settings have them. */
export function moduleHook(modules: ReadonlyMap<string, HookModule>): HookType {
  return {
    name: 'module',
    is: 'a hook of your own: a JavaScript module',
    priority: usualPriority,
    make(settings, context) {
      const path = settings.string('path', null, './my-hook.mjs')
      const module =
        modules.get(path) ?? settings.fail(`${settings.of}: path: the module ${path} was not loaded`, 'path')
      return module.make(settings, context, kit)
    },
  }
}
