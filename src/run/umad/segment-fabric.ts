/**
 * The adapters of a segment as nodes of a subnet. Management agents answer for each of them in whichever run receives the request, since
 * all that they report is in the segment. An adapter has one port, and the two of a segment are cabled to each other; neither forwards.
 */
import type { Links, ManagedNode, PortTraffic } from '../../management/index.ts'
import { type Device, type DeviceAttr, type Host, layout } from '../../verbs/provider/index.ts'
import { NodeType, PortCapability, type PortInfo, PortPhysState, PortState, portInfoCodec } from '../../wire/index.ts'
import { counterBases, portTraffic } from './port-traffic.ts'

const { Dev, maxDevices } = layout

/** Values of each PortInfo: an adapter of four lanes at 2.5 Gb/s with one virtual lane, configured by a subnet manager. */
const width4x = 2
const widths1xAnd4x = 3
const speedSdr = 1
const mtu4096 = 5
const oneLane = 1
/** 4.096 µs · 2^18: a second. */
const second = 18
const linkLocalPrefix = 0xfe80000000000000n
const downPolling = 2

export class SegmentFabric implements Links {
  readonly #host: Host
  readonly #attr: DeviceAttr
  readonly #name: string

  /** `device`: one of them. */
  constructor({ host, attr, name }: Device) {
    this.#host = host
    this.#attr = attr
    this.#name = name.replace(/\/\d$/, '')
  }

  peerOf(node: number, port: number): { node: number; port: number } | null {
    const peer = node ^ 1
    return port === 1 && this.lidOf(peer) !== 0 ? { node: peer, port: 1 } : null
  }

  nodeOf(lid: number): number {
    for (let node = 0; node < maxDevices; node++) if (lid !== 0 && this.lidOf(node) === lid) return node
    return -1
  }

  forwards(): boolean {
    return false
  }

  lidOf(node: number): number {
    return this.#host.i32[this.#host.deviceWord(node) + Dev.lid]!
  }

  node(index: number): ManagedNode {
    return new SegmentNode(this.#host, this.#attr, `${this.#name}/${index}`, index)
  }

  /** True if a program is subnet manager of a port. */
  isManaged(index: number): boolean {
    return isManaged(this.#host, this.#host.deviceWord(index))
  }

  /** Makes this thread's program subnet manager of a port, if no other one is, or ends that. */
  manage(index: number, is: boolean): boolean {
    const host = this.#host
    const at = host.deviceWord(index) + Dev.subnetManager
    const { lockValue } = host.segment
    return host.control(() => {
      if (!is) {
        if (host.i32[at] === lockValue) host.i32[at] = 0
        return true
      }
      if (this.isManaged(index)) return false
      host.i32[at] = lockValue
      return true
    })
  }
}

/**
 * True if the device whose record is at `dev` has a subnet manager. A run that was killed is not one any more, even if another thread has
 * been given its number since.
 */
function isManaged({ i32, segment }: Host, dev: number): boolean {
  const manager = i32[dev + Dev.subnetManager]!
  return manager !== 0 && segment.ownerAlive(manager)
}

class SegmentNode implements ManagedNode {
  readonly description: string
  readonly pkeys: readonly number[] = [0xffff]
  readonly portGuid: bigint
  readonly bases: ManagedNode['bases']
  readonly #host: Host
  readonly #attr: DeviceAttr
  readonly #index: number
  /** Index of the device's record. */
  readonly #dev: number

  constructor(host: Host, attr: DeviceAttr, description: string, index: number) {
    this.#host = host
    this.#attr = attr
    this.#index = index
    this.#dev = host.deviceWord(index)
    this.description = description
    const { i32 } = host
    const high = BigInt(i32[this.#dev + Dev.guidHigh]! >>> 0)
    this.portGuid = (high << 32n) | BigInt(i32[this.#dev + Dev.guidLow]! >>> 0)
    this.bases = counterBases(host, index)
  }

  get nodeInfo(): ManagedNode['nodeInfo'] {
    return {
      baseVersion: 1,
      classVersion: 1,
      nodeType: NodeType.ca,
      numPorts: 1,
      systemImageGuid: this.portGuid,
      nodeGuid: this.portGuid,
      portGuid: this.portGuid,
      partitionCap: this.pkeys.length,
      deviceId: this.#attr.vendorPartId,
      revision: this.#attr.hwVer,
      localPortNum: 1,
      vendorId: this.#attr.vendorId & 0xffffff,
    }
  }

  portInfo(): PortInfo {
    const host = this.#host
    const { i32, u8 } = host
    const dev = this.#dev
    const at = 4 * (dev + Dev.portInfo)
    const isSet = u8.subarray(at, at + portInfoCodec.length).some((byte) => byte !== 0)
    const info = isSet ? portInfoCodec.read(u8, at) : initialPortInfo
    return {
      ...info,
      lid: i32[dev + Dev.lid]!,
      capabilityMask: capabilities | (isManaged(host, dev) ? PortCapability.isSm : 0),
      qKeyViolations: Math.min(i32[dev + Dev.qkeyViolations]! >>> 0, 0xffff),
    }
  }

  setPortInfo(info: PortInfo): void {
    portInfoCodec.emit(info, this.#host.u8, 4 * (this.#dev + Dev.portInfo))
  }

  traffic(): PortTraffic {
    return portTraffic(this.#host, this.#index)
  }
}

const capabilities: number = PortCapability.systemImageGuid | PortCapability.commManagement

const initialPortInfo: PortInfo = {
  mKey: 0n,
  gidPrefix: linkLocalPrefix,
  lid: 0,
  // Value of the device's port, until a subnet manager sets another.
  masterSmLid: 1,
  capabilityMask: capabilities,
  diagCode: 0,
  mKeyLeasePeriod: 0,
  localPortNum: 1,
  linkWidthEnabled: widths1xAnd4x,
  linkWidthSupported: widths1xAnd4x,
  linkWidthActive: width4x,
  linkSpeedSupported: speedSdr,
  portState: PortState.active,
  portPhysState: PortPhysState.linkUp,
  linkDownDefaultState: downPolling,
  mKeyProtectBits: 0,
  lmc: 0,
  linkSpeedActive: speedSdr,
  linkSpeedEnabled: speedSdr,
  neighborMtu: mtu4096,
  masterSmSl: 0,
  vlCap: oneLane,
  initType: 0,
  vlHighLimit: 0,
  vlArbitrationHighCap: 0,
  vlArbitrationLowCap: 0,
  initTypeReply: 0,
  mtuCap: mtu4096,
  vlStallCount: 0,
  hoqLife: 0,
  operationalVls: oneLane,
  partitionEnforcementInbound: false,
  partitionEnforcementOutbound: false,
  filterRawInbound: false,
  filterRawOutbound: false,
  mKeyViolations: 0,
  pKeyViolations: 0,
  qKeyViolations: 0,
  guidCap: 1,
  clientReregister: false,
  multicastPkeyTrapSuppression: 0,
  subnetTimeout: second,
  respTimeValue: second,
  localPhyErrors: 0,
  overrunErrors: 0,
  maxCreditHint: 0,
  linkRoundTripLatency: 0,
  capabilityMask2: 0,
  linkSpeedExtActive: 0,
  linkSpeedExtSupported: 0,
  linkSpeedExtEnabled: 0,
}
