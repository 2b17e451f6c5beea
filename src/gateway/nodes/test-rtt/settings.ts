/** The settings of test_rtt: rates and values of each case, crossed with each other. */
import { type Format, mostSignals, type SettingsReader } from '../../index.ts'
import { unknownConversion } from '../file/uri.ts'
import { formatSetting, noMoreSettings } from '../kit/settings.ts'
import { type TimerName, timerNames } from '../timing/index.ts'

/** One measurement: a number of samples of a number of values at one rate. */
export interface Case {
  readonly id: number
  readonly rateHz: number
  readonly values: number
  readonly count: number
  /** Samples before those that count. */
  readonly warmup: number
  /** Seconds after the last sample, in which late ones may come. */
  readonly cooldown: number
}

export interface TestRttSettings {
  readonly format: Format
  readonly prefix: string
  readonly output: string
  readonly shutdown: boolean
  readonly timer: TimerName
  readonly cases: readonly Case[]
}

const smaller = ['min', 'stop_after_count', 'stop_after_duration'] as const
const larger = ['max', 'at_least_count', 'at_least_duration'] as const
const modes = [...smaller, ...larger]
type Mode = (typeof modes)[number]

const usualCount = 1000
const mostSamples = 1e9

/** Settings that a case may have, and all cases together. */
interface Defaults {
  readonly rates: readonly number[]
  readonly values: readonly number[]
  readonly count: number | undefined
  readonly duration: number | undefined
  readonly warmup: number
  readonly cooldown: number
  readonly mode: Mode
}

const none: Defaults = {
  rates: [],
  values: [],
  count: undefined,
  duration: undefined,
  warmup: 0,
  cooldown: 0,
  mode: 'at_least_count',
}

export function testRttSettings(settings: SettingsReader, nodeName: string): TestRttSettings {
  const format = formatSetting(settings, 'villas.human', { data: false })
  const prefix = settings.string('prefix', nodeName, 'rtt_%y-%m-%d')
  const wrong = unknownConversion(prefix)
  if (wrong !== undefined) settings.fail(`prefix: '${wrong}' is not known`, 'prefix')
  const output = settings.string('output', '.', './results')
  const shutdown = settings.boolean('shutdown', false)
  const timer = settings.choice('timer', 'hybrid', timerNames)
  const defaults = read(settings, none)
  const groups = settings.groups('cases')
  noMoreSettings(settings)
  if (groups.length === 0)
    settings.refuse('cases', 'a list of cases', '[{"rates":[100,1000],"values":[8],"count":1000}]')
  const cases: Case[] = []
  for (const group of groups) {
    const one = read(group, defaults)
    group.done()
    if (one.rates.length === 0) group.refuse('rates', 'a rate in Hz, or a list of them', '[100,1000]')
    if (one.values.length === 0) group.refuse('values', 'a number of values, or a list of them', '[8]')
    for (const rateHz of one.rates)
      for (const values of one.values) {
        const count = countOf(one, rateHz)
        if (count < 1 || count > mostSamples)
          group.fail(`${count} samples at ${rateHz} Hz: a case has 1 to ${mostSamples}`, 'count')
        cases.push({
          id: cases.length,
          rateHz,
          values,
          count,
          warmup: Math.round(one.warmup * rateHz),
          cooldown: one.cooldown,
        })
      }
  }
  return { format, prefix, output, shutdown, timer, cases }
}

function read(group: SettingsReader, otherwise: Defaults): Defaults {
  const numbers = (key: string, fallback: readonly number[], whole: boolean, most: number): readonly number[] => {
    const value = group.any(key) ?? fallback
    const list = (Array.isArray(value) ? value : [value]) as number[]
    for (const each of list)
      if (typeof each !== 'number' || !(each > 0 && each <= most) || (whole && !Number.isInteger(each)))
        group.refuse(key, `${whole ? 'whole numbers' : 'numbers'} up to ${most}, one or a list`, '[10,100]')
    return list
  }
  // A count in a case is not weighed against a duration of all cases, nor the other way round.
  const own = group.has('count') || group.has('duration')
  return {
    rates: numbers('rates', otherwise.rates, false, 1e7),
    values: numbers('values', otherwise.values, true, mostSignals),
    count: group.has('count') ? group.integer('count', 1, 1, mostSamples) : own ? undefined : otherwise.count,
    duration: group.has('duration') ? group.number('duration', 1, 0, 1e7) : own ? undefined : otherwise.duration,
    warmup: group.number('warmup', otherwise.warmup, 0, 1e6),
    cooldown: group.number('cooldown', otherwise.cooldown, 0, 1e6),
    mode: group.choice('mode', otherwise.mode, modes),
  }
}

function countOf({ count, duration, mode }: Defaults, rateHz: number): number {
  if (duration === undefined) return count ?? usualCount
  const ofDuration = Math.round(duration * rateHz)
  if (count === undefined) return ofDuration
  return (smaller as readonly string[]).includes(mode) ? Math.min(count, ofDuration) : Math.max(count, ofDuration)
}
