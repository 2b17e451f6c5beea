/** The hooks by name, as VILLASnode calls them, and chains of them from settings. */
import { didYouMean } from '../../spelling/index.ts'
import { settingsOfHook } from '../config/hooks.ts'
import type { HookConfig } from '../config/types.ts'
import type { PlaceOf } from '../settings.ts'
import type { Signal } from '../signals.ts'
import { average } from './average.ts'
import { cast } from './cast.ts'
import { HookChain } from './chain.ts'
import { decimate } from './decimate.ts'
import { digest } from './digest.ts'
import { dp } from './dp.ts'
import { drop } from './drop.ts'
import { dump } from './dump.ts'
import { ebm } from './ebm.ts'
import { fix } from './fix.ts'
import { frame } from './frame.ts'
import { gate } from './gate.ts'
import type { Hook, HookContext, HookType } from './hook.ts'
import { jitterCalc } from './jitter-calc.ts'
import { limitRate } from './limit-rate.ts'
import { limitValue } from './limit-value.ts'
import { luaUnloaded } from './lua.ts'
import { moduleHook } from './module.ts'
import { ma, rms } from './moving.ts'
import { pmuDft } from './pmu-dft.ts'
import { power } from './power.ts'
import { ppsTs } from './pps-ts.ts'
import { print } from './print.ts'
import { reorderTs } from './reorder-ts.ts'
import { restart } from './restart.ts'
import { round } from './round.ts'
import { scale } from './scale.ts'
import { shiftSeq, shiftTs } from './shift.ts'
import { skipFirst } from './skip-first.ts'
import { stats } from './stats.ts'
import { ts } from './ts.ts'

const types: readonly HookType[] = [
  average,
  cast,
  decimate,
  digest,
  dp,
  drop,
  dump,
  ebm,
  fix,
  frame,
  gate,
  jitterCalc,
  limitRate,
  limitValue,
  luaUnloaded,
  ma,
  moduleHook(new Map()),
  pmuDft,
  power,
  ppsTs,
  print,
  reorderTs,
  restart,
  rms,
  round,
  scale,
  shiftSeq,
  shiftTs,
  skipFirst,
  stats,
  ts,
]

/** All types of hooks; `module` without modules, `lua` without Lua. */
export const hookTypes: Readonly<Record<string, HookType>> = Object.fromEntries(types.map((type) => [type.name, type]))

export interface HookOptions {
  /** Owner of the hooks, for messages: "path 2". */
  of?: string
  /** Places of settings in a file. */
  placeOf?: PlaceOf
  /** Types to choose from; `hookTypes` without it. */
  types?: Readonly<Record<string, HookType>>
  /** Adds those that nodes have in their `in` direction, unless the list has them. */
  builtin?: boolean
}

/**
 * Returns the hooks of a path, or of a direction of a node. They run in the order of their priorities, lowest first, and where these are
 * the same, in the order of the list; `enabled: false` leaves one out. Throws a `GatewayError` that describes what is wrong, with its
 * place.
 */
export function hooksOf(list: readonly HookConfig[], context: HookContext, options: HookOptions = {}): HookChain {
  const { of = context.owner, types: known = hookTypes, builtin = false, placeOf } = options
  const configs = builtin ? [...missing(list, known), ...list] : list
  const chosen = configs
    .map((config) => ({ config, type: typeOf(config, known, of, placeOf) }))
    .filter(({ config }) => config.enabled)
    .toSorted((a, b) => priorityOf(a) - priorityOf(b))
  const hooks: Hook[] = []
  let signals = context.signals
  let chain: HookChain | undefined
  const restart = (): void => {
    chain?.restart()
    context.restart?.()
  }
  for (const { config, type } of chosen) {
    const settings = settingsOfHook(of, config, placeOf)
    const hook = type.make(settings, contextOf(context, signals, restart))
    settings.done()
    const count = hook.signals.length
    if (count > context.values)
      settings.fail(`${settings.of}: its samples have ${count} values, and there is room for ${context.values}`)
    hooks.push(hook)
    signals = hook.signals
  }
  chain = new HookChain(hooks, context.signals)
  return chain
}

/** Returns the built-in hooks that a list lacks. */
function missing(list: readonly HookConfig[], known: Readonly<Record<string, HookType>>): HookConfig[] {
  const added = Object.values(known).filter(({ name, builtin }) => builtin && !list.some(({ type }) => type === name))
  return added.map(({ name }) => ({ type: name, priority: null, enabled: true, settings: { type: name } }))
}

function typeOf(
  config: HookConfig,
  known: Readonly<Record<string, HookType>>,
  of: string,
  placeOf: PlaceOf | undefined,
): HookType {
  const name = config.type
  if (Object.hasOwn(known, name)) return known[name]!
  const settings = settingsOfHook(of, config, placeOf)
  if (Object.hasOwn(notHere, name)) settings.fail(`${of}: ${notHere[name]}`, 'type')
  const names = Object.keys(known)
  const there = `${didYouMean(name, names)} There are: ${names.join(', ')}`
  return settings.fail(`${of}: there is no hook '${name}'.${there}`, 'type')
}

/** Hooks of VILLASnode for which there is something else. */
const notHere: Readonly<Record<string, string>> = {
  pmu: "hook pmu: in VILLASnode, too, it estimates nothing. The hook 'pmu_dft' does",
  'ip-dft-pmu': 'hook ip-dft-pmu: the hook \'pmu_dft\' does the same with estimate_type = "ipdft"',
}

function priorityOf({ config, type }: { config: HookConfig; type: HookType }): number {
  return config.priority ?? type.priority
}

/** Returns the context of one hook of a chain. */
function contextOf(context: HookContext, signals: readonly Signal[], restart: () => void): HookContext {
  const { values, owner, initialSequence = 0, place = 'path' } = context
  return {
    signals,
    values,
    owner,
    initialSequence,
    place,
    stamp: (samples, word) => context.stamp(samples, word),
    nowNs: () => context.nowNs(),
    open: (path) => context.open(path),
    log: (level, line) => context.log(level, line),
    hash: (algorithm) => context.hash(algorithm),
    publish: (statistics) => context.publish?.(statistics),
    restart,
  }
}
