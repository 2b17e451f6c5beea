/** Packets, and messages of the communication manager, as a stranger makes them. */
import {
  CmaHdr,
  type CmMessage,
  cmMessage,
  cmPath,
  emitCm,
  emitCma,
  gidOfIp,
  parseIp,
  RdmaPortSpace,
  type RocePacket,
  rdmaServiceId,
  WireOpcode,
} from '../../src/wire/index.ts'

const gsiQkey = 0x8001_0000

/** The bytes of an IPv4 address that the test has written. */
export function ipBytes(ip: string): Uint8Array {
  const bytes = parseIp(ip)
  if (bytes === undefined) throw new Error(`${ip} is no address`)
  return bytes
}

export const gidBytes = (ip: string): Uint8Array => gidOfIp(ipBytes(ip))

export const packetTo = (destQp: number, opcode: number, psn: number, more: Partial<RocePacket> = {}): RocePacket => ({
  bth: { opcode, solicited: false, migReq: true, pkey: 0xffff, fecn: false, becn: false, ackReq: true, destQp, psn },
  payload: new Uint8Array(0),
  ...more,
})

/** A datagram for QP 1. */
export function madPacket(message: CmMessage): RocePacket {
  const mad = new Uint8Array(256)
  emitCm(message, mad, 0)
  return {
    bth: {
      opcode: WireOpcode.UdSendOnly,
      solicited: false,
      migReq: true,
      pkey: 0xffff,
      fecn: false,
      becn: false,
      ackReq: false,
      destQp: 1,
      psn: 0,
    },
    deth: { qkey: gsiQkey, srcQp: 1 },
    payload: mad,
  }
}

/** The GUID of the adapter on an IPv4 address: anybody can compute it. */
export function guidOf(ip: string): bigint {
  const [a, b, c, d] = ipBytes(ip) as unknown as [number, number, number, number]
  return (BigInt(a) << 40n) | 0xff_fe00_0000n | BigInt((b << 16) | (c << 8) | d)
}

export interface Request {
  from: string
  to: string
  port: number
  /** Makes communication ID, QP number and adapter of its own. */
  serial: number
  localCmResponseTimeout?: number
  maxCmRetries?: number
  privateData?: Uint8Array
}

/** A request for an rsocket of the RDMA CM. */
export function emitRequest(request: Request): CmMessage {
  const { from, to, port, serial } = request
  const data = new Uint8Array(92)
  emitCma({ port: 5555, source: ipBytes(from), destination: ipBytes(to) }, data, 0)
  data.set(request.privateData ?? rsocketData(), CmaHdr.length)
  return cmMessage('REQ', BigInt(serial + 1), {
    localCommId: serial + 1,
    serviceId: rdmaServiceId(RdmaPortSpace.Tcp, port),
    localCaGuid: 0x1000n + BigInt(serial),
    localQpn: 100 + serial,
    localQkey: 0,
    startingPsn: 7,
    responderResources: 0,
    initiatorDepth: 0,
    remoteCmResponseTimeout: 20,
    localCmResponseTimeout: request.localCmResponseTimeout ?? 20,
    transportServiceType: 0,
    endToEndFlowControl: true,
    retryCount: 7,
    pkey: 0xffff,
    pathMtu: 3,
    rnrRetryCount: 7,
    maxCmRetries: request.maxCmRetries ?? 15,
    srq: false,
    primary: {
      ...cmPath({ localGid: gidBytes(from), remoteGid: gidBytes(to) }),
      localLid: 0xffff,
      remoteLid: 0xffff,
      hopLimit: 64,
      localAckTimeout: 19,
      subnetLocal: true,
    },
    privateData: data,
  })
}

/** The private data of an rsocket, version 1. */
function rsocketData(): Uint8Array {
  const data = Buffer.alloc(40)
  data[0] = 1
  data[1] = 2
  data.writeUInt16BE(384, 2)
  for (const [at, address, key, length] of [
    [8, 4096n, 1, 16],
    [24, 8192n, 1, 65_536],
  ] as const) {
    data.writeBigUInt64BE(address, at)
    data.writeUInt32BE(key, at + 8)
    data.writeUInt32BE(length, at + 12)
  }
  return data
}
