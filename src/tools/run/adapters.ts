/** The options that choose the adapters of a program, and their names. */
import type { RunAdapter, RunMiddleware } from '../../run/programs/index.ts'
import { UsageError, wrongValue } from '../kit/index.ts'

const defaultDevice = 'shm:run'
/** Pattern of the names by which the stock provider rxe accepts adapters: IB_DEVICE_NAME_MAX including its NUL is 64. */
const providerName = /^rxe[A-Za-z0-9_-]{0,60}$/

export function runAdapters(devices: readonly string[], names: readonly string[]): RunAdapter[] {
  const chosen = devices.length > 0 ? devices : [defaultDevice]
  for (const device of chosen) {
    if (/^shm[01]$/.test(device))
      throw new UsageError(
        '--device',
        `${device} lives within one process, and programs are several: name a segment that all open, for example ${defaultDevice}`,
      )
  }
  if (names.length > chosen.length)
    throw new UsageError('--name', `there are ${names.length} names for ${chosen.length} adapters`)
  for (const name of names)
    if (!providerName.test(name))
      throw wrongValue(
        '--name',
        name,
        'a name that begins with rxe, because libibverbs finds its provider by that',
        'rxe0',
      )
  const free = ['rxe0', ...chosen.map((_, i) => `rxe${i + 1}`)].filter((name) => !names.includes(name))
  const adapters = chosen.map((device, i) => ({ device, name: names[i] ?? free.shift()! }))
  const twice = adapters.find(({ name }, i) => adapters.findIndex((other) => other.name === name) !== i)
  if (twice !== undefined) throw new UsageError('--name', `two adapters are called ${twice.name}`)
  return adapters
}

/** Returns the middleware for packets, which only adapters on a network have. */
export function runMiddleware(
  adapters: readonly RunAdapter[],
  { faults, tap }: { faults?: string; tap?: string },
): RunMiddleware {
  const stranger = adapters.find(({ device }) => !/^roce(:|$)/.test(device))
  for (const [option, value] of [
    ['--faults', faults],
    ['--tap', tap],
  ] as const)
    if (value !== undefined && stranger !== undefined)
      throw new UsageError(
        option,
        `${stranger.device} has no packets to which this could be done: name adapters on a network, for example --device roce:127.0.0.1`,
      )
  return { ...(faults === undefined ? {} : { faults }), ...(tap === undefined ? {} : { tap }) }
}
