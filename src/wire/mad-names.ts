/**
 * Names of management datagrams: SubnGet(SMInfo), SubnAdmGetResp(PathRecord), PerfGet(PortCounters). Methods and attributes are those of the
 * InfiniBand Architecture Specification, volume 1: 13.4 (common), 14.2 (subnet management), 15.2 (subnet administration), 16.1 (performance
 * management).
 */
import { CmAttribute } from './cm-messages.ts'
import { MgmtClass } from './mad.ts'

/** Returns the prefix of the method names of a class. */
function classPrefix(mgmtClass: number): string {
  switch (mgmtClass) {
    case MgmtClass.subnLid:
    case MgmtClass.subnDirected:
      return 'Subn'
    case MgmtClass.subnAdm:
      return 'SubnAdm'
    case MgmtClass.perf:
      return 'Perf'
    case MgmtClass.boardManagement:
      return 'BM'
    case MgmtClass.deviceManagement:
      return 'DevMgt'
    case MgmtClass.comm:
      return 'Comm'
    case MgmtClass.snmp:
      return 'SNMP'
    case MgmtClass.congestion:
      return 'Cong'
    default:
      if ((mgmtClass >= 0x09 && mgmtClass <= 0x0f) || (mgmtClass >= 0x30 && mgmtClass <= 0x4f)) return 'Vendor'
      return mgmtClass >= 0x10 && mgmtClass <= 0x2f ? 'Appl' : `Class0x${mgmtClass.toString(16).padStart(2, '0')}`
  }
}

const methods = new Map<number, string>([
  [0x01, 'Get'],
  [0x02, 'Set'],
  [0x03, 'Send'],
  [0x05, 'Trap'],
  [0x06, 'Report'],
  [0x07, 'TrapRepress'],
  [0x12, 'GetTable'],
  [0x13, 'GetTraceTable'],
  [0x14, 'GetMulti'],
  [0x15, 'Delete'],
  [0x81, 'GetResp'],
  [0x86, 'ReportResp'],
  [0x92, 'GetTableResp'],
  [0x94, 'GetMultiResp'],
  [0x95, 'DeleteResp'],
])

/** Attributes that all classes have. */
const common: ReadonlyMap<number, string> = new Map([
  [0x0001, 'ClassPortInfo'],
  [0x0002, 'Notice'],
  [0x0003, 'InformInfo'],
])

const subnet: ReadonlyMap<number, string> = new Map([
  [0x0010, 'NodeDescription'],
  [0x0011, 'NodeInfo'],
  [0x0012, 'SwitchInfo'],
  [0x0014, 'GUIDInfo'],
  [0x0015, 'PortInfo'],
  [0x0016, 'P_KeyTable'],
  [0x0017, 'SLtoVLMappingTable'],
  [0x0018, 'VLArbitrationTable'],
  [0x0019, 'LinearForwardingTable'],
  [0x001a, 'RandomForwardingTable'],
  [0x001b, 'MulticastForwardingTable'],
  [0x0020, 'SMInfo'],
  [0x0030, 'VendorDiag'],
  [0x0031, 'LedInfo'],
])

const administration: ReadonlyMap<number, string> = new Map([
  [0x0011, 'NodeRecord'],
  [0x0012, 'PortInfoRecord'],
  [0x0013, 'SLtoVLMappingTableRecord'],
  [0x0014, 'SwitchInfoRecord'],
  [0x0015, 'LinearForwardingTableRecord'],
  [0x0016, 'RandomForwardingTableRecord'],
  [0x0017, 'MulticastForwardingTableRecord'],
  [0x0018, 'SMInfoRecord'],
  [0x0019, 'LinkSpeedWidthPairsTableRecord'],
  [0x0020, 'LinkRecord'],
  [0x0030, 'GuidInfoRecord'],
  [0x0031, 'ServiceRecord'],
  [0x0033, 'P_KeyTableRecord'],
  [0x0035, 'PathRecord'],
  [0x0036, 'VLArbitrationTableRecord'],
  [0x0038, 'MCMemberRecord'],
  [0x0039, 'TraceRecord'],
  [0x003a, 'MultiPathRecord'],
  [0x003b, 'ServiceAssociationRecord'],
  [0x00f3, 'InformInfoRecord'],
])

const performance: ReadonlyMap<number, string> = new Map([
  [0x0010, 'PortSamplesControl'],
  [0x0011, 'PortSamplesResult'],
  [0x0012, 'PortCounters'],
  [0x0015, 'PortRcvErrorDetails'],
  [0x0016, 'PortXmitDiscardDetails'],
  [0x0017, 'PortOpRcvCounters'],
  [0x0018, 'PortFlowCtlCounters'],
  [0x0019, 'PortVLOpPackets'],
  [0x001a, 'PortVLOpData'],
  [0x001b, 'PortVLXmitFlowCtlUpdateErrors'],
  [0x001c, 'PortVLXmitWaitCounters'],
  [0x001d, 'PortCountersExtended'],
  [0x001e, 'PortSamplesResultExtended'],
])

const messages: ReadonlyMap<number, string> = new Map(Object.entries(CmAttribute).map(([name, id]) => [id, name]))

function attributesOf(mgmtClass: number): ReadonlyMap<number, string> | undefined {
  switch (mgmtClass) {
    case MgmtClass.subnLid:
    case MgmtClass.subnDirected:
      return subnet
    case MgmtClass.subnAdm:
      return administration
    case MgmtClass.perf:
      return performance
    case MgmtClass.comm:
      return messages
    default:
      return undefined
  }
}

/** Returns the name of a method; undefined if it has none. */
export function madMethodName(method: number): string | undefined {
  return methods.get(method)
}

/** Returns the name of an attribute of a class; undefined if it is not known. */
export function madAttributeName(mgmtClass: number, attributeId: number): string | undefined {
  return attributesOf(mgmtClass)?.get(attributeId) ?? common.get(attributeId)
}

/** Returns a name such as SubnGet(SMInfo). A method or attribute without a name is a number: PerfGet(0x0040), Subn0x42(PortInfo). */
export function madName(mgmtClass: number, method: number, attributeId: number): string {
  const does = methods.get(method) ?? `0x${method.toString(16).padStart(2, '0')}`
  const what = madAttributeName(mgmtClass, attributeId) ?? `0x${attributeId.toString(16).padStart(4, '0')}`
  return `${classPrefix(mgmtClass)}${does}(${what})`
}
