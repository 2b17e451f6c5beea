/**
 * The subnet management agent (SMA) of an adapter with one port: what it answers to subnet management packets, as firmware does
 * (InfiniBand Architecture Specification, volume 1, 14.2.5 and 14.4).
 */
import {
  get64Big,
  guidsPerBlock,
  Mad,
  MadMethod,
  MadStatus,
  MgmtClass,
  nodeInfoCodec,
  PortCapability,
  type PortInfo,
  PortPhysState,
  PortState,
  pkeysPerBlock,
  portInfoCodec,
  put16,
  put64Big,
  Smp,
  SubnAttribute,
  smpDirection,
  u16,
  u32,
} from '../wire/index.ts'
import type { Answer, ManagedNode } from './node.ts'

/** Class version of subnet management. */
const classVersion = 1
/** Bit of the port number in a request: set by a subnet manager that supports extended link speeds. */
const knowsExtendedSpeeds = 0x80000000

/** Serves a request: the 256 bytes of `mad` become the response. */
export function answerSmp(node: ManagedNode, mad: Uint8Array): Answer {
  const method = mad[Mad.method]!
  const attribute = u16(mad, Mad.attributeId)
  // IBA o14-3.a4: there is no response to SubnTrapRepress.
  if (method === MadMethod.trapRepress) return 'dropped'
  if (method !== MadMethod.get && method !== MadMethod.set) return 'passed'
  const info = node.portInfo()
  if (attribute === SubnAttribute.smInfo && (info.capabilityMask & PortCapability.isSm) !== 0) return 'passed'
  // IBA 13.4.7: the status reports a version, method or attribute that is not supported.
  if (mad[Mad.baseVersion] !== 1 || mad[Mad.classVersion] !== classVersion) return respond(mad, MadStatus.badVersion)
  const fits = mKeyFits(info, get64Big(mad, Smp.mKey))
  // IBA 14.2.4: a requester without the M_Key may at most read.
  if (!fits && (method === MadMethod.set || info.mKeyProtectBits >= 2)) {
    node.setPortInfo({ ...info, mKeyViolations: Math.min(info.mKeyViolations + 1, 0xffff) })
    return 'dropped'
  }
  return respond(mad, method === MadMethod.get ? read(node, info, mad, fits) : write(node, info, mad))
}

function mKeyFits({ mKey }: PortInfo, given: bigint): boolean {
  return mKey === 0n || mKey === given
}

function respond(mad: Uint8Array, status: number): 'answered' {
  mad[Mad.method] = MadMethod.getResponse
  put16(mad, Mad.status, (mad[Mad.mgmtClass] === MgmtClass.subnDirected ? smpDirection : 0) | status)
  return 'answered'
}

/** Puts an attribute into the MAD; its status. */
function read(node: ManagedNode, info: PortInfo, mad: Uint8Array, fits: boolean): number {
  const modifier = u32(mad, Mad.attributeModifier)
  const data = mad.subarray(Smp.data, Smp.data + Smp.dataLength)
  switch (u16(mad, Mad.attributeId)) {
    case SubnAttribute.nodeDescription:
      data.fill(0)
      new TextEncoder().encodeInto(node.description, data)
      return MadStatus.success
    case SubnAttribute.nodeInfo:
      data.fill(0)
      nodeInfoCodec.emit(node.nodeInfo, data, 0)
      return MadStatus.success
    case SubnAttribute.portInfo:
      if (!isOwnPort(modifier)) return MadStatus.invalidField
      portInfoCodec.emit(fits || info.mKeyProtectBits === 0 ? info : { ...info, mKey: 0n }, data, 0)
      return MadStatus.success
    case SubnAttribute.guidInfo:
      if (modifier * guidsPerBlock >= info.guidCap) return MadStatus.invalidField
      data.fill(0)
      put64Big(data, 0, node.portGuid)
      return MadStatus.success
    case SubnAttribute.pkeyTable: {
      const first = (modifier & 0xffff) * pkeysPerBlock
      if (first >= node.pkeys.length) return MadStatus.invalidField
      data.fill(0)
      for (const [i, pkey] of node.pkeys.slice(first, first + pkeysPerBlock).entries()) put16(data, 2 * i, pkey)
      return MadStatus.success
    }
    default:
      return MadStatus.unsupportedAttribute
  }
}

/** Executes a Set: stores the values that can be stored; the response contains those in effect. */
function write(node: ManagedNode, info: PortInfo, mad: Uint8Array): number {
  const attribute = u16(mad, Mad.attributeId)
  switch (attribute) {
    case SubnAttribute.portInfo: {
      if (!isOwnPort(u32(mad, Mad.attributeModifier))) return MadStatus.invalidField
      const wanted = portInfoCodec.read(mad, Smp.data)
      // IBA 14.2.5.6: what a Set of PortInfo cannot change is an invalid field.
      if (!mayBecome(info, wanted)) return MadStatus.invalidField
      node.setPortInfo(changed(info, wanted))
      return read(node, node.portInfo(), mad, true)
    }
    // The tables of this port are what they are.
    case SubnAttribute.guidInfo:
    case SubnAttribute.pkeyTable:
      return read(node, info, mad, true)
    default:
      return MadStatus.unsupportedAttribute
  }
}

/** 0 is the port by which the packet came, and an adapter has one. */
function isOwnPort(modifier: number): boolean {
  const port = (modifier & ~knowsExtendedSpeeds) >>> 0
  return port <= 1
}

/** The port is active and stays so: a link that is down, or that a subnet manager has not configured yet, is not to be had here. */
function mayBecome(info: PortInfo, { portState, portPhysState }: PortInfo): boolean {
  const stays = portState === PortState.noChange || portState === info.portState
  return stays && (portPhysState === PortPhysState.noChange || portPhysState === info.portPhysState)
}

/**
 * Returns the PortInfo after a Set: LID, GID prefix and properties of the hardware stay. A value of 0 that means "no change" changes
 * nothing.
 */
function changed(info: PortInfo, wanted: PortInfo): PortInfo {
  return {
    ...info,
    mKey: wanted.mKey,
    mKeyLeasePeriod: wanted.mKeyLeasePeriod,
    mKeyProtectBits: wanted.mKeyProtectBits,
    masterSmLid: wanted.masterSmLid,
    masterSmSl: wanted.masterSmSl,
    linkDownDefaultState: wanted.linkDownDefaultState || info.linkDownDefaultState,
    neighborMtu: wanted.neighborMtu || info.neighborMtu,
    vlHighLimit: wanted.vlHighLimit,
    initTypeReply: wanted.initTypeReply,
    operationalVls: wanted.operationalVls || info.operationalVls,
    partitionEnforcementInbound: wanted.partitionEnforcementInbound,
    partitionEnforcementOutbound: wanted.partitionEnforcementOutbound,
    filterRawInbound: wanted.filterRawInbound,
    filterRawOutbound: wanted.filterRawOutbound,
    // A violation counter is set to what is written; only 0 means something.
    mKeyViolations: wanted.mKeyViolations === 0 ? 0 : info.mKeyViolations,
    pKeyViolations: wanted.pKeyViolations === 0 ? 0 : info.pKeyViolations,
    qKeyViolations: wanted.qKeyViolations === 0 ? 0 : info.qKeyViolations,
    multicastPkeyTrapSuppression: wanted.multicastPkeyTrapSuppression,
    subnetTimeout: wanted.subnetTimeout,
    localPhyErrors: wanted.localPhyErrors,
    overrunErrors: wanted.overrunErrors,
  }
}

/** The response that the kernel gives where no agent is: as to an attribute that is not there. Only to Get and Set; false otherwise. */
export function answerUnmatched(mad: Uint8Array): boolean {
  const method = mad[Mad.method]
  if (method !== MadMethod.get && method !== MadMethod.set) return false
  respond(mad, MadStatus.unsupportedAttribute)
  return true
}
