/**
 * The hook lua, as VILLASnode's: a script with functions for the moments of a hook, a list of signals with expressions, or both: first
 * process(smp) of the script, then the expressions, which have the sample as the global `smp`.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  GatewayError,
  type Hook,
  type HookContext,
  type HookType,
  luaUnloaded,
  SampleField,
  SampleFlag,
  type Samples,
  type SettingsReader,
  type Signal,
  SignalType,
  signalTypeNames,
  Verdict,
} from '../index.ts'
import { type FengariModule, Lua, type LuaReference } from './lua.ts'

const moments = ['prepare', 'start', 'stop', 'restart', 'periodic', 'process'] as const
type Moment = (typeof moments)[number]

interface Expression {
  readonly signal: Signal
  readonly load: LuaReference
}

class LuaHook implements Hook {
  readonly signals: readonly Signal[]
  readonly #context: HookContext
  readonly #settings: Record<string, unknown>
  readonly #lua: Lua
  readonly #script: LuaReference | null
  readonly #expressions: readonly Expression[]
  /** Names of the incoming signals, as keys; null: they have indices. */
  readonly #names: readonly Uint8Array[] | null
  readonly #global: Uint8Array
  readonly #functions: Partial<Record<Moment, LuaReference>> = {}
  #started = false
  #failures = 0
  #saidResult = false

  constructor(
    lua: Lua,
    context: HookContext,
    settings: Record<string, unknown>,
    {
      script,
      expressions,
      useNames,
    }: { script: LuaReference | null; expressions: readonly Expression[]; useNames: boolean },
  ) {
    this.#lua = lua
    this.#context = context
    this.#settings = settings
    this.#script = script
    this.#expressions = expressions
    this.#global = lua.bytes('smp')
    this.#names = useNames ? context.signals.map(({ name }) => lua.bytes(name)) : null
    this.signals = expressions.length > 0 ? expressions.map(({ signal }) => signal) : context.signals
  }

  restart(): void {
    if (!this.#started) {
      this.#started = true
      this.#prepare()
      this.#call('start')
    } else if (this.#functions.restart !== undefined) this.#call('restart')
    else {
      this.#call('stop')
      this.#call('start')
    }
  }

  #prepare(): void {
    const { log } = this.#context
    for (const [name, level] of [
      ['info', 'info'],
      ['warn', 'warn'],
      ['error', 'error'],
      ['debug', 'debug'],
    ] as const)
      this.#lua.register(name, (text) => log.call(this.#context, level, text))
    this.#lua.register('register_api_handler', () => {})
    if (this.#script !== null) this.#lua.call(this.#script)
    for (const name of moments) {
      const found = this.#lua.global(name)
      if (found !== undefined) this.#functions[name] = found
    }
    const { prepare } = this.#functions
    if (prepare !== undefined) this.#lua.call(prepare, this.#settings)
  }

  process(samples: Samples, word: number): Verdict {
    try {
      const verdict = this.#functions.process === undefined ? Verdict.ok : this.#process(samples, word)
      if (this.#expressions.length > 0 && verdict === Verdict.ok) this.#evaluate(samples, word)
      return verdict
    } catch (error) {
      this.#lua.clear()
      if (this.#failures++ === 0)
        this.#log('error', `${(error as Error).message}; so each sample is dropped that fails`)
      return Verdict.error
    }
  }

  #process(samples: Samples, word: number): Verdict {
    const lua = this.#lua
    const { signals } = this.#context
    lua.pushSample(samples, word, signals, this.#names)
    const result = lua.callWithTop(this.#functions.process!)
    lua.popSample(samples, word, signals, this.#names)
    if (result >= Verdict.ok && result <= Verdict.stop) return Math.trunc(result) as Verdict
    if (!this.#saidResult) this.#log('warn', 'process() returns no number from 0 to 3: samples pass')
    this.#saidResult = true
    return Verdict.ok
  }

  #evaluate(samples: Samples, word: number): void {
    const lua = this.#lua
    lua.pushSample(samples, word, this.#context.signals, this.#names)
    lua.popToGlobal(this.#global)
    const { signals } = this.#context
    const length = samples.u32[word + SampleField.length]!
    this.#expressions.forEach(({ load, signal }, i) => {
      const keeps = i < length && signals[i]?.type === signal.type
      lua.evaluate(load, samples, word + SampleField.data + 2 * i, signal, keeps)
    })
    samples.u32[word + SampleField.length] = this.#expressions.length
    samples.u32[word + SampleField.flags] = samples.u32[word + SampleField.flags]! | SampleFlag.data
  }

  periodic(): void {
    this.#attempt('periodic')
  }

  stop(): void {
    if (this.#started) this.#attempt('stop')
    if (this.#failures > 1) this.#log('error', `${this.#failures} samples were dropped, because the script failed`)
  }

  /** Calls the script's function of this name, if there is one. Throws the script's errors. */
  #call(moment: Moment): void {
    const found = this.#functions[moment]
    if (found !== undefined) this.#lua.call(found)
  }

  /** Calls the script's function of this name; its errors are logged, and do not stop the hook. */
  #attempt(moment: Moment): void {
    try {
      this.#call(moment)
    } catch (error) {
      this.#log('error', (error as Error).message)
    }
  }

  #log(level: 'warn' | 'error', text: string): void {
    this.#context.log(level, `hook lua: ${text}`)
  }
}

/** Returns the hook with its interpreter; relative paths begin in `folder`. */
export function luaHook(fengari: FengariModule, folder: string): HookType {
  return {
    ...luaUnloaded,
    make(settings, context) {
      const lua = new Lua(fengari)
      const script = settings.has('script') ? loadScript(lua, settings, folder) : null
      const expressions = settings.groups('signals').map((group, i) => readExpression(lua, group, i))
      const useNames = settings.boolean('use_names', true)
      if (script === null && expressions.length === 0)
        settings.fail(`${settings.of}: it has neither a script nor signals with expressions`, 'type')
      // Any other settings belong to the script: prepare(cfg) gets them.
      for (const key of settings.keys()) settings.any(key)
      return new LuaHook(lua, context, settings.settings, { script, expressions, useNames })
    },
  }
}

function loadScript(lua: Lua, settings: SettingsReader, folder: string): LuaReference {
  const path = settings.string('script', null, 'hook.lua')
  try {
    return lua.load(readFileSync(resolve(folder, path)), `@${path}`)
  } catch (error) {
    settings.fail(
      `${settings.of}: script: ${error instanceof GatewayError ? error.message : `${path}: ${(error as Error).message}`}`,
      'script',
    )
  }
}

function readExpression(lua: Lua, group: SettingsReader, index: number): Expression {
  const type = signalTypeNames.indexOf(group.choice('type', 'float', signalTypeNames)) as SignalType
  if (type === SignalType.complex)
    group.refuse('type', 'float, integer or boolean: Lua has no complex numbers', '"float"')
  const signal = { name: group.string('name', `signal${index}`, 'sum'), unit: group.string('unit', '', 'V'), type }
  const text = group.string('expression', null, 'smp.data.voltage * 2')
  group.done()
  try {
    return { signal, load: lua.load(lua.bytes(`return ${text}`), '=expression') }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    group.fail(`${group.of}: expression: ${error.message}`, 'expression')
  }
}
