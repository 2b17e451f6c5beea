/**
 * Naming middleware: functions for programs, and the environment for commands:
 *
 *     VERBENA_FAULTS=loss=3%,duplication=1%,delay=2ms,seed=7
 *     VERBENA_TAP=roce-%p.pcapng          %p is the process id; .pcap makes a pcap file
 *     VERBENA_TRACE=1
 *
 * From the environment the order is faults, trace, tap: the tap is nearest to the wire, as tcpdump would be.
 */
import {
  type FaultRates,
  type FaultsWrap,
  type TapWrap,
  type TraceWrap,
  VerbsError,
  type Wrap,
} from '../../verbs/provider/index.ts'

const probabilities = ['loss', 'duplication', 'reordering', 'corruption'] as const
const times = ['reorderMs', 'delayMs', 'jitterMs'] as const
const directions = ['out', 'in', 'both'] as const
/** Maximum delay of a packet: any protocol treats a packet that is later than this as lost. */
const longestMs = 60_000

/** Loses, duplicates, delays, reorders or damages packets. Throws EINVAL for a value that is not a valid probability or time. */
export function faults(rates: FaultRates): FaultsWrap {
  return checkWrap({ kind: 'faults', ...rates }) as FaultsWrap
}

/** Writes every packet to a pcapng file, which `verbena trace` and Wireshark read. */
export function tap(path: string): TapWrap {
  return checkWrap({ kind: 'tap', path }) as TapWrap
}

/** Writes a line for each packet: to `onLine` in the thread that opened the device, else to standard error. */
export function trace(onLine?: (line: string) => void): TraceWrap {
  return checkWrap(onLine ? { kind: 'trace', onLine } : { kind: 'trace' }) as TraceWrap
}

/** Throws EINVAL if `wrap` is not a valid layer; the message begins with `place`, the source of the request. */
export function checkWrap(wrap: Wrap, place = 'wrap'): Wrap {
  const wrong = (what: string): VerbsError => new VerbsError('EINVAL', 'openDevice', `${place}: ${what}`)
  if (typeof wrap !== 'object' || wrap === null) throw wrong('a layer is what faults(), tap() or trace() gives')
  if (wrap.kind === 'tap') {
    if (typeof wrap.path !== 'string' || wrap.path === '' || wrap.path.includes('\0'))
      throw wrong('a tap needs the name of a file')
  } else if (wrap.kind === 'trace') {
    if (wrap.onLine !== undefined && typeof wrap.onLine !== 'function') throw wrong('onLine is a function')
  } else if (wrap.kind === 'faults') {
    const known: readonly string[] = ['kind', 'direction', 'seed', ...probabilities, ...times]
    const stranger = Object.keys(wrap).find((key) => !known.includes(key))
    if (stranger) throw wrong(`there is no fault '${stranger}'; there are ${known.slice(1).join(', ')}`)
    for (const name of probabilities) {
      const value = wrap[name] ?? 0
      if (!(value >= 0 && value <= 1)) throw wrong(`${name} is a probability from 0 to 1, not ${value}`)
    }
    for (const name of times) {
      const value = wrap[name] ?? 0
      if (!(value >= 0 && value <= longestMs))
        throw wrong(`${name} is from 0 to ${longestMs} milliseconds, not ${value}`)
    }
    if (!directions.includes(wrap.direction ?? 'both')) throw wrong("direction is 'out', 'in' or 'both'")
    if (!Number.isSafeInteger(wrap.seed ?? 1)) throw wrong('seed is an integer')
  } else throw wrong(`there is no layer '${(wrap as { kind: string }).kind}'; there are faults, tap and trace`)
  return wrap
}

/** Returns the middleware that the environment requests. Throws EINVAL with the reason if a variable is invalid. */
export function wrapsOfEnvironment(env: NodeJS.ProcessEnv = process.env): Wrap[] {
  const wraps: Wrap[] = []
  if (env.VERBENA_FAULTS) wraps.push(parseFaults(env.VERBENA_FAULTS))
  if (env.VERBENA_TRACE && env.VERBENA_TRACE !== '0') wraps.push(trace())
  if (env.VERBENA_TAP) {
    const path = env.VERBENA_TAP.replaceAll('%p', String(process.pid))
    wraps.push(checkWrap({ kind: 'tap', path }, 'VERBENA_TAP'))
  }
  return wraps
}

let told = false
/**
 * Warns once if the environment requests middleware for a device that has no link to wrap: it has no effect there. The variables are
 * validated as for any other device.
 */
export function warnOfWraps(device: string, env: NodeJS.ProcessEnv = process.env): void {
  const wraps = wrapsOfEnvironment(env)
  if (wraps.length === 0 || told) return
  told = true
  const names = wraps.map(({ kind }) => `VERBENA_${kind.toUpperCase()}`).join(', ')
  process.emitWarning(
    `${names}: ${device} has no link to which this could be done; a device on a network has, for example roce:127.0.0.1`,
    { code: 'VERBENA_NO_LINK' },
  )
}

/** Parses `loss=3%,reordering=0.01,delay=2ms,jitter=500us,direction=out,seed=7`. */
export function parseFaults(text: string): FaultsWrap {
  const wrong = (what: string): VerbsError => new VerbsError('EINVAL', 'openDevice', `VERBENA_FAULTS: ${what}`)
  const rates: Record<string, unknown> = {}
  for (const part of text.split(',')) {
    const [name = '', value = ''] = part.split('=').map((word) => word.trim())
    if (name === '') continue
    if (value === '') throw wrong(`'${part}' is no setting: write ${name}=VALUE`)
    if (name === 'direction') rates[name] = value
    else if (name === 'delay' || name === 'jitter' || name === 'reorder')
      rates[`${name}Ms`] = milliseconds(value, wrong)
    else rates[name] = value.endsWith('%') ? Number(value.slice(0, -1)) / 100 : Number(value)
  }
  return checkWrap({ kind: 'faults', ...rates } as FaultsWrap, 'VERBENA_FAULTS') as FaultsWrap
}

function milliseconds(text: string, wrong: (what: string) => VerbsError): number {
  const match = /^(\d+(?:\.\d+)?)(us|ms|s)?$/.exec(text)
  if (!match) throw wrong(`'${text}' is no time: write 2ms, 500us or 1s`)
  return Number(match[1]) * { us: 0.001, ms: 1, s: 1000 }[(match[2] ?? 'ms') as 'us' | 'ms' | 's']
}
