/**
 * Data centre bridging of an interface: priority flow control, traffic classes, mapping of DSCP to priority. The kernel reports it
 * by netlink (RTM_GETDCB) if the driver keeps it in the kernel; some adapters keep it in firmware and do not report it.
 * Source: include/uapi/linux/dcbnl.h, and dcb of iproute2 for the table of trusted selectors (Linux 6.2); IEEE 802.1Q-2018, clause 36
 * (PFC) and 37 (ETS), annex D (application priority).
 */
import { NativeError, nativeAvailable, nativeReason, netlinkRequest } from '../memory/index.ts'

export interface Dcb {
  /** PFC state by priority. */
  readonly pfc: readonly boolean[] | undefined
  /** Traffic class of each priority, and bandwidth and algorithm of each class. */
  readonly ets: Ets | undefined
  /** DSCP to priority, as configured in the driver; all other DSCPs follow the driver's default. */
  readonly dscp: ReadonlyMap<number, number>
  /** Selectors of a packet's priority, the first that applies: `dscp`, `pcp`. Undefined if the kernel does not report them. */
  readonly trust: readonly string[] | undefined
}

export interface Ets {
  readonly classOf: readonly number[]
  /** Percentage of the bandwidth of each class, among the classes that share it. */
  readonly bandwidth: readonly number[]
  /** Scheduling algorithm of each class. */
  readonly algorithm: readonly ('strict' | 'credit-based shaper' | 'ets' | 'vendor')[]
}

const NETLINK_ROUTE = 0
const RTM_GETDCB = 78
const DCB_CMD_IEEE_GET = 21
const Attribute = { ifname: 1, ieee: 13 } as const
const Ieee = { ets: 1, pfc: 2, apps: 3, trust: 11 } as const
const appSelector = { dscp: 5, pcp: 255 } as const
const headerBytes = 4
const attributeTypeBits = 0x3fff
const etsBytes = 3 + 7 * 8

/** Returns the settings, or, as text, the reason why they could not be read. */
export function readDcb(netdev: string): Dcb | string {
  if (!nativeAvailable) return nativeReason
  try {
    const answer = netlinkRequest(NETLINK_ROUTE, RTM_GETDCB, dcbRequest(netdev))
    return parseDcb(answer) ?? 'the kernel’s answer is damaged'
  } catch (error) {
    if (!(error instanceof NativeError)) throw error
    return error.code === 'EOPNOTSUPP' ? 'its driver does not tell the kernel' : error.message
  }
}

function dcbRequest(netdev: string): Uint8Array {
  const name = new TextEncoder().encode(`${netdev}\0`)
  const length = 4 + name.length
  const bytes = new Uint8Array(headerBytes + ((length + 3) & ~3))
  bytes[1] = DCB_CMD_IEEE_GET
  const view = new DataView(bytes.buffer)
  view.setUint16(headerBytes, length, true)
  view.setUint16(headerBytes + 2, Attribute.ifname, true)
  bytes.set(name, headerBytes + 4)
  return bytes
}

/** Parses the kernel's answer; undefined if it has no such settings, or impossible lengths. */
export function parseDcb(answer: Uint8Array): Dcb | undefined {
  const outer = attributes(answer.subarray(headerBytes))
  const ieee = outer?.find(({ type }) => type === Attribute.ieee)
  const inner = ieee && attributes(ieee.value)
  if (inner === undefined) return undefined
  const contentOf = (type: number): Uint8Array | undefined => inner.find((one) => one.type === type)?.value
  const pfc = contentOf(Ieee.pfc)
  const ets = contentOf(Ieee.ets)
  const apps = attributes(contentOf(Ieee.apps) ?? new Uint8Array(0)) ?? []
  const trust = contentOf(Ieee.trust)
  const dscp = apps.flatMap(({ value }): [number, number][] => {
    // struct dcb_app: selector, priority, protocol.
    if (value.length < 4 || value[0] !== appSelector.dscp) return []
    return [[value[2]! | (value[3]! << 8), value[1]!]]
  })
  return {
    pfc:
      pfc && pfc.length >= 2
        ? Array.from({ length: 8 }, (_, priority) => ((pfc[1]! >> priority) & 1) === 1)
        : undefined,
    ets: ets && ets.length >= etsBytes ? etsOf(ets) : undefined,
    dscp: new Map(dscp),
    trust: trust && trustOf(trust),
  }
}

function etsOf(b: Uint8Array): Ets {
  // willing, ets_cap, cbs; then of each class or priority: tx bandwidth, rx bandwidth, tsa, priority to class, …
  const eight = (at: number): number[] => Array.from(b.subarray(at, at + 8))
  const algorithm = (tsa: number): Ets['algorithm'][number] =>
    tsa === 0 ? 'strict' : tsa === 1 ? 'credit-based shaper' : tsa === 2 ? 'ets' : 'vendor'
  return { bandwidth: eight(3), algorithm: eight(19).map(algorithm), classOf: eight(27) }
}

function trustOf(value: Uint8Array): string[] {
  return (attributes(value) ?? []).flatMap(({ value: [selector] }) =>
    selector === appSelector.dscp ? ['dscp'] : selector === appSelector.pcp ? ['pcp'] : [],
  )
}

interface NetlinkAttribute {
  type: number
  value: Uint8Array
}

/** Splits a sequence of struct nlattr: length including these four bytes, type; values are padded to four. */
function attributes(bytes: Uint8Array): NetlinkAttribute[] | undefined {
  const found: NetlinkAttribute[] = []
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = view.getUint16(at, true)
    if (length < 4 || at + length > bytes.length) return undefined
    found.push({ type: view.getUint16(at + 2, true) & attributeTypeBits, value: bytes.subarray(at + 4, at + length) })
    at += (length + 3) & ~3
  }
  return found
}
