/** Values of the wire's types, for properties. */
import fc from 'fast-check'
import {
  type CmBodies,
  type CmMessage,
  type CmPath,
  type CmType,
  cmMessage,
  type EthernetFields,
  type Extensions,
  type HeaderName,
  opcodeTable,
  type RocePacket,
  type RoceV2Frame,
} from '../../src/wire/index.ts'

const bit = fc.boolean()
export const uint = (width: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: 2 ** width - 1 })
export const u64: fc.Arbitrary<bigint> = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
export const bytes = (length: number): fc.Arbitrary<Uint8Array> =>
  fc.uint8Array({ minLength: length, maxLength: length })

const extensions: { [N in HeaderName]: fc.Arbitrary<Extensions> } = {
  RDETH: fc.record({ rdeth: fc.record({ eeContext: uint(24) }) }),
  DETH: fc.record({ deth: fc.record({ qkey: uint(32), srcQp: uint(24) }) }),
  XRCETH: fc.record({ xrceth: fc.record({ srqn: uint(24) }) }),
  FETH: fc.record({ feth: fc.record({ placement: uint(4), selectivity: uint(2) }) }),
  RETH: fc.record({ reth: fc.record({ va: u64, rkey: uint(32), dmaLength: uint(32) }) }),
  AtomicETH: fc.record({ atomicEth: fc.record({ va: u64, rkey: uint(32), swapAdd: u64, compare: u64 }) }),
  AETH: fc.record({ aeth: fc.record({ syndrome: uint(8), msn: uint(24) }) }),
  AtomicAckETH: fc.record({ atomicAckEth: fc.record({ original: u64 }) }),
  ImmDt: fc.record({ immDt: fc.record({ data: uint(32) }) }),
  IETH: fc.record({ ieth: fc.record({ rkey: uint(32) }) }),
  CNP: fc.record({ cnp: fc.record({ reserved: bytes(16) }) }),
}

const payloads = fc.oneof(
  { weight: 4, arbitrary: fc.uint8Array({ maxLength: 70 }) },
  fc.constantFrom(255, 256, 257, 1024, 4095, 4096).chain(bytes),
)

/** Any packet that emitPacket takes: every opcode, every field anything. */
export const anyPacket: fc.Arbitrary<RocePacket> = fc
  .constantFrom(...opcodeTable.filter((info) => info !== undefined))
  .chain((info) =>
    fc
      .tuple(
        fc.record({
          opcode: fc.constant(info.opcode),
          solicited: bit,
          migReq: bit,
          pkey: uint(16),
          fecn: bit,
          becn: bit,
          destQp: uint(24),
          ackReq: bit,
          psn: uint(24),
        }),
        info.payload ? payloads : fc.constant(new Uint8Array(0)),
        ...info.headers.map((name) => extensions[name]),
      )
      .map(([bth, payload, ...own]) => Object.assign({ bth, payload }, ...(own as object[])) as RocePacket),
  )

const ethernet: fc.Arbitrary<Omit<EthernetFields, 'etherType'>> = fc.record({
  destination: bytes(6),
  source: bytes(6),
  tags: fc.array(fc.record({ etherType: fc.constantFrom(0x8100, 0x88a8, 0x9100), tci: uint(16) }), { maxLength: 3 }),
})

const withIpv4 = fc.record({
  ipv4: fc.record({
    tos: uint(8),
    identification: uint(16),
    dontFragment: bit,
    ttl: uint(8),
    source: bytes(4),
    destination: bytes(4),
  }),
})
const withIpv6 = fc.record({
  ipv6: fc.record({
    trafficClass: uint(8),
    flowLabel: uint(20),
    hopLimit: uint(8),
    source: bytes(16),
    destination: bytes(16),
  }),
})

export const anyFrame: fc.Arbitrary<RoceV2Frame> = fc
  .tuple(
    fc.record({ ethernet, sourcePort: uint(16), udpChecksum: uint(16), packet: anyPacket }),
    fc.oneof(withIpv4, withIpv6),
  )
  .map(([rest, ip]) => ({ ...rest, ...ip }))

const path: fc.Arbitrary<CmPath> = fc.record({
  localLid: uint(16),
  remoteLid: uint(16),
  localGid: bytes(16),
  remoteGid: bytes(16),
  flowLabel: uint(20),
  packetRate: uint(6),
  trafficClass: uint(8),
  hopLimit: uint(8),
  serviceLevel: uint(4),
  subnetLocal: bit,
  localAckTimeout: uint(5),
})
const ids = { localCommId: uint(32), remoteCommId: uint(32) }
const info = { additionalInfoLength: uint(6), additionalInfo: bytes(72) }

type Shapes = { [T in CmType]: { [K in keyof CmBodies[T]]: fc.Arbitrary<CmBodies[T][K]> } }

const cmShapes: Shapes = {
  REQ: {
    localCommId: uint(32),
    serviceId: u64,
    localCaGuid: u64,
    localQkey: uint(32),
    localQpn: uint(24),
    responderResources: uint(8),
    localEecn: uint(24),
    initiatorDepth: uint(8),
    remoteEecn: uint(24),
    remoteCmResponseTimeout: uint(5),
    transportServiceType: uint(2),
    endToEndFlowControl: bit,
    startingPsn: uint(24),
    localCmResponseTimeout: uint(5),
    retryCount: uint(3),
    pkey: uint(16),
    pathMtu: uint(4),
    rdcExists: bit,
    rnrRetryCount: uint(3),
    maxCmRetries: uint(4),
    srq: bit,
    extendedTransportType: uint(3),
    primary: path,
    alternate: path,
    sapSupported: bit,
    privateData: bytes(92),
  },
  MRA: { ...ids, messageMraed: uint(2), serviceTimeout: uint(5), privateData: bytes(222) },
  REJ: { ...ids, ...info, messageRejected: uint(2), reason: uint(16), privateData: bytes(148) },
  REP: {
    ...ids,
    localQkey: uint(32),
    localQpn: uint(24),
    localEecn: uint(24),
    startingPsn: uint(24),
    responderResources: uint(8),
    initiatorDepth: uint(8),
    targetAckDelay: uint(5),
    failoverAccepted: uint(2),
    endToEndFlowControl: bit,
    rnrRetryCount: uint(3),
    srq: bit,
    localCaGuid: u64,
    privateData: bytes(196),
  },
  RTU: { ...ids, privateData: bytes(224) },
  DREQ: { ...ids, remoteQpn: uint(24), privateData: bytes(220) },
  DREP: { ...ids, privateData: bytes(224) },
  SIDR_REQ: { requestId: uint(32), pkey: uint(16), serviceId: u64, privateData: bytes(216) },
  SIDR_REP: {
    ...info,
    requestId: uint(32),
    status: uint(8),
    qpn: uint(24),
    serviceId: u64,
    qkey: uint(32),
    privateData: bytes(136),
  },
  LAP: {
    ...ids,
    remoteQpn: uint(24),
    remoteCmResponseTimeout: uint(5),
    alternate: path,
    privateData: bytes(168),
  },
  APR: { ...ids, ...info, status: uint(8), privateData: bytes(148) },
}

export const anyCmMessage: fc.Arbitrary<CmMessage> = fc
  .constantFrom(...(Object.keys(cmShapes) as CmType[]))
  .chain((type) =>
    fc
      .tuple(u64, fc.record(cmShapes[type] as Record<string, fc.Arbitrary<unknown>>))
      .map(([transactionId, body]) => cmMessage(type, transactionId, body as Partial<CmBodies[CmType]>) as CmMessage),
  )
