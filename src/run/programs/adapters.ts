/** The adapters of a run, opened in the supervisor's thread: what sysfs shows of them, and the doors to them. */
import { wrapsOfEnvironment } from '../../devices/middleware/index.ts'
import { shmDriver } from '../../devices/shm/index.ts'
import { hostLinks } from '../../memory/index.ts'
import { type Context, GidType, LinkLayer, type OpenOptions, openDevice } from '../../verbs/index.ts'
import { registerDriver } from '../../verbs/provider/index.ts'
import type { Door } from '../door.ts'
import { type Served, type SysfsAdapter, sysfsOf } from '../front/index.ts'
import { processWaist, UverbsDoor } from '../uverbs/index.ts'

/** By its name: an adapter of which packets leave. */
export const isOnNetwork = (device: string): boolean => device === 'roce' || device.startsWith('roce:')

export interface RunAdapter {
  /** A name that `openDevice` takes. */
  readonly device: string
  /** As programs see it: `rxe0`. */
  readonly name: string
}

/** What happens to packets of adapters on a network, in the terms of the environment: VERBENA_FAULTS, VERBENA_TAP. */
export interface RunMiddleware {
  readonly faults?: string
  readonly tap?: string
}

export interface RunSettings {
  readonly adapters: readonly RunAdapter[]
  readonly middleware: RunMiddleware
}

/** IB_PORT_CM_SUP. */
const capMask = 0x10000
/** What the kernel's driver says of an interface whose speed is not known. */
const rate = '10 Gb/sec (4X SDR)'

/** Before `openAdapters`: loads what drives the adapters of a network, if there are any. It takes longer to load than all else. */
export async function loadDrivers({ adapters }: RunSettings): Promise<void> {
  if (!adapters.some(({ device }) => isOnNetwork(device))) return
  const { roceDriver } = await import('../../devices/roce/index.ts')
  registerDriver(roceDriver)
}

export function openAdapters({ adapters, middleware }: RunSettings): Served {
  // The library as a whole, which knows all drivers, took 40 ms more of each start.
  registerDriver(shmDriver)
  const doors: Door[] = []
  const shown: SysfsAdapter[] = []
  for (const [index, { device, name }] of adapters.entries()) {
    const context = openDevice(device, optionsOf(device, middleware))
    const door = new UverbsDoor(processWaist(context), index)
    doors.push(door)
    shown.push(describe(context, name, index, door.device))
  }
  return { doors, sysfs: sysfsOf(shown) }
}

function optionsOf(device: string, { faults, tap }: RunMiddleware): OpenOptions {
  const wrap = wrapsOfEnvironment({ VERBENA_FAULTS: faults, VERBENA_TAP: tap })
  return wrap.length > 0 && isOnNetwork(device) ? { wrap, drives: true } : { drives: true }
}

/** What sysfs shows of an adapter. */
export function describe(
  context: Context,
  name: string,
  index: number,
  numbers: readonly [number, number],
): SysfsAdapter {
  const device = context.queryDevice()
  const port = context.queryPort(1)
  const isEthernet = port.linkLayer === LinkLayer.Ethernet
  const links = isEthernet ? hostLinks() : []
  return {
    ...{ name, index, rate, capMask },
    device: numbers,
    nodeGuid: device.nodeGuid,
    linkLayer: isEthernet ? 'Ethernet' : 'InfiniBand',
    gids: context.queryGidTable().map(({ gid, gidType, ndevIfindex }) => ({
      gid,
      type: !isEthernet ? null : gidType === GidType.RoceV2 ? 'RoCE v2' : 'IB/RoCE v1',
      netdev: links.find(({ ifindex }) => ifindex === ndevIfindex)?.name ?? '',
    })),
    state: port.state,
    lid: port.lid,
    smLid: port.smLid,
    firmware: device.fwVer,
  }
}
