/**
 * The performance management agent of an adapter: the counters of its port (InfiniBand Architecture Specification, volume 1, 16.1.3 and
 * 16.1.4). Counters of PortCounters stop at their largest value; a Set writes those that its mask selects.
 */
import {
  allPorts,
  classPortInfoCodec,
  extendedErrors,
  Mad,
  MadAttribute,
  MadMethod,
  MadStatus,
  Perf,
  PerfAttribute,
  PerfCapability,
  type PortCounters,
  type PortCountersExtended,
  portCountersCodec,
  portCountersExtendedCodec,
  put16,
  put64Big,
  u16,
} from '../wire/index.ts'
import type { Answer, ManagedNode, TrafficName } from './node.ts'

/** Class version of performance management. */
const classVersion = 1
/** A response takes at most 4.096 µs · 2^18, a second. */
const respTimeValue = 18

/** Counter of PortCounters: the bit of the mask that selects it, and its maximum. */
interface Narrow {
  readonly field: keyof PortCounters & string
  readonly bit: number
  readonly limit: number
}
const narrow: Readonly<Record<TrafficName, Narrow>> = {
  rcvErrors: { field: 'rcvErrors', bit: 3, limit: 0xffff },
  xmitDiscards: { field: 'xmitDiscards', bit: 6, limit: 0xffff },
  xmitData: { field: 'xmitData', bit: 12, limit: 0xffffffff },
  rcvData: { field: 'rcvData', bit: 13, limit: 0xffffffff },
  xmitPkts: { field: 'xmitPkts', bit: 14, limit: 0xffffffff },
  rcvPkts: { field: 'rcvPkts', bit: 15, limit: 0xffffffff },
  // In the second mask, which begins at bit 16 here.
  qp1Dropped: { field: 'qp1Dropped', bit: 17, limit: 0xffff },
}
const narrowNames = Object.keys(narrow) as TrafficName[]

/** Bits of the mask of PortCountersExtended; for error counters bits of the second mask. */
const wide = { xmitData: 0, rcvData: 1, xmitPkts: 2, rcvPkts: 3 } as const
const wideErrors: Readonly<Partial<Record<TrafficName, number>>> = { rcvErrors: 3, xmitDiscards: 6, qp1Dropped: 13 }

/** Serves a request: the 256 bytes of `mad` become the response. */
export function answerPerf(node: ManagedNode, mad: Uint8Array): Answer {
  const method = mad[Mad.method]!
  if (method !== MadMethod.get && method !== MadMethod.set) return 'passed'
  let status: number = MadStatus.badVersion
  // IBA 13.4.7: the status reports a version or an attribute that is not supported.
  if (mad[Mad.baseVersion] === 1 && mad[Mad.classVersion] === classVersion)
    status = serve(node, mad, method === MadMethod.set)
  mad[Mad.method] = MadMethod.getResponse
  put16(mad, Mad.status, status)
  return 'answered'
}

function serve(node: ManagedNode, mad: Uint8Array, isSet: boolean): number {
  const data = mad.subarray(Perf.data, Perf.data + Perf.dataLength)
  switch (u16(mad, Mad.attributeId)) {
    case MadAttribute.classPortInfo:
      if (isSet) return MadStatus.unsupportedAttribute
      data.fill(0)
      classPortInfoCodec.emit(
        {
          baseVersion: 1,
          classVersion,
          capabilityMask: PerfCapability.extendedWidthNoIetf,
          capabilityMask2: 0,
          respTimeValue,
        },
        data,
        0,
      )
      return MadStatus.success
    case PerfAttribute.portCounters: {
      const asked = portCountersCodec.read(data, 0)
      if (!isOwnPort(asked.portSelect)) return MadStatus.invalidField
      if (isSet) setNarrow(node, asked)
      data.fill(0)
      portCountersCodec.emit({ ...readNarrow(node), ...selection(asked) }, data, 0)
      return MadStatus.success
    }
    case PerfAttribute.portCountersExtended: {
      const asked = portCountersExtendedCodec.read(data.slice(), 0)
      if (!isOwnPort(asked.portSelect)) return MadStatus.invalidField
      if (isSet) setWide(node, asked)
      data.fill(0)
      portCountersExtendedCodec.emit({ ...readWide(node), ...selection(asked) }, data, 0)
      return MadStatus.success
    }
    default:
      return MadStatus.unsupportedAttribute
  }
}

function isOwnPort(port: number): boolean {
  return port === 1 || port === allPorts
}

function selection<T extends { portSelect: number; counterSelect: number; counterSelect2: number }>({
  portSelect,
  counterSelect,
  counterSelect2,
}: T): Pick<T, 'portSelect' | 'counterSelect' | 'counterSelect2'> {
  return { portSelect, counterSelect, counterSelect2 }
}

/** Returns the value that a counter shows. */
function shown(node: ManagedNode, extended: boolean, name: TrafficName): number {
  return Math.max(0, node.traffic()[name] - node.bases.get(extended, name))
}

function put(node: ManagedNode, extended: boolean, name: TrafficName, value: number): void {
  node.bases.set(extended, name, node.traffic()[name] - value)
}

function readNarrow(node: ManagedNode): PortCounters {
  const values = {} as Record<keyof PortCounters, number>
  for (const name of Object.keys(portCountersCodec.fields) as (keyof PortCounters)[]) values[name] = 0
  for (const name of narrowNames) {
    const { field, limit } = narrow[name]
    // IBA 16.1.3.5: counters of PortCounters stop at their largest value.
    values[field] = Math.min(shown(node, false, name), limit)
  }
  return values
}

function setNarrow(node: ManagedNode, asked: PortCounters): void {
  const selected = asked.counterSelect | (asked.counterSelect2 << 16)
  for (const name of narrowNames) {
    const { field, bit } = narrow[name]
    // IBA 16.1.3.5: a Set writes what CounterSelect names.
    if ((selected & (1 << bit)) !== 0) put(node, false, name, asked[field])
  }
}

function readWide(node: ManagedNode): PortCountersExtended {
  const value = (name: TrafficName): bigint => BigInt(shown(node, true, name))
  const errors = new Uint8Array(8 * extendedErrors)
  for (const [name, index] of Object.entries(wideErrors)) put64Big(errors, 8 * index, value(name as TrafficName))
  return {
    portSelect: 0,
    counterSelect: 0,
    counterSelect2: 0,
    xmitData: value('xmitData'),
    rcvData: value('rcvData'),
    xmitPkts: value('xmitPkts'),
    rcvPkts: value('rcvPkts'),
    unicastXmitPkts: 0n,
    unicastRcvPkts: 0n,
    multicastXmitPkts: 0n,
    multicastRcvPkts: 0n,
    errors,
  }
}

function setWide(node: ManagedNode, asked: PortCountersExtended): void {
  for (const [name, bit] of Object.entries(wide) as [keyof typeof wide, number][])
    if ((asked.counterSelect & (1 << bit)) !== 0) put(node, true, name, Number(asked[name]))
  const view = new DataView(asked.errors.buffer, asked.errors.byteOffset, asked.errors.byteLength)
  for (const [name, index] of Object.entries(wideErrors))
    if ((asked.counterSelect2 & (1 << index)) !== 0)
      put(node, true, name as TrafficName, Number(view.getBigUint64(8 * index)))
}
