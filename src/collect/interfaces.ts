/** Network interfaces that can carry RoCE: Ethernet, with the settings that affect RoCE. */
import { networkInterfaces } from 'node:os'
import { type Dcb, readDcb } from './dcb.ts'
import type { Tree } from './tree.ts'

export interface Interface {
  readonly name: string
  readonly mtu: number | undefined
  /** `up`, `down`, `unknown` (interfaces without a carrier of their own). */
  readonly state: string | undefined
  /** Speed in Mbit/s. */
  readonly speed: number | undefined
  readonly mac: string | undefined
  readonly driver: string | undefined
  readonly vlan: Vlan | undefined
  /** Bond or bridge to which it belongs. */
  readonly master: string | undefined
  readonly addresses: readonly string[]
  readonly dcb: Dcb | undefined
  /** Selector of a packet's priority, `dscp` or `pcp`, which drivers of NVIDIA’s OFED show in sysfs. */
  readonly ofedTrust: string | undefined
  /** Priorities for which the adapter reduces its rate (reaction point) and sends CNPs (notification point), as OFED reports them. */
  readonly ecn: { readonly notification: readonly number[]; readonly reaction: readonly number[] } | undefined
  /** Files that could not be read, with the reasons. */
  readonly unread: readonly string[]
}

export interface Vlan {
  readonly id: number
  readonly parent: string | undefined
}

const folder = 'sys/class/net'
const ethernetType = 1

/** Reads the Ethernet interfaces, except loopback. */
export function readInterfaces(tree: Tree, wanted: (name: string) => boolean): Interface[] {
  const addresses = tree.live ? networkInterfaces() : {}
  return tree.list(folder).flatMap((name) => {
    const at = `${folder}/${name}`
    if (!wanted(name) || tree.number(`${at}/type`, 0, 0xffff) !== ethernetType) return []
    const dcb = tree.live ? readDcb(name) : 'a recorded tree does not have it'
    return {
      name,
      mtu: tree.number(`${at}/mtu`, 0, 1e6),
      state: tree.optional(`${at}/operstate`),
      // −1 if it is not known.
      speed: tree.number(`${at}/speed`, -1, 1e7),
      mac: tree.optional(`${at}/address`),
      driver: tree.linked(`${at}/device/driver`),
      vlan: vlanOf(tree, name),
      master: tree.linked(`${at}/master`),
      addresses: (addresses[name] ?? []).map(({ cidr, address }) => cidr ?? address),
      dcb: typeof dcb === 'string' ? undefined : dcb,
      ofedTrust: tree.optional(`${at}/qos/trust`),
      ecn: ecnOf(tree, at),
      unread: typeof dcb === 'string' ? [`PFC, ETS and DSCP map of ${name}: ${dcb}`] : [],
    }
  })
}

/** Parses /proc/net/vlan/NAME: `eth0.100  VID: 100	 REORDER_HDR: 1 …`, `Device: eth0`. */
function vlanOf(tree: Tree, name: string): Vlan | undefined {
  const text = tree.optional(`proc/net/vlan/${name}`)
  const [, id] = /\bVID: (\d{1,4})\b/.exec(text ?? '') ?? []
  if (id !== undefined) return { id: Number(id), parent: /\bDevice: (\S+)/.exec(text!)?.[1] }
  return undefined
}

function ecnOf(tree: Tree, at: string): Interface['ecn'] {
  const enabled = (what: string): number[] =>
    tree.list(`${at}/ecn/${what}/enable`).flatMap((priority) => {
      const on = /^[0-7]$/.test(priority) && tree.number(`${at}/ecn/${what}/enable/${priority}`, 0, 1) === 1
      return on ? Number(priority) : []
    })
  if (!tree.exists(`${at}/ecn`)) return undefined
  return { notification: enabled('roce_np'), reaction: enabled('roce_rp') }
}
