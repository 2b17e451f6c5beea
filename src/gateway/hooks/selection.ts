/** Selection of the signals that a hook works on: those that `signals` or `signal` name, by their names or their indices from 0. */
import { didYouMean } from '../../spelling/index.ts'
import type { SettingsReader } from '../settings.ts'
import { type Signal, SignalType, signalTypeNames } from '../signals.ts'

const mostListed = 12

/** Types of signals that hooks of real numbers take. */
export const numbers: readonly SignalType[] = [SignalType.float, SignalType.integer]

/** Returns the indices that the list `signals`, or the one signal `signal`, select. `types`: those that the hook takes; without it all. */
export function selectedSignals(
  settings: SettingsReader,
  signals: readonly Signal[],
  types?: readonly SignalType[],
): Int32Array {
  const list = settings.any('signals')
  const single = settings.any('signal')
  const key = list === undefined && single !== undefined ? 'signal' : 'signals'
  if (list !== undefined && single !== undefined)
    settings.fail(`${settings.of}: 'signals' and 'signal' say the same: only one of them may be there`, 'signal')
  const chosen = key === 'signal' ? [single] : Array.isArray(list) ? list : list === undefined ? [] : [list]
  if (chosen.length === 0) settings.refuse(key, 'a list of names of signals', `["${signals[0]?.name ?? 'voltage'}"]`)
  return Int32Array.from(chosen, (each) => indexOf(settings, key, each, signals, types))
}

/** Returns the index that the setting of a single signal selects, under any key. */
export function selectedSignal(
  settings: SettingsReader,
  signals: readonly Signal[],
  key: string,
  types?: readonly SignalType[],
): number {
  const chosen = settings.any(key)
  if (chosen === undefined) settings.refuse(key, 'the name of a signal', `"${signals[0]?.name ?? 'voltage'}"`)
  return indexOf(settings, key, chosen, signals, types)
}

function indexOf(
  settings: SettingsReader,
  key: string,
  chosen: unknown,
  signals: readonly Signal[],
  types: readonly SignalType[] | undefined,
): number {
  const index = typeof chosen === 'string' ? signals.findIndex(({ name }) => name === chosen) : (chosen as number)
  const signal = Number.isInteger(index) ? signals[index] : undefined
  if (signal === undefined) settings.fail(`${settings.of}: ${key}: ${missing(chosen, signals)}`, key)
  if (types !== undefined && !types.includes(signal.type)) {
    const wanted = types.map((type) => signalTypeNames[type]).join(' or ')
    const is = signalTypeNames[signal.type]
    settings.fail(
      `${settings.of}: ${key}: ${signal.name} is ${is}, and must be ${wanted}: the hook cast changes it`,
      key,
    )
  }
  return index
}

function missing(chosen: unknown, signals: readonly Signal[]): string {
  const names = signals.map(({ name }) => name)
  if (typeof chosen !== 'string') {
    const most = names.length - 1
    return `${JSON.stringify(chosen)} is no signal. Expected a name, or an index from 0 to ${most}`
  }
  const listed = names.slice(0, mostListed).join(', ') + (names.length > mostListed ? ', …' : '')
  return `there is no signal '${chosen}'.${didYouMean(chosen, names)} There are: ${listed}`
}
