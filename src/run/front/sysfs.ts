/**
 * Files of sysfs for adapters, as the kernel's driver rxe provides them: those that libibverbs reads to find adapters, and those that other
 * programs look for (UCX, hwloc, Open MPI, the Prometheus node exporter). See Documentation/ABI/stable/sysfs-class-infiniband of Linux.
 */
import { leastGidSlots, type SysfsTree } from '../door.ts'

export interface SysfsGid {
  readonly gid: Uint8Array
  /** Type of the GID; null on InfiniBand. */
  readonly type: 'RoCE v2' | 'IB/RoCE v1' | null
  /** Interface that the GID belongs to; empty without one. */
  readonly netdev: string
}

export interface SysfsAdapter {
  /** Name for programs: `rxe0`. */
  readonly name: string
  /** Index of its character device: the 0 of uverbs0. */
  readonly index: number
  readonly device: readonly [major: number, minor: number]
  readonly nodeGuid: bigint
  readonly linkLayer: 'Ethernet' | 'InfiniBand'
  readonly gids: readonly SysfsGid[]
  /** IB_PORT_…: 4 is active. */
  readonly state: number
  readonly lid: number
  readonly smLid: number
  /** Content of the file `rate`: `10 Gb/sec (4X SDR)`. */
  readonly rate: string
  readonly capMask: number
  readonly firmware: string
  /** Files of the port whose content changes, by their path below it; each function returns the content. */
  readonly live: Readonly<Record<string, () => string>>
}

/** The ABI of uverbs, and that of the provider's queues. */
const verbsAbi = 6
const rxeAbi = 2
const madAbi = 5
/** The minor number of the first issm device. */
const firstIssm = 64
const rdmaCmAbi = 4
const portStates = ['NOP', 'DOWN', 'INIT', 'ARMED', 'ACTIVE', 'ACTIVE_DEFER'] as const
const active = 4

export function sysfsOf(adapters: readonly SysfsAdapter[]): SysfsTree {
  const files = new Map<string, string>()
  const links = new Map<string, string>()
  const live = new Map<string, () => string>()
  files.set('/sys/class/infiniband_verbs/abi_version', `${verbsAbi}\n`)
  files.set('/sys/class/infiniband_mad/abi_version', `${madAbi}\n`)
  for (const adapter of adapters) add(adapter, files, links, live)
  return { files, links, live }
}

/** Returns the files by which librdmacm recognizes an RDMA CM: the version of its ABI, and its device. */
export function rdmaCmSysfs([major, minor]: readonly [number, number]): SysfsTree {
  const root = '/sys/devices/virtual/misc/rdma_cm'
  const files = new Map([
    [`${root}/abi_version`, `${rdmaCmAbi}\n`],
    [`${root}/dev`, `${major}:${minor}\n`],
    [`${root}/uevent`, `MAJOR=${major}\nMINOR=${minor}\nDEVNAME=infiniband/rdma_cm\n`],
  ])
  const links = new Map([['/sys/class/misc/rdma_cm', '../../devices/virtual/misc/rdma_cm']])
  return { files, links, live: new Map() }
}

function add(
  adapter: SysfsAdapter,
  files: Map<string, string>,
  links: Map<string, string>,
  live: Map<string, () => string>,
): void {
  const { name, index } = adapter
  const verbs = `/sys/devices/virtual/infiniband_verbs/uverbs${index}`
  links.set(`/sys/class/infiniband_verbs/uverbs${index}`, `../../devices/virtual/infiniband_verbs/uverbs${index}`)
  files.set(`${verbs}/ibdev`, `${name}\n`)
  files.set(`${verbs}/abi_version`, `${rxeAbi}\n`)
  files.set(`${verbs}/dev`, `${adapter.device.join(':')}\n`)
  files.set(
    `${verbs}/uevent`,
    `MAJOR=${adapter.device[0]}\nMINOR=${adapter.device[1]}\nDEVNAME=infiniband/uverbs${index}\n`,
  )

  for (const [kind, minor] of [
    ['umad', index],
    ['issm', firstIssm + index],
  ] as const) {
    const mad = `/sys/devices/virtual/infiniband_mad/${kind}${index}`
    links.set(`/sys/class/infiniband_mad/${kind}${index}`, `../../devices/virtual/infiniband_mad/${kind}${index}`)
    files.set(`${mad}/ibdev`, `${name}\n`)
    files.set(`${mad}/port`, '1\n')
    files.set(`${mad}/dev`, `${adapter.device[0]}:${minor}\n`)
  }

  const root = `/sys/devices/virtual/infiniband/${name}`
  links.set(`/sys/class/infiniband/${name}`, `../../devices/virtual/infiniband/${name}`)
  links.set(`${root}/subsystem`, '../../../../class/infiniband')
  const guid = groups(guidBytes(adapter.nodeGuid))
  const netdevs = new Set(adapter.gids.map(({ netdev }) => netdev).filter((netdev) => netdev !== ''))
  const ofDevice = {
    node_type: '1: CA',
    node_guid: guid,
    sys_image_guid: guid,
    node_desc: name,
    fw_ver: adapter.firmware,
    hw_rev: '0',
    hca_type: 'RXE',
    board_id: 'rxe',
    uevent: `NAME=${name}`,
    parent: [...netdevs][0] ?? '',
    // There is no PCI device; but programs that query its interfaces, and its NUMA node, find an answer.
    'device/numa_node': '-1',
  }
  for (const [file, content] of Object.entries(ofDevice)) files.set(`${root}/${file}`, `${content}\n`)
  for (const netdev of netdevs) links.set(`${root}/device/net/${netdev}`, `/sys/class/net/${netdev}`)

  const port = `${root}/ports/1`
  const isActive = adapter.state === active
  const ofPort = {
    state: `${adapter.state}: ${portStates[adapter.state] ?? '<unknown>'}`,
    phys_state: isActive ? '5: LinkUp' : '3: Disabled',
    rate: adapter.rate,
    lid: hex(adapter.lid),
    lid_mask_count: '0',
    sm_lid: hex(adapter.smLid),
    sm_sl: '0',
    cap_mask: `0x${adapter.capMask.toString(16).padStart(8, '0')}`,
    link_layer: adapter.linkLayer,
    'pkeys/0': '0xffff',
  }
  for (const [file, content] of Object.entries(ofPort)) files.set(`${port}/${file}`, `${content}\n`)
  for (const [file, content] of Object.entries(adapter.live)) {
    files.delete(`${port}/${file}`)
    live.set(`${port}/${file}`, () => `${content()}\n`)
  }
  adapter.gids.forEach(({ gid, type, netdev }, i) => {
    files.set(`${port}/gids/${i}`, `${groups(gid)}\n`)
    // The kernel's file cannot be read on InfiniBand, and a file that is there can.
    if (type !== null) files.set(`${port}/gid_attrs/types/${i}`, `${type}\n`)
    files.set(`${port}/gid_attrs/ndevs/${i}`, `${netdev}\n`)
  })
  const none = groups(new Uint8Array(16))
  for (let i = adapter.gids.length; i < leastGidSlots; i++) files.set(`${port}/gids/${i}`, `${none}\n`)
}

const hex = (value: number): string => `0x${value.toString(16)}`

function guidBytes(guid: bigint): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, guid)
  return bytes
}

/** Hexadecimal digits in groups of four. */
function groups(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('hex')
    .replace(/(.{4})(?!$)/g, '$1:')
}
