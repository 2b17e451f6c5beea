/**
 * Two adapters on a link that loses, repeats, delays and reorders, with programs that do as a seed says: ask, accept,
 * refuse, take their time, propose paths, release, close. What a program may rely on is checked while it runs.
 */
import { expect } from 'vitest'
import { type CmConnection, type CmEvent, type CmListener, CommunicationManager } from '../../src/cm/ib/index.ts'
import { QpType } from '../../src/verbs/index.ts'
import { CmRejReason, Mad } from '../../src/wire/index.ts'
import { seeded } from '../random.ts'

export interface WorldOptions {
  seed: number
  loss: number
  duplication: number
  /** Messages take up to so long: more than one is outstanding, and they overtake each other. */
  delayNs: number
  /** From then on the link is good. */
  faultsUntilNs: number
  connections: number
  peerToPeer: boolean
  /** Both adapters have the same GUID, so that QP numbers are compared. */
  sameGuid: boolean
  /** A bit of a message is flipped with this probability. */
  corruption?: number
  /** Whoever says that he is connected is believed: with flipped bits nothing else is possible. */
  trusting?: boolean
  /**
   * A third party sees every message and sends it, as it is or with other fields, from an address of its own to both ends.
   * No connection of theirs may be another one after that.
   */
  stranger?: boolean
}

interface Action {
  atNs: number
  order: number
  run: () => void
}

type Connection = CmConnection<Side>
const ms = 1e6
const service = 0x1060001n
const peerService = 0x13f0001n

/** `accepted` and `confirmed` hold the ids of connections, the active side's first. */
export class Side {
  readonly cm: CommunicationManager<Side>
  readonly listener: CmListener<Side>
  readonly gid: Uint8Array
  readonly name: string
  readonly guid: bigint
  readonly #world: World
  readonly connections = new Set<Connection>()
  readonly free: number[]
  other!: Side

  constructor(world: World, index: number, guid: bigint) {
    this.#world = world
    this.name = 'AB'[index]!
    this.guid = guid
    this.gid = Uint8Array.from([...new Uint8Array(15), index + 1])
    this.free = Array.from({ length: 16 }, (_, i) => 0x100 * (index + 1) + i)
    this.cm = new CommunicationManager<Side>({
      caGuid: guid,
      random: world.random,
      caAckDelay: 2,
      addressKey: (side) => side.name,
      // What goes to the stranger is lost.
      send: (mad, to) => void (to instanceof Side && world.carry(mad, this, to)),
      event: (event) => this.#onEvent(event),
    })
    this.listener = this.cm.listen(service)
  }

  ask(peerToPeer: boolean): void {
    const qpNum = this.free.pop()
    if (qpNum === undefined) return
    const c = this.cm.sendReq(
      {
        serviceId: peerToPeer ? peerService : service,
        to: this.other,
        qpNum,
        qpType: this.#world.chance(0.2) ? QpType.UC : QpType.RC,
        primary: { localGid: this.gid, remoteGid: this.other.gid },
        packetLifeTime: this.#world.below(12),
        pathMtu: 1 + this.#world.below(5),
        responderResources: this.#world.below(5),
        initiatorDepth: this.#world.below(5),
        remoteCmResponseTimeout: 14,
        localCmResponseTimeout: 14,
        maxCmRetries: 15,
        peerToPeer,
      },
      this.#world.now,
    )
    this.connections.add(c)
  }

  /** Does something that the state allows, or nothing. */
  act(c: Connection): void {
    const { cm } = this
    const { now, accepted, confirmed } = this.#world
    const choice = this.#world.below(100)
    switch (c.state) {
      case 'REQ_RCVD':
      case 'MRA_REQ_SENT':
        if (choice < 10) cm.sendRej(c, { reason: 28 }, now)
        else if (choice < 15) this.close(c)
        else if (choice < 30 && c.state === 'REQ_RCVD') {
          cm.sendMra(c, { serviceTimeout: 10, whenRepeated: choice < 22 }, now)
          this.later(c)
        } else {
          const qpNum = c.peerToPeer ? c.localQpn : this.free.pop()
          if (qpNum === undefined) this.close(c)
          else {
            accepted.add(key(c))
            cm.sendRep(c, { qpNum }, now)
          }
        }
        break
      case 'REP_RCVD':
      case 'MRA_REP_SENT':
        if (choice < 5) cm.sendRej(c, { reason: 28 }, now)
        else if (choice < 10) this.close(c)
        else if (choice < 20 && c.state === 'REP_RCVD') {
          cm.sendMra(c, { serviceTimeout: 10 }, now)
          this.later(c)
        } else {
          this.#world.mustHave('accepted', c)
          confirmed.add(key(c))
          cm.sendRtu(c, {}, now)
          if (this.#world.chance(0.6)) this.later(c)
        }
        break
      case 'LAP_RCVD':
      case 'MRA_LAP_SENT':
        if (choice < 30 && c.state === 'LAP_RCVD') {
          cm.sendMra(c, { serviceTimeout: 10 }, now)
          this.later(c)
        } else cm.sendApr(c, { status: choice % 3 }, now)
        break
      case 'ESTABLISHED':
        if (choice < 30) cm.sendDreq(c, {}, now)
        else if (choice < 40) this.close(c)
        else if (choice < 60) {
          cm.sendLap(c, { alternate: { localGid: this.gid, remoteGid: this.other.gid, flowLabel: choice } }, now)
          this.later(c)
        }
        break
      case 'DREQ_RCVD':
        if (choice < 30) this.close(c)
        else cm.sendDrep(c, {}, now)
        break
      case 'REQ_SENT':
      case 'REP_SENT':
        if (choice < 5) this.close(c)
    }
  }

  close(c: Connection): void {
    this.cm.close(c, this.#world.now)
    this.#over(c)
  }

  later(c: Connection): void {
    this.#world.at(this.#world.now + this.#world.below(40) * ms, () => this.act(c))
  }

  #over(c: Connection): void {
    if (this.connections.delete(c) && c.localQpn !== 0) this.free.unshift(c.localQpn)
  }

  #onEvent(event: CmEvent<Side>): void {
    const c = event.connection
    this.connections.add(c)
    if (event.type === 'rtuReceived') {
      this.#world.mustHave('confirmed', c)
      if (this.#world.chance(0.5)) this.later(c)
    }
    if (event.type === 'timewaitExit' || c.state === 'IDLE') this.#over(c)
    else this.later(c)
  }
}

/** The address of the stranger. */
const strange = { name: 'X' } as Side

/** All that a side knows of its connections with the other side, and when it will act. */
function stateOf({ cm }: Side): unknown[] {
  return [...cm.connections()].filter(({ peer }) => peer !== strange).map(({ context, listener, ...known }) => known)
}

/** The same for both ends. */
function key(c: Connection): string {
  return c.active ? `${c.localCommId} ${c.remoteCommId}` : `${c.remoteCommId} ${c.localCommId}`
}

export class World {
  now = 0
  readonly random: () => number
  readonly accepted = new Set<string>()
  readonly confirmed = new Set<string>()
  readonly sides: readonly [Side, Side]
  readonly #options: WorldOptions
  readonly #actions: Action[] = []
  #order = 0
  carried = 0
  strange = 0

  constructor(options: WorldOptions) {
    this.#options = options
    this.random = seeded(options.seed)
    const guids = options.sameGuid ? [7n, 7n] : [7n, 8n]
    this.sides = [new Side(this, 0, guids[0]!), new Side(this, 1, guids[1]!)]
    this.sides[0].other = this.sides[1]
    this.sides[1].other = this.sides[0]
    for (let i = 0; i < options.connections; i++) {
      const side = this.sides[this.below(2)]!
      const start = this.below(200) * ms
      this.at(start, () => side.ask(options.peerToPeer))
      if (options.peerToPeer) this.at(start + this.below(50) * ms, () => side.other.ask(true))
    }
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit)
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }

  at(atNs: number, run: () => void): void {
    this.#actions.push({ atNs, order: this.#order++, run })
  }

  /** Nobody is connected without the other side having agreed. */
  mustHave(what: 'accepted' | 'confirmed', c: Connection): void {
    if (!this.#options.trusting) expect(this[what].has(key(c)), `${what} by the other side`).toBe(true)
  }

  carry(mad: Uint8Array, from: Side, to: Side): void {
    const { loss, duplication, delayNs, faultsUntilNs, corruption = 0 } = this.#options
    const faulty = this.now < faultsUntilNs
    const copies = faulty ? (this.chance(loss) ? 0 : 1) + (this.chance(duplication) ? 1 : 0) : 1
    for (let i = 0; i < copies; i++) {
      const bytes = mad.slice()
      if (faulty && this.chance(corruption)) bytes[this.below(256)]! ^= 1 << this.below(8)
      this.at(this.now + 1000 + (faulty ? this.below(delayNs) : 0), () => {
        this.carried++
        this.#intrude(bytes)
        to.cm.receive(bytes, from, this.now)
        this.#intrude(bytes)
      })
    }
  }

  /** The stranger sends what it has seen; all ids, GUIDs and QP numbers are right. */
  #intrude(seen: Uint8Array): void {
    if (!this.#options.stranger) return
    for (const side of this.sides) {
      const mad = seen.slice()
      // Other messages with the same ids: REQ, MRA, REJ, …, APR.
      if (this.chance(0.7)) mad[Mad.attributeId + 1] = 0x10 + this.below(11)
      // A REJ or APR of any reason, or with the GUID of the other end, as after a timeout.
      if (this.chance(0.3)) mad.set([8, 0, this.below(34)], Mad.length + 9)
      if (this.chance(0.3))
        mad.set([8, 0, CmRejReason.Timeout, 0, 0, 0, 0, 0, 0, 0, Number(side.other.guid)], Mad.length + 9)
      const before = stateOf(side)
      side.cm.receive(mad, strange, this.now)
      expect(stateOf(side)).toEqual(before)
      this.strange++
    }
  }

  /** Until nothing is left to happen, or `untilNs`. */
  run(untilNs: number): void {
    for (;;) {
      const next = this.#actions.reduce<Action | undefined>(
        (best, a) => (best && (best.atNs < a.atNs || (best.atNs === a.atNs && best.order < a.order)) ? best : a),
        undefined,
      )
      const atNs = Math.min(next?.atNs ?? Number.POSITIVE_INFINITY, ...this.sides.map(({ cm }) => cm.deadline()))
      if (atNs > untilNs || atNs === Number.POSITIVE_INFINITY) break
      this.now = Math.max(this.now, atNs)
      if (next !== undefined && next.atNs <= this.now) {
        this.#actions.splice(this.#actions.indexOf(next), 1)
        next.run()
      } else for (const { cm } of this.sides) cm.expire(this.now)
    }
    if (untilNs < Number.POSITIVE_INFINITY) this.now = untilNs
  }

  /** Each end that is established has another end that is it too and knows the same of it. */
  checkAgreement(): void {
    const [a, b] = this.sides.map(
      (side) => new Map([...side.connections].filter(isEstablished).map((c) => [key(c), c])),
    )
    expect([...a!.keys()].sort()).toEqual([...b!.keys()].sort())
    for (const [name, one] of a!) {
      const two = b!.get(name)!
      expect({ ...mirrored(one), active: one.active }).toEqual({ ...told(two), active: !two.active })
      expect(one.initiatorDepth).toBeLessThanOrEqual(two.responderResources)
      expect(two.initiatorDepth).toBeLessThanOrEqual(one.responderResources)
    }
  }

  /** Everything ends; nothing may be left. */
  checkNoLeaks(): void {
    for (const side of this.sides) for (const c of [...side.connections]) side.close(c)
    this.run(Number.POSITIVE_INFINITY)
    // Requests that came while the rest ended.
    for (const side of this.sides) for (const c of [...side.connections]) side.close(c)
    this.run(Number.POSITIVE_INFINITY)
    for (const { cm, listener } of this.sides) {
      expect([...cm.connections()].map((c) => c.state)).toEqual([])
      expect({ size: cm.size, halfOpen: cm.halfOpen, waiting: listener.waiting }).toEqual({
        size: 0,
        halfOpen: 0,
        waiting: 0,
      })
      expect(cm.deadline()).toBe(Number.POSITIVE_INFINITY)
    }
  }
}

const isEstablished = (c: Connection): boolean => c.state === 'ESTABLISHED'
const told = (c: Connection): object => ({
  qpn: c.localQpn,
  sends: c.sqPsn,
  expects: c.rqPsn,
  type: c.qpType,
  mtu: c.pathMtu,
  other: c.remoteQpn,
})
const mirrored = (c: Connection): object => ({
  qpn: c.remoteQpn,
  sends: c.rqPsn,
  expects: c.sqPsn,
  type: c.qpType,
  mtu: c.pathMtu,
  other: c.localQpn,
})
