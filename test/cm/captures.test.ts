/**
 * Connections that Linux made, played back: our manager in the place of either side takes the messages of the other, and
 * what it sends is, byte for byte, what Linux sent.
 */
import { describe, expect, test } from 'vitest'
import { ackTimeoutCode, type CmConnection, type CmEvent, CommunicationManager } from '../../src/cm/ib/index.ts'
import { QpState } from '../../src/verbs/index.ts'
import {
  type CmMessage,
  formatIp,
  ipOfGid,
  isMalformed,
  Mad,
  parseCm,
  parseCma,
  rdmaPortOf,
  u16,
} from '../../src/wire/index.ts'
import { packetsOf, placesOf } from '../wire/captures.ts'

interface Said {
  from: string
  mad: Uint8Array
  message: CmMessage
}

/** The CM messages of a capture, in order. */
function conversation(file: string): Said[] {
  return packetsOf(file).flatMap(({ frame }) => {
    const { ip, bth } = placesOf(frame)
    // UD SEND to QP 1.
    if (frame[bth] !== 0x64 || u16(frame, bth + 6) !== 1) return []
    const mad = frame.slice(bth + 20, bth + 20 + Mad.totalLength)
    const message = parseCm(mad, 0, mad.length)
    return isMalformed(message) ? [] : [{ from: frame.subarray(ip + 12, ip + 16).join('.'), mad, message }]
  })
}

/** The PSN of the first request of RC that comes from an address. */
function firstPsn(file: string, from: string): number {
  for (const { frame } of packetsOf(file)) {
    const { ip, bth } = placesOf(frame)
    const isRequest = frame[bth]! < 0x0d || (frame[bth]! >= 0x13 && frame[bth]! < 0x18)
    if (isRequest && frame.subarray(ip + 12, ip + 16).join('.') === from)
      return (u16(frame, bth + 9) << 8) | frame[bth + 11]!
  }
  throw new Error(`no request from ${from} in the capture`)
}

/** Bytes but the transaction id, which each side makes up for its own requests. */
const withoutTid = (mad: Uint8Array): string => {
  const copy = mad.slice()
  copy.fill(0, Mad.transactionId, Mad.transactionId + 8)
  return Buffer.from(copy).toString('hex')
}

const find = <T extends CmMessage['type']>(
  said: Said[],
  type: T,
): Said & { message: Extract<CmMessage, { type: T }> } => {
  const found = said.find(({ message }) => message.type === type)
  if (found === undefined) throw new Error(`no ${type} in the capture`)
  return found as Said & { message: Extract<CmMessage, { type: T }> }
}

/** A manager that gives out the id and the GUID of the side that it plays. */
function actor(
  commId: number,
  caGuid: bigint,
): {
  cm: CommunicationManager<string>
  sent: Uint8Array[]
  events: CmEvent<string>[]
} {
  const sent: Uint8Array[] = []
  const events: CmEvent<string>[] = []
  const cm = new CommunicationManager<string>({
    caGuid,
    random: () => 0.5,
    commIds: () => commId,
    addressKey: (address) => address,
    send: (mad) => sent.push(mad),
    event: (event) => events.push(event),
  })
  return { cm, sent, events }
}

const names = (said: Said[]): string[] => said.map(({ message }) => message.type)

describe.each(['rping.pcap', 'rstream.pcap', 'ucmatose.pcap'])('%s', (file) => {
  const said = conversation(file)
  const req = find(said, 'REQ')
  const rep = find(said, 'REP')
  const rtu = find(said, 'RTU')
  const dreq = find(said, 'DREQ')
  const drep = find(said, 'DREP')
  const client = req.from
  const clientReleases = dreq.from === client

  test('the conversation', () => {
    expect(names(said).slice(0, 3)).toEqual(['REQ', 'REP', 'RTU'])
    const cma = parseCma(req.message.privateData, 0, 92)
    if (isMalformed(cma)) throw new Error(cma)
    expect(formatIp(cma.source)).toBe(client)
    expect(rdmaPortOf(req.message.serviceId)?.portSpace).toBe(0x0106)
  })

  test('our side as the client', () => {
    const { cm, sent, events } = actor(req.message.localCommId, req.message.localCaGuid)
    const { message } = req
    const c = cm.sendReq(
      {
        ...message,
        // The ACK timeout is computed, as Linux computes it.
        primary: { ...message.primary, localAckTimeout: ackTimeoutCode(15, 18) },
        to: rep.from,
        qpNum: message.localQpn,
        packetLifeTime: 18,
        flowControl: message.endToEndFlowControl,
      },
      0,
    )
    expect(withoutTid(sent[0]!)).toBe(withoutTid(req.mad))
    cm.receive(rep.mad, rep.from, 0)
    expect(events.map(({ type }) => type)).toEqual(['repReceived'])
    expectReady(cm, c, rep.message, client, rep.from)
    cm.sendRtu(c, { privateData: rtu.message.privateData }, 0)
    expect(withoutTid(sent[1]!)).toBe(withoutTid(rtu.mad))
    expect(c.state).toBe('ESTABLISHED')
    release(cm, c, sent, events, clientReleases)
  })

  test('our side as the server', () => {
    const { cm, sent, events } = actor(rep.message.localCommId, rep.message.localCaGuid)
    cm.listen(req.message.serviceId)
    cm.receive(req.mad, client, 0)
    const event = events[0]!
    if (event.type !== 'reqReceived') throw new Error(event.type)
    const c = event.connection
    expect(event.message.privateData).toEqual(req.message.privateData)
    const { message } = rep
    const { localQpn: qpNum, endToEndFlowControl: flowControl } = message
    cm.sendRep(c, { ...message, qpNum, flowControl }, 0)
    // With the transaction id of the REQ.
    expect(Buffer.from(sent[0]!).toString('hex')).toBe(Buffer.from(rep.mad).toString('hex'))
    expectReady(cm, c, req.message, rep.from, client)
    expect(formatIp(ipOfGid(c.primary.remoteGid))).toBe(client)
    cm.receive(rtu.mad, client, 0)
    expect(c.state).toBe('ESTABLISHED')
    release(cm, c, sent, events, !clientReleases)
  })

  function expectReady(
    cm: CommunicationManager<string>,
    c: CmConnection<string>,
    peer: { localQpn: number; rnrRetryCount: number },
    here: string,
    there: string,
  ): void {
    expect(cm.qpAttr(c, QpState.Rtr)).toMatchObject({
      destQpNum: peer.localQpn,
      rqPsn: firstPsn(file, there),
      pathMtu: 128 << req.message.pathMtu,
    })
    const { retryCount: retryCnt } = req.message
    expect(cm.qpAttr(c, QpState.Rts)).toMatchObject({
      sqPsn: firstPsn(file, here),
      ...{ timeout: 19, retryCnt, rnrRetry: peer.rnrRetryCount },
    })
  }

  function release(
    cm: CommunicationManager<string>,
    c: CmConnection<string>,
    sent: Uint8Array[],
    events: CmEvent<string>[],
    weBegin: boolean,
  ): void {
    if (weBegin) {
      cm.sendDreq(c, { privateData: dreq.message.privateData }, 0)
      expect(withoutTid(sent.at(-1)!)).toBe(withoutTid(dreq.mad))
      cm.receive(drep.mad, drep.from, 0)
      expect(events.at(-1)!.type).toBe('drepReceived')
    } else {
      cm.receive(dreq.mad, dreq.from, 0)
      expect(events.at(-1)!.type).toBe('dreqReceived')
      cm.sendDrep(c, { privateData: drep.message.privateData }, 0)
      expect(Buffer.from(sent.at(-1)!).toString('hex')).toBe(Buffer.from(drep.mad).toString('hex'))
    }
    expect(c.state).toBe('TIMEWAIT')
    cm.expire(cm.deadline())
    expect(cm.size).toBe(0)
  }
})

describe('udaddy.pcap', () => {
  const said = conversation('udaddy.pcap')
  const request = find(said, 'SIDR_REQ')
  const reply = find(said, 'SIDR_REP')

  test('our side as the client', () => {
    const { cm, sent, events } = actor(request.message.requestId, 1n)
    cm.sendSidrReq({ ...request.message, to: reply.from }, 0)
    expect(withoutTid(sent[0]!)).toBe(withoutTid(request.mad))
    cm.receive(reply.mad, reply.from, 0)
    const event = events[0]!
    if (event.type !== 'sidrRepReceived') throw new Error(event.type)
    expect(event.message).toMatchObject({ status: 0, qkey: 0x01234567, qpn: reply.message.qpn })
    expect(cm.size).toBe(0)
  })

  test('our side as the server', () => {
    const { cm, sent, events } = actor(1, 1n)
    cm.listen(request.message.serviceId)
    cm.receive(request.mad, request.from, 0)
    const { qpn: qpNum, qkey, privateData, status } = reply.message
    cm.sendSidrRep(events[0]!.connection, { qpNum, qkey, privateData, status }, 0)
    expect(Buffer.from(sent[0]!).toString('hex')).toBe(Buffer.from(reply.mad).toString('hex'))
  })
})
