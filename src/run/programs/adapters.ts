/** The adapters of a run, opened in the supervisor's thread: their files of sysfs, and the doors to them. */
import { wrapsOfEnvironment } from '../../devices/middleware/index.ts'
import { shmDriver } from '../../devices/shm/index.ts'
import { hostLinks } from '../../memory/index.ts'
import { type Context, GidType, LinkLayer, type OpenOptions, openDevice } from '../../verbs/index.ts'
import { registerDriver } from '../../verbs/provider/index.ts'
import type { Door, SysfsTree } from '../door.ts'
import { rdmaCmSysfs, type Served, type SysfsAdapter, sysfsOf } from '../front/index.ts'
import { RdmaCmDoor } from '../rdma-cm/index.ts'
import { IssmDoor, UmadDoor, UmadPort } from '../umad/index.ts'
import { processWaist, UverbsDoor } from '../uverbs/index.ts'
import { lineOf, Output, programName, Watch, type WatchSettings } from '../watch/index.ts'

/** True if packets leave an adapter of this name. */
const isOnNetwork = (device: string): boolean => device === 'roce' || device.startsWith('roce:')

export interface RunAdapter {
  /** A name that `openDevice` takes. */
  readonly device: string
  /** Name for programs: `rxe0`. */
  readonly name: string
}

/** Middleware of adapters on a network, in the syntax of the environment: VERBENA_FAULTS, VERBENA_TAP. */
export interface RunMiddleware {
  readonly faults?: string
  readonly tap?: string
}

export interface RunSettings {
  readonly adapters: readonly RunAdapter[]
  /** Reports about programs; null for none. */
  readonly watch: WatchSettings | null
  /** Flag: doorbells are answered as commands. */
  readonly strict: boolean
  readonly middleware: RunMiddleware
}

/** IB_PORT_CM_SUP. */
const capMask = 0x10000
/** Rate that the kernel's driver reports for an interface of unknown speed. */
const rate = '10 Gb/sec (4X SDR)'

/** Loads the drivers of adapters on a network, if there are any, before `openAdapters`. They take longer to load than all other modules. */
export async function loadDrivers({ adapters }: RunSettings): Promise<void> {
  if (!adapters.some(({ device }) => isOnNetwork(device))) return
  const { roceDriver } = await import('../../devices/roce/index.ts')
  registerDriver(roceDriver)
}

export function openAdapters({ adapters, middleware, watch: wanted, strict }: RunSettings): Served {
  // The library as a whole, which knows all drivers, took 40 ms more of each start.
  registerDriver(shmDriver)
  const watch = wanted === null ? null : new Watch(wanted)
  const opened: { readonly adapter: RunAdapter; readonly context: Context; readonly before: Counts }[] = []
  const doors: Door[] = []
  const shown: SysfsAdapter[] = []
  /** Contexts of the RDMA CM, so that each door receives the events of its own objects alone. */
  const contexts: Context[] = []
  for (const [index, adapter] of adapters.entries()) {
    const { device, name } = adapter
    const context = openDevice(device, optionsOf(device, middleware))
    const seesPeers = /^shm/.test(device)
    const door = new UverbsDoor(processWaist(context), index, {
      watch: watch && { observer: watch, device: name, seesPeers },
      ...(strict ? {} : { onOldLibrary }),
    })
    const port = new UmadPort(openDevice(device))
    const umad = new UmadDoor(port, index, watch && { observer: watch, device: name })
    doors.push(door, umad, new IssmDoor(port, index))
    contexts.push(openDevice(device))
    shown.push({ ...describe(context, name, index, door.device), live: port.files() })
    opened.push({ adapter, context, before: context.counters() })
  }
  const cm = new RdmaCmDoor(contexts, watch && { observer: watch, adapters })
  doors.push(cm)
  const served = { doors, sysfs: joined([sysfsOf(shown), rdmaCmSysfs(cm.device)]) }
  if (watch === null) return served
  return {
    ...served,
    onRefused: (pid, reason) => watch.explain(watch.observed(pid), reason),
    ended: () =>
      watch.end(
        opened.map(({ adapter, context, before }) => ({ ...adapter, counters: since(before, context.counters()) })),
      ),
  }
}

/** Warns of an old library: doorbells are not seen as commands, and that library's commands of their size would be lost in silence. */
function onOldLibrary(pid: number): void {
  new Output(2).line(
    `verbena run: ${lineOf({ pid, program: programName(pid) }, 'its libibverbs is older than rdma-core 22: of its commands those of 32 bytes (ibv_attach_mcast, ibv_detach_mcast, ibv_modify_srq) are not seen. Start it with verbena run --strict')}`,
  )
}

type Counts = Readonly<Record<string, number>>

/** Returns the counts between two readings. */
function since(before: Counts, after: Counts): Counts {
  const grown = Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)] as const)
  return Object.fromEntries(grown.filter(([, value]) => value !== 0))
}

function optionsOf(device: string, { faults, tap }: RunMiddleware): OpenOptions {
  const wrap = wrapsOfEnvironment({ VERBENA_FAULTS: faults, VERBENA_TAP: tap })
  return wrap.length > 0 && isOnNetwork(device) ? { wrap, drives: true } : { drives: true }
}

function joined(trees: readonly SysfsTree[]): SysfsTree {
  return {
    files: new Map(trees.flatMap(({ files }) => [...files])),
    links: new Map(trees.flatMap(({ links }) => [...links])),
    live: new Map(trees.flatMap(({ live }) => [...live])),
  }
}

/** Describes an adapter for sysfs. */
function describe(context: Context, name: string, index: number, numbers: readonly [number, number]): SysfsAdapter {
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
    live: {},
  }
}
