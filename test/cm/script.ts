/** One communication manager, messages put into it by hand, and what it sends and tells: a few lines a case. */
import { expect } from 'vitest'
import {
  type CmConnection,
  type CmEvent,
  type CmEventType,
  type CmMessageOf,
  type CmOptions,
  CommunicationManager,
  type ReqParams,
  timeoutNs,
} from '../../src/cm/ib/index.ts'
import { type CmBodies, type CmMessage, type CmType, cmMessage, cmPath, emitCm, parseCm } from '../../src/wire/index.ts'
import { seeded } from '../random.ts'

export const ourGuid = 0x1111n
export const theirGuid = 0x2222n
export const ourGid: Uint8Array = Uint8Array.from([...new Uint8Array(10), 0xff, 0xff, 10, 0, 0, 1])
export const theirGid: Uint8Array = Uint8Array.from([...new Uint8Array(10), 0xff, 0xff, 10, 0, 0, 2])
export const service = 0x1061c06n
export const theirId = 0x7e1e
export const theirQpn = 0x222
export const ourQpn = 0x111
export const theirTid = 0x77n

/** How long the default REQ waits for an answer: 4.3 s, and the path twice. */
export const reqWaitNs: number = timeoutNs(20) + 2 * timeoutNs(16)

const ids = (c: CmConnection<string>): { localCommId: number; remoteCommId: number } => ({
  localCommId: theirId,
  remoteCommId: c.localCommId,
})

export class Script {
  now = 0
  readonly sent: CmMessage[] = []
  readonly events: CmEvent<string>[] = []
  readonly cm: CommunicationManager<string>
  /** What is done when an event comes. */
  onEvent: (event: CmEvent<string>) => void = () => {}

  constructor(options: Partial<CmOptions<string>> = {}) {
    let next = 100
    this.cm = new CommunicationManager<string>({
      caGuid: ourGuid,
      random: seeded(1),
      commIds: () => next++,
      addressKey: (address) => address,
      send: (mad) => this.sent.push(parseCm(mad, 0, mad.length) as CmMessage),
      event: (event) => {
        this.events.push(event)
        this.onEvent(event)
      },
      ...options,
    })
  }

  /** A message of the peer. */
  recv<T extends CmType>(type: T, fields: Partial<CmBodies[T]>, options: { from?: string; tid?: bigint } = {}): void {
    const mad = new Uint8Array(256)
    emitCm(cmMessage(type, options.tid ?? theirTid, fields) as unknown as CmMessage, mad, 0)
    this.cm.receive(mad, options.from ?? 'peer', this.now)
  }

  /** A REQ of the peer for our service. */
  recvReq(fields: Partial<CmBodies['REQ']> = {}, options: { from?: string; tid?: bigint } = {}): void {
    this.recv('REQ', { ...req, ...fields }, options)
  }

  recvRep(c: CmConnection<string>, fields: Partial<CmBodies['REP']> = {}): void {
    this.recv('REP', { ...ids(c), ...rep, ...fields })
  }

  /** RTU, DREQ, …: with the ids of the connection. */
  recvFor<T extends 'RTU' | 'REJ' | 'MRA' | 'DREQ' | 'DREP' | 'LAP' | 'APR'>(
    c: CmConnection<string>,
    type: T,
    fields: Partial<CmBodies[T]> = {},
    tid?: bigint,
  ): void {
    const qpn = type === 'DREQ' || type === 'LAP' ? { remoteQpn: c.localQpn } : {}
    this.recv(type, { ...ids(c), ...qpn, ...fields } as Partial<CmBodies[T]>, tid === undefined ? {} : { tid })
  }

  /** The message that was sent since the last look; there must be exactly one, of this type and with these fields. */
  tookSent<T extends CmType>(type: T, fields: Partial<CmBodies[T]> & { transactionId?: bigint } = {}): CmMessageOf<T> {
    expect(this.sent.map((message) => message.type)).toEqual([type])
    const message = this.sent.shift()!
    expect(message).toMatchObject(fields)
    return message as CmMessageOf<T>
  }

  /** The event that came since the last look; exactly one. */
  tookEvent<T extends CmEventType>(type: T): Extract<CmEvent<string>, { type: T }> {
    expect(this.events.map((event) => event.type)).toEqual([type])
    return this.events.shift() as Extract<CmEvent<string>, { type: T }>
  }

  quiet(): void {
    expect(this.sent.map(({ type }) => type)).toEqual([])
    expect(this.events.map(({ type }) => type)).toEqual([])
  }

  /** To the next deadline, which must be `ns` from now. */
  wait(ns: number): void {
    expect(this.cm.deadline() - this.now).toBe(ns)
    this.now = this.cm.deadline()
    this.cm.expire(this.now)
  }

  /** Deadline after deadline, as long as there is one. */
  drain(): void {
    while (this.cm.deadline() < Number.POSITIVE_INFINITY) {
      this.now = this.cm.deadline()
      this.cm.expire(this.now)
    }
  }

  get dropped(): Record<string, number> {
    return Object.fromEntries(Object.entries(this.cm.counters.dropped).filter(([, count]) => count > 0))
  }

  // States, each by the shortest way to it; nothing is left in `sent` and `events`.

  clear(): void {
    this.sent.length = 0
    this.events.length = 0
  }

  reqSent(params: Partial<ReqParams<string>> = {}): CmConnection<string> {
    const c = this.cm.sendReq({ ...reqParams, ...params }, this.now)
    this.clear()
    return c
  }

  repRcvd(): CmConnection<string> {
    const c = this.reqSent()
    this.recvRep(c)
    this.clear()
    return c
  }

  /** The active side. */
  established(): CmConnection<string> {
    const c = this.repRcvd()
    this.cm.sendRtu(c, {}, this.now)
    this.clear()
    return c
  }

  reqRcvd(fields: Partial<CmBodies['REQ']> = {}): CmConnection<string> {
    if (this.cm.size === 0) this.cm.listen(service)
    this.recvReq(fields)
    const event = this.events.at(-1)
    if (event?.type !== 'reqReceived') throw new Error('the REQ did not become a request')
    this.clear()
    return event.connection
  }

  repSent(): CmConnection<string> {
    const c = this.reqRcvd()
    this.cm.sendRep(c, { qpNum: ourQpn }, this.now)
    this.clear()
    return c
  }

  /** The passive side. */
  accepted(): CmConnection<string> {
    const c = this.repSent()
    this.recvFor(c, 'RTU')
    this.clear()
    return c
  }
}

export const reqParams: ReqParams<string> = {
  serviceId: service,
  to: 'peer',
  qpNum: ourQpn,
  primary: { localGid: ourGid, remoteGid: theirGid, hopLimit: 64 },
  pathMtu: 3,
  responderResources: 4,
  initiatorDepth: 2,
}

export const req: Partial<CmBodies['REQ']> = {
  localCommId: theirId,
  serviceId: service,
  localCaGuid: theirGuid,
  localQpn: theirQpn,
  responderResources: 3,
  initiatorDepth: 5,
  remoteCmResponseTimeout: 20,
  localCmResponseTimeout: 19,
  startingPsn: 0x333,
  retryCount: 6,
  rnrRetryCount: 5,
  maxCmRetries: 15,
  pathMtu: 4,
  pkey: 0xffff,
  primary: cmPath({ localGid: theirGid, remoteGid: ourGid, hopLimit: 64, flowLabel: 9, localAckTimeout: 18 }),
}

const rep: Partial<CmBodies['REP']> = {
  localCaGuid: theirGuid,
  localQpn: theirQpn,
  startingPsn: 0x444,
  responderResources: 9,
  initiatorDepth: 1,
  targetAckDelay: 15,
  rnrRetryCount: 3,
}
