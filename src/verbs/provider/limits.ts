/** Results of the query verbs for every device that keeps its queues in a segment: the sizes of its tables, and the values that differ. */
import { maxMessage } from '../../wire/index.ts'
import type { DeviceAttr, PortAttr } from './attributes.ts'
import { PortState } from './constants.ts'
import type { Host } from './host.ts'
import { maxChannels, maxCqs, maxKeys, maxMcastEntries, maxPds, maxQps, maxSrqs } from './layout.ts'

/** The longest message, bytes: the standard's 2^31. */
export const maxMessageBytes: number = maxMessage

/** `maxRdAtomic`: READs and atomics that one QP may have outstanding, on either side. */
export function deviceAttr(
  host: Host,
  guid: bigint,
  own: Pick<DeviceAttr, 'vendorPartId' | 'localCaAckDelay'> & { maxRdAtomic: number },
): DeviceAttr {
  return {
    fwVer: '1.0.0',
    nodeGuid: guid,
    sysImageGuid: guid,
    vendorId: 0x56424e,
    vendorPartId: own.vendorPartId,
    hwVer: 1,
    maxMrSize: host.segment.sizeBytes,
    pageSizeCap: 0xfffff000,
    maxQp: maxQps,
    maxQpWr: 16384,
    deviceCapFlags: 0,
    maxSge: 32,
    maxSgeRd: 32,
    maxCq: maxCqs,
    maxCqe: 65535,
    maxMr: maxKeys / 2,
    maxPd: maxPds,
    maxQpRdAtom: own.maxRdAtomic,
    maxQpInitRdAtom: own.maxRdAtomic,
    maxResRdAtom: maxQps * own.maxRdAtomic,
    atomicCap: 'glob',
    maxMw: maxKeys / 2,
    maxMcastGrp: maxMcastEntries,
    maxMcastQpAttach: 256,
    maxTotalMcastQpAttach: maxMcastEntries,
    maxAh: 32767,
    maxSrq: maxSrqs,
    maxSrqWr: 16384,
    maxSrqSge: 32,
    maxPkeys: 1,
    maxInlineData: 512,
    localCaAckDelay: own.localCaAckDelay,
    physPortCnt: 1,
    maxCompChannels: maxChannels,
    completionTimestampMask: 0,
  }
}

export function portAttr(own: Pick<PortAttr, 'activeMtu' | 'gidTblLen' | 'lid' | 'smLid' | 'linkLayer'>): PortAttr {
  return {
    state: PortState.Active,
    maxMtu: 4096,
    maxMsgSz: maxMessageBytes,
    badPkeyCntr: 0,
    qkeyViolCntr: 0,
    pkeyTblLen: 1,
    lmc: 0,
    maxVlNum: 1,
    smSl: 0,
    activeWidth: 2,
    activeSpeed: 32,
    physState: 5,
    ...own,
  }
}
