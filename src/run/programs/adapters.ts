/** The adapters of a run, opened in the supervisor's thread: what sysfs shows of them, and the doors to them. */
import { shmDriver } from '../../devices/shm/index.ts'
import { type Context, GidType, LinkLayer, openDevice } from '../../verbs/index.ts'
import { registerDriver } from '../../verbs/provider/index.ts'
import type { Door, SysfsTree } from '../door.ts'
import { rdmaCmSysfs, type Served, type SysfsAdapter, sysfsOf } from '../front/index.ts'
import { RdmaCmDoor } from '../rdma-cm/index.ts'
import { IssmDoor, UmadDoor, UmadPort } from '../umad/index.ts'
import { processWaist, UverbsDoor } from '../uverbs/index.ts'

export interface RunAdapter {
  /** A name that `openDevice` takes. */
  readonly device: string
  /** As programs see it: `rxe0`. */
  readonly name: string
}

export interface RunSettings {
  readonly adapters: readonly RunAdapter[]
}

/** IB_PORT_CM_SUP. */
const capMask = 0x10000
/** What the kernel's driver says of an interface whose speed is not known. */
const rate = '10 Gb/sec (4X SDR)'

export function openAdapters({ adapters }: RunSettings): Served {
  // The library as a whole, which knows all drivers, took 40 ms more of each start.
  registerDriver(shmDriver)
  const doors: Door[] = []
  const shown: SysfsAdapter[] = []
  /** Contexts of the RDMA CM, so that each door is told of its own objects alone. */
  const contexts: Context[] = []
  for (const [index, { device, name }] of adapters.entries()) {
    const context = openDevice(device)
    const door = new UverbsDoor(processWaist(context), index)
    const port = new UmadPort(openDevice(device))
    doors.push(door, new UmadDoor(port, index), new IssmDoor(port, index))
    contexts.push(openDevice(device))
    shown.push({ ...describe(context, name, index, door.device), live: port.files() })
  }
  const cm = new RdmaCmDoor(contexts)
  doors.push(cm)
  const trees = [sysfsOf(shown), rdmaCmSysfs(cm.device)]
  return { doors, sysfs: joined(trees) }
}

function joined(trees: readonly SysfsTree[]): SysfsTree {
  return {
    files: new Map(trees.flatMap(({ files }) => [...files])),
    links: new Map(trees.flatMap(({ links }) => [...links])),
    live: new Map(trees.flatMap(({ live }) => [...live])),
  }
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
  return {
    ...{ name, index, rate, capMask },
    device: numbers,
    nodeGuid: device.nodeGuid,
    linkLayer: isEthernet ? 'Ethernet' : 'InfiniBand',
    gids: context.queryGidTable().map(({ gid, gidType }) => ({
      gid,
      type: !isEthernet ? null : gidType === GidType.RoceV2 ? 'RoCE v2' : 'IB/RoCE v1',
      netdev: '',
    })),
    state: port.state,
    lid: port.lid,
    smLid: port.smLid,
    firmware: device.fwVer,
    live: {},
  }
}
