/** The hooks by name, as VILLASnode calls them, and chains of them from settings. */
import { distance, type PlaceOf, type Settings, SettingsReader } from '../settings.ts'
import type { Signal } from '../signals.ts'
import { average } from './average.ts'
import { cast } from './cast.ts'
import { HookChain } from './chain.ts'
import { decimate } from './decimate.ts'
import { drop } from './drop.ts'
import { fix } from './fix.ts'
import type { Hook, HookContext, HookType } from './hook.ts'
import { limitRate } from './limit-rate.ts'
import { limitValue } from './limit-value.ts'
import { restart } from './restart.ts'
import { scale } from './scale.ts'
import { skipFirst } from './skip-first.ts'
import { ts } from './ts.ts'

const types: readonly HookType[] = [
  average,
  cast,
  decimate,
  drop,
  fix,
  limitRate,
  limitValue,
  restart,
  scale,
  skipFirst,
  ts,
]

/** All that need nothing but this package. */
export const hookTypes: Readonly<Record<string, HookType>> = Object.fromEntries(types.map((type) => [type.name, type]))

export interface HookOptions {
  /** What has the hooks, for messages: "hooks of path 2". */
  of?: string
  /** Where settings stand in a file. */
  placeOf?: PlaceOf | undefined
  /** Types to choose from; `hookTypes` without it. */
  types?: Readonly<Record<string, HookType>>
  /** Adds those that nodes have in their `in` direction, unless the list has them. */
  builtin?: boolean
}

/**
 * The hooks that a list describes: a name, or settings with the name as `type`, for each. They are sorted by their priorities, those
 * of one priority stay in the order of the list; `enabled: false` leaves one out. Throws a `GatewayError` that says what is wrong.
 */
export function hooksOf(list: unknown, context: HookContext, options: HookOptions = {}): HookChain {
  const { of = 'hooks', types: known = hookTypes, builtin = false } = options
  const chosen = settingsOf(list, of, options.placeOf).map((settings) => choose(settings, known))
  if (builtin) {
    const missing = Object.values(known).filter((type) => type.builtin && !chosen.some((each) => each.type === type))
    chosen.unshift(
      ...missing.map((type) => ({ type, settings: reader(of, { type: type.name }, undefined), ...plain(type) })),
    )
  }
  const sorted = chosen.filter(({ enabled }) => enabled).toSorted((a, b) => a.priority - b.priority)
  const hooks: Hook[] = []
  let signals = context.signals
  let chain: HookChain | undefined
  const again = (): void => {
    chain?.restart()
    context.restart?.()
  }
  for (const { type, settings } of sorted) {
    const hook = type.make(settings, contextOf(context, signals, again))
    settings.done()
    if (hook.signals.length > context.values)
      settings.fail(
        `${settings.of}: its samples have ${hook.signals.length} values, and there is room for ${context.values}`,
      )
    hooks.push(hook)
    signals = hook.signals
  }
  chain = new HookChain(hooks, context.signals)
  return chain
}

/** The context of one hook of a chain. */
function contextOf(context: HookContext, signals: readonly Signal[], restart: () => void): HookContext {
  const { values, owner } = context
  return {
    signals,
    values,
    owner,
    stamp: (samples, word) => context.stamp(samples, word),
    open: (path) => context.open(path),
    log: (level, line) => context.log(level, line),
    hash: (algorithm) => context.hash(algorithm),
    restart,
  }
}

interface Chosen {
  type: HookType
  settings: SettingsReader
  priority: number
  enabled: boolean
}

function plain({ priority }: HookType): { priority: number; enabled: boolean } {
  return { priority, enabled: true }
}

function reader(of: string, settings: Settings, placeOf: PlaceOf | undefined): SettingsReader {
  return new SettingsReader(of, settings, [], placeOf)
}

/** A reader for each hook of the list. */
function settingsOf(list: unknown, of: string, placeOf: PlaceOf | undefined): SettingsReader[] {
  const each = list === undefined || list === null ? [] : Array.isArray(list) ? list : [list]
  return each.map((one: unknown, i) => {
    const name = each.length > 1 ? `${of}[${i}]` : of
    if (typeof one === 'string') return reader(`${name} ${one}`, { type: one }, placeOf)
    if (typeof one !== 'object' || one === null || Array.isArray(one))
      return reader(name, {}, placeOf).fail(
        `${name}: ${JSON.stringify(one)} is no hook. Expected a name, or for example: {"type":"scale","signal":"voltage","scale":1000}`,
      )
    const settings = one as Settings
    return reader(typeof settings.type === 'string' ? `${name} ${settings.type}` : name, settings, placeOf)
  })
}

function choose(settings: SettingsReader, known: Readonly<Record<string, HookType>>): Chosen {
  const name = settings.string('type', null, 'scale')
  const type = Object.hasOwn(known, name) ? known[name]! : settings.fail(unknown(settings.of, name, known), 'type')
  const priority = settings.integer('priority', type.priority, 0, 2 ** 31 - 1)
  return { type, settings, priority, enabled: settings.boolean('enabled', true) }
}

function unknown(of: string, name: string, known: Readonly<Record<string, HookType>>): string {
  const names = Object.keys(known)
  const nearest = names.toSorted((a, b) => distance(name, a) - distance(name, b))[0]
  return `${of}: there is no hook '${name}'. Did you mean '${nearest}'? There are: ${names.join(', ')}`
}
