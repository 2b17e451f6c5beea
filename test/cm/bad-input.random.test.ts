/** Messages at random and damaged ones: nothing throws, what is kept stays bounded, and everything still ends. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { type CmEvent, CommunicationManager } from '../../src/cm/ib/index.ts'
import { QpState } from '../../src/verbs/index.ts'
import { CmAttribute, type CmMessage, type CmType, cmMessage, cmPath, emitCm, Mad } from '../../src/wire/index.ts'
import { holds, seeds } from '../property.ts'
import { seededBelow } from '../random.ts'
import { req, reqParams, Script, service, theirId } from './script.ts'
import { World } from './world.ts'

const types = Object.keys(CmAttribute) as CmType[]
let received = 0

afterAll(() => console.log(`${received.toLocaleString('en')} damaged messages`))

/** A manager whose program answers at random, and believes whatever it is told. */
class Target {
  readonly sent: Uint8Array[] = []
  readonly cm: CommunicationManager<number>
  readonly #random: (below: number) => number
  now = 0

  constructor(random: (below: number) => number) {
    this.#random = random
    this.cm = new CommunicationManager<number>({
      caGuid: 5n,
      random: () => random(2 ** 32) / 2 ** 32,
      commIds: () => 1 + random(12),
      addressKey: String,
      send: (mad) => void this.sent.push(mad),
      event: (event) => this.#answer(event),
      limits: { connections: 10, answers: 4 },
    })
    this.cm.listen(service)
  }

  #answer({ connection: c }: CmEvent<number>): void {
    const { cm, now } = this
    const { state } = c
    if (c.kind === 'connection' && c.remoteQpn !== 0 && state !== 'IDLE') cm.qpAttr(c, QpState.Rtr)
    switch (this.#random(4) === 0 ? 'wait' : state) {
      case 'REQ_RCVD':
        if (this.#random(3) === 0) cm.sendMra(c, {}, now)
        else cm.sendRep(c, { qpNum: 9 + this.#random(9) }, now)
        break
      case 'MRA_REQ_SENT':
        cm.sendRej(c, {}, now)
        break
      case 'REP_RCVD':
        cm.sendRtu(c, {}, now)
        break
      case 'LAP_RCVD':
        cm.sendApr(c, { status: this.#random(2) }, now)
        break
      case 'ESTABLISHED':
        if (this.#random(2) === 0) cm.sendDreq(c, {}, now)
        else cm.sendLap(c, { alternate: reqParams.primary }, now)
        break
      case 'DREQ_RCVD':
        cm.sendDrep(c, {}, now)
        break
      case 'SIDR_REQ_RCVD':
        cm.sendSidrRep(c, { qpNum: 7 }, now)
    }
  }

  ask(): void {
    if (this.cm.size < 5) this.cm.sendReq({ ...reqParams, to: 1, peerToPeer: this.#random(2) === 0 }, this.now)
  }
}

/** A MAD that is nearly right: ids and QP numbers are those that are in use, or next to them. */
function invent(random: (below: number) => number, target: Target): Uint8Array {
  const mad = new Uint8Array(Mad.totalLength)
  const earlier = target.sent.at(-1 - random(4))
  const choice = random(10)
  if (choice < 2 && earlier !== undefined) mad.set(earlier)
  else {
    const type = types[random(types.length)]!
    const known = [...target.cm.connections()]
    const c = known[random(known.length + 1)]
    const fields = {
      ...(type === 'REQ' ? req : {}),
      localCommId: random(3) === 0 ? 1 + random(12) : (c?.remoteCommId ?? theirId),
      remoteCommId: random(3) === 0 ? 1 + random(12) : (c?.localCommId ?? 1),
      requestId: 1 + random(12),
      serviceId: service,
      localCaGuid: BigInt(4 + random(3)),
      localQpn: random(12),
      remoteQpn: c?.localQpn ?? 0,
      reason: random(34),
      messageRejected: random(4),
      messageMraed: random(4),
      additionalInfoLength: 8 * random(2),
      additionalInfo: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 4 + random(3)),
      serviceTimeout: random(32),
      localCmResponseTimeout: random(32),
      alternate: cmPath({ localGid: new Uint8Array(16).fill(random(2)), remoteGid: new Uint8Array(16) }),
    }
    const tid = BigInt(random(3))
    emitCm(cmMessage(type, tid, fields as never) as unknown as CmMessage, mad, 0)
  }
  for (let flips = random(3) === 0 ? random(6) : 0; flips > 0; flips--) mad[random(256)]! ^= 1 << random(8)
  return random(50) === 0 ? mad.subarray(0, random(257)) : mad
}

test('invented and damaged messages', () => {
  holds(
    fc.property(seeds, (seed) => {
      const random = seededBelow(seed)
      const target = new Target(random)
      const { cm } = target
      for (let i = 0; i < 200; i++) {
        const choice = random(12)
        if (choice === 0) target.ask()
        else if (choice === 1 && cm.deadline() < Number.POSITIVE_INFINITY) {
          target.now = Math.max(target.now, cm.deadline())
          cm.expire(target.now)
        } else {
          received++
          cm.receive(invent(random, target), random(3), target.now)
        }
        expect(cm.size).toBeLessThanOrEqual(10)
        expect(cm.deadline()).toBeGreaterThan(0)
      }
      for (const c of [...cm.connections()]) cm.close(c, target.now)
      for (let rounds = 0; cm.deadline() < Number.POSITIVE_INFINITY; rounds++) {
        expect(rounds).toBeLessThan(1000)
        target.now = cm.deadline()
        cm.expire(target.now)
      }
      expect(cm.size).toBe(0)
      expect(cm.halfOpen).toBe(0)
    }),
    50,
  )
})

test('bytes at random', () => {
  const heads = fc.constantFrom('', '01070203', '0107020300000000', ...types.map((t) => headOf(t)))
  const inputs = fc.tuple(heads, fc.uint8Array({ maxLength: 300 }))
  holds(
    fc.property(inputs, ([head, tail]) => {
      const s = new Script()
      const c = s.reqSent()
      s.cm.listen(service)
      const mad = Uint8Array.from([...Buffer.from(head, 'hex'), ...tail])
      received++
      s.cm.receive(mad, 'peer', 0)
      const { dropped, received: taken } = s.cm.counters
      const count = (record: Record<string, number>): number => Object.values(record).reduce((sum, n) => sum + n, 0)
      expect(count(dropped) + count(taken)).toBeGreaterThan(0)
      if (mad.length < 256) expect(dropped.tooShort).toBe(1)
      expect(c.localCommId).toBe(100)
    }),
    600,
  )
})

const headOf = (type: CmType): string => `0107020300000000000000000000000000${CmAttribute[type].toString(16)}`

test('what cannot be read is counted by reason', () => {
  const s = new Script()
  const mad = (change: (b: Uint8Array) => void): Uint8Array => {
    const b = new Uint8Array(256)
    emitCm(cmMessage('RTU', 1n, {}) as CmMessage, b, 0)
    change(b)
    return b
  }
  const cases: [string, (b: Uint8Array) => void][] = [
    ['madVersion', (b) => (b[0] = 2)],
    ['madVersion', (b) => (b[2] = 1)],
    ['madClass', (b) => (b[1] = 3)],
    ['madMethod', (b) => (b[3] = 1)],
    ['cmAttribute', (b) => (b[17] = 0x1b)],
  ]
  for (const [reason, change] of cases) {
    const before = s.dropped[reason] ?? 0
    s.cm.receive(mad(change), 'peer', 0)
    expect(s.dropped[reason], reason).toBe(before + 1)
  }
  s.cm.receive(new Uint8Array(255), 'peer', 0)
  expect(s.dropped.tooShort).toBe(1)
  s.quiet()
})

test('a link that also flips bits', () => {
  holds(
    fc.property(seeds, (seed) => {
      const options = { seed, loss: 0.2, duplication: 0.2, delayNs: 2e7, connections: 4, peerToPeer: seed % 2 === 0 }
      const world = new World({ ...options, corruption: 0.3, faultsUntilNs: 1e9, sameGuid: false, trusting: true })
      world.run(60e9)
      received += world.carried
      world.checkNoLeaks()
    }),
    60,
  )
})
