/** Hosted queue pairs: a message that finds no receive asks the program of the owner for one, which is posted only then. */
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  defaultQkey,
  endpointOf,
  Opcode,
  openDevice,
  pathTo,
  QpState,
  QpType,
  SendFlag,
  WcStatus,
} from '../../../src/index.ts'
import { nativeAvailable, nativeReason } from '../../../src/memory/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { connectSides, type Place, Side, type SideOptions, sge } from './process-rig.ts'
import { until } from './rig.ts'

describe.skipIf(nativeAvailable)(`hosted queue pairs: ${nativeReason}`, () => {
  it.skip('need the native layer', () => {})
})

describe.skipIf(!nativeAvailable)('hosted queue pairs', () => {
  const contexts = ['shm0', 'shm1'].map((one) => openDevice(one))
  const { host } = contexts[0]!.device
  afterAll(() => {
    for (const context of contexts) context.close()
  })

  let a: Side
  let b: Side
  let from: Place
  let to: Place
  /** What the program was asked for. */
  const asked: [string, number][] = []
  /** What it posts at each time. */
  let available: (() => void)[] = []
  beforeEach(() => {
    asked.length = 0
    available = []
    host.refill = (queue, slot) => {
      asked.push([queue, slot])
      available.shift()?.()
    }
  })
  afterEach(() => {
    host.refill = null
    for (const side of [a, b]) if (!side.qp.closed) side.close()
  })

  function make(options: SideOptions = {}, connected = {}): void {
    a = new Side(contexts[0]!, options.type === undefined ? {} : { type: options.type })
    b = new Side(contexts[1]!, { hosted: true, ...options })
    connectSides(a, b, connected)
    from = a.inSegment(4096)
    to = b.inSegment(4096)
  }

  const receive = (wrId = 0) => b.postRecv({ wrId, sgList: [sge(to, 0, 1024)] })
  const send = (wrId = 0, more: object = {}): void =>
    a.qp.postSend({
      wrId,
      opcode: Opcode.Send,
      sendFlags: SendFlag.Signaled,
      sgList: [sge(from, 0, 8)],
      ...more,
    } as never)

  function sendDatagram(to: Side, dlid = pathTo(endpointOf(to.qp))): void {
    const ah = a.pd.createAh(dlid)
    send(0, { ah, remoteQpn: to.qp.qpNum, remoteQkey: defaultQkey })
    ah.close()
  }

  const counter = (name: string): number => contexts[1]!.counters()[name]!

  describe.each([Opcode.Send, Opcode.WriteWithImm])('RC, opcode %i', (opcode) => {
    const more = (): object => ({ opcode, immData: 1, remoteAddr: to.mr.addr, rkey: to.mr.rkey })

    it('gets its receive in time', () => {
      make({}, { rnrRetry: 0 })
      available = [() => receive(5)]
      const before = counter('send_rnr_err')
      send(1, more())
      expect(a.sent()).toMatchObject({ wrId: 1 })
      expect(b.received()).toMatchObject({ wrId: 5 })
      expect(asked).toEqual([['qp', b.qp.slot]])
      expect(counter('send_rnr_err')).toBe(before)
    })

    it('is not ready if there is none, and is asked again when the timer has run out', async () => {
      make({}, { rnrRetry: 2 })
      send(1, more())
      expect(asked.length).toBe(1)
      expect(a.completions(a.sendCq)).toEqual([])
      available = [() => {}, () => receive(6)]
      await until('the message', () => {
        contexts[0]!.device.progress()
        return asked.length === 3
      })
      a.sent()
      expect(b.received()).toMatchObject({ wrId: 6 })
    })

    it('ends with its retries', async () => {
      make({}, { rnrRetry: 1 })
      send(1, more())
      let status = -1
      await until('the end', () => {
        for (const wc of a.completions(a.sendCq)) status = wc.status
        return status >= 0
      })
      expect(status).toBe(WcStatus.RnrRetryExcErr)
      expect(asked.length).toBe(2)
      expect(b.qp.state).toBe(QpState.Rts)
    })
  })

  it('each message of a chain gets its own, and one question may bring several', () => {
    make({}, { rnrRetry: 0 })
    available = [() => receive(1), () => [2, 3, 4].forEach(receive), () => receive(5)]
    a.qp.postSend({
      opcode: Opcode.Send,
      sgList: [sge(from, 0, 8)],
      next: { opcode: Opcode.Send, sgList: [], next: { opcode: Opcode.Send, sgList: [] } },
    })
    send(3)
    send(4)
    expect(b.completions(b.recvCq).map(({ wrId }) => wrId)).toEqual([1, 2, 3, 4, 5])
    expect(asked.length).toBe(3)
  })

  it('a receive that its owner posts by itself needs no question', () => {
    make()
    receive(1)
    send()
    b.received()
    send()
    expect(asked.length).toBe(1)
    receive(2)
    b.received()
    expect(asked.length).toBe(1)
  })

  it('an SRQ is asked for its QPs', () => {
    make({ srq: 'hosted' })
    available = [() => receive(8)]
    send()
    a.sent()
    expect(b.received()).toMatchObject({ wrId: 8 })
    expect(asked).toEqual([['srq', b.srq!.slot]])
    send()
    expect(asked.length).toBe(2)
    receive(9)
    expect(b.received()).toMatchObject({ wrId: 9 })
  })

  it('UC is asked before a message is dropped', () => {
    make({ type: QpType.UC })
    available = [() => receive(3)]
    send()
    expect(b.received()).toMatchObject({ wrId: 3 })
    const before = counter('uc_drops_no_receive')
    send()
    expect(asked.length).toBe(2)
    expect(counter('uc_drops_no_receive')).toBe(before + 1)
    b.nothingReceived()
    expect(a.completions(a.sendCq).length).toBe(2)
  })

  it('UD is asked before a datagram is dropped', () => {
    make({ type: QpType.UD })
    available = [() => receive(3)]
    sendDatagram(b)
    expect(b.received()).toMatchObject({ wrId: 3 })
    const before = counter('ud_drops_no_receive')
    sendDatagram(b)
    expect(asked.length).toBe(2)
    expect(counter('ud_drops_no_receive')).toBe(before + 1)
    expect(a.completions(a.sendCq).length).toBe(2)
  })

  it('all members of a multicast group are asked, and get a datagram once', () => {
    make({ type: QpType.UD })
    const c = new Side(contexts[1]!, { type: QpType.UD, hosted: true })
    const plain = new Side(contexts[1]!, { type: QpType.UD })
    connectSides(c, plain)
    const place = c.inSegment(1024)
    const gid = Uint8Array.from({ length: 16 }, (_, i) => (i === 0 ? 0xff : i))
    for (const { qp } of [b, c, plain]) qp.attachMcast(gid)
    plain.postRecv({ sgList: [sge(plain.inSegment(1024), 0, 1024)] })
    available = [() => receive(1), () => c.postRecv({ wrId: 2, sgList: [sge(place, 0, 1024)] })]
    const group = { dlid: 0xc000, portNum: 1, grh: { dgid: gid, hopLimit: 1 } }
    const send = (): void => {
      const ah = a.pd.createAh(group)
      a.qp.postSend({
        opcode: Opcode.Send,
        sendFlags: SendFlag.Signaled,
        sgList: [sge(from, 0, 8)],
        ah,
        remoteQpn: 0xffffff,
        remoteQkey: defaultQkey,
      } as never)
      ah.close()
      a.sent()
    }
    send()
    for (const side of [b, c, plain]) side.received()
    expect(asked.map(([, slot]) => slot).sort()).toEqual([b.qp.slot, c.qp.slot].sort())
    const before = counter('ud_drops_no_receive')
    send()
    expect(asked.length).toBe(4)
    for (const side of [b, c, plain]) side.nothingReceived()
    expect(counter('ud_drops_no_receive')).toBe(before + 3)
    for (const { qp } of [b, c, plain]) qp.detachMcast(gid)
    c.close()
    plain.close()
  })

  it('the program may post sends, and close queue pairs, when it is asked', () => {
    make({}, { rnrRetry: 0 })
    available = [
      () => {
        receive(1)
        a.postRecv({ wrId: 9, sgList: [sge(from, 512, 64)] })
        b.qp.postSend({ opcode: Opcode.Send, sgList: [sge(to, 0, 8)], sendFlags: SendFlag.Signaled })
      },
      () => b.close(),
    ]
    send(1)
    expect(a.received()).toMatchObject({ wrId: 9 })
    expect(b.received()).toMatchObject({ wrId: 1 })
    a.sent()
    b.sent()
    send(2)
    expect(a.completions(a.sendCq)).toEqual([])
    expect(asked.length).toBe(2)
  })

  it('what the program throws comes out of the verb, and the request goes on later', async () => {
    make()
    available = [
      () => {
        throw new Error('of the program')
      },
    ]
    expect(() => send(1)).toThrow('of the program')
    receive(4)
    await until('the message', () => {
      contexts[0]!.device.progress()
      return a.completions(a.sendCq).length === 1
    })
    expect(b.received()).toMatchObject({ wrId: 4 })
  })

  it('nobody is asked for what another thread hosts: to others it is a peer that does not answer', async () => {
    make({}, { timeout: 1, retryCnt: 1 })
    host.i32[host.qpWord(b.qp.slot) + layout.Qp.owner] = host.segment.me + 1
    send(1)
    let status = -1
    await until('the end', () => {
      for (const wc of a.completions(a.sendCq)) status = wc.status
      return status >= 0
    })
    expect(status).toBe(WcStatus.RetryExcErr)
    expect(asked).toEqual([])
    host.i32[host.qpWord(b.qp.slot) + layout.Qp.owner] = host.segment.me
  })
})
