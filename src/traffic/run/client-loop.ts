/**
 * The data loop of a client: it takes requests from the schedule when they are due, asks the servers for flows or moves the data itself,
 * and notes when each is complete. A loop that cannot send in time sends late; the time of a request counts from when it was due,
 * so nothing that waits is left out (coordinated omission). Nothing is allocated for a request.
 */
import { nowNs } from '../../memory/index.ts'
import { type CompletionQueue, WcFlag, type WorkCompletion, wcStatusText, workCompletions } from '../../verbs/index.ts'
import { qpTypes, Schedule, type TrafficConfig, verbs } from '../index.ts'
import { type Channel, verbIndex } from './channel.ts'
import { type Control, Live } from './control.ts'
import { DrawnValues } from './drawn.ts'
import type { Idle } from './idle.ts'
import type { Link } from './link.ts'
import type { Requests } from './requests.ts'
import { Series } from './series.ts'
import { isReply } from './server-loop.ts'
import type { Tally } from './tally.ts'

/** Requests that wait, in all: then the schedule waits, too. */
const mostWaiting = 65536
/** Requests taken from the schedule between two looks at the queues. */
const mostTaken = 64
/** UC and UD: what has not come for so long does not come any more. */
const lossNs = 1e9
/** After the last request, the loop ends when nothing has come for so long. */
const graceNs = 3e9
const lookEveryNs = 20e6

export interface ClientSettings {
  config: TrafficConfig
  /** By server; null for one that is not there. */
  links: readonly (Link | null)[]
  /** Of the same servers: who sends them requests. */
  requests: readonly (Requests | null)[]
  sendCq: CompletionQueue
  recvCq: CompletionQueue
  stride: number
  control: Control
  /** What the loop does while nothing comes; null if somebody else calls `turn`. */
  idle: Idle | null
  /** Nanoseconds; that of this host if it is not given. */
  clock?: () => number
  tally: Tally
  /** Nothing of it is shown to others. */
  trial?: boolean
}

export interface ClientRun {
  /** Requests that were due, and their bytes. */
  asked: number
  askedBytes: number
  /** Nanoseconds from the start to the last request that was due, and to the last that was complete. */
  askedNs: number
  doneNs: number
  /** The most that a request waited before it was sent, nanoseconds. */
  latestNs: number
  series: Series
  drawn: DrawnValues
}

export class ClientLoop {
  readonly #settings: ClientSettings
  readonly #config: TrafficConfig
  readonly #schedule: Schedule
  readonly #tally: Tally
  readonly #series = new Series()
  readonly #drawn: DrawnValues
  readonly #wcs: WorkCompletion[] = workCompletions(64)
  /** By number of a queue pair in this thread. */
  readonly #channels: (Channel | null)[] = []
  readonly #servers: number[] = []
  readonly #requests: readonly (Requests | null)[]
  /** By type, DSCP and service level: number of the class. */
  readonly #classes = new Int32Array(qpTypes.length << 10)
  readonly #replies = verbs.map(isReply)
  readonly #clock: () => number
  /** Nothing more will come. */
  over = false
  #startNs = 0
  /** Requests that were taken and are not over. */
  #open = 0
  /** Flows that have not been sent or asked for. */
  #waiting = 0
  /** The schedule's current request has not been taken. */
  #pending = false
  #exhausted = false
  #phase = -1
  #group = -1
  /** When the last flow was over; of a collective, when the next step may begin. */
  #freeNs = 0
  /** Closed loop: when the next requests may go, in a ring. */
  #ready = new Float64Array(1)
  #readyHead = 0
  #readyTail = 0
  #phaseStartNs = 0
  #lastProgressNs = 0
  #lastLookNs = 0
  #run: ClientRun

  constructor(settings: ClientSettings) {
    const { config, links, tally } = settings
    this.#settings = settings
    this.#clock = settings.clock ?? nowNs
    this.#config = config
    this.#schedule = new Schedule(config, 'caller')
    this.#tally = tally
    this.#requests = settings.requests
    this.#drawn = new DrawnValues(config)
    const nothing = { asked: 0, askedBytes: 0, askedNs: 0, doneNs: 0, latestNs: 0 }
    this.#run = { ...nothing, series: this.#series, drawn: this.#drawn }
    for (const [server, link] of links.entries()) {
      for (const channel of link?.channels ?? []) {
        this.#channels[channel.index] = channel
        this.#servers[channel.index] = server
      }
      if (link === null) continue
      this.#channels[link.controlIndex] = null
      this.#servers[link.controlIndex] = server
      for (const [i, { type, dscp, serviceLevel }] of link.plan.classes.entries())
        this.#classes[classKey(qpTypes.indexOf(type), dscp, serviceLevel)] = i
    }
  }

  /** Runs until all is done, nothing comes any more, or `control` stops it. */
  run(): ClientRun {
    const { idle } = this.#settings
    this.begin()
    while (!this.over) if (!this.turn()) this.#lookIf(idle?.wait(this.nextNs) ?? false)
    return this.end()
  }

  begin(): void {
    this.#startNs = this.#clock()
    this.#lastProgressNs = 0
  }

  /** Does what can be done now; false if that is nothing. */
  turn(): boolean {
    const now = this.#clock() - this.#startNs
    let progress = this.#take(now)
    if (this.#send(now)) progress = true
    if (this.#receive()) progress = true
    if (this.#complete()) progress = true
    if (progress) {
      this.#lastProgressNs = now
      this.#settings.idle?.busy()
    }
    if (this.#exhausted && this.#open === 0) this.over = true
    else this.#lookIf(now - this.#lastLookNs >= lookEveryNs)
    return progress
  }

  /** Looks at what is looked at rarely, if it is time. */
  #lookIf(look: boolean): void {
    if (!look || this.over) return
    const { control, links } = this.#settings
    const goesOn = !control.stopped && this.#look(this.#clock() - this.#startNs)
    this.over = !goesOn || links.every((link) => link === null || link.failure !== '')
  }

  end(): ClientRun {
    this.#publish()
    if (!this.#settings.control.stopped) this.#abandon()
    this.#run.doneNs ||= this.#run.askedNs
    return this.#run
  }

  /** When the loop has something to do by itself, on the clock of `nowNs`. */
  get nextNs(): number {
    if (this.#waiting > 0) return 0
    if (!this.#pending) return this.#exhausted ? Number.POSITIVE_INFINITY : 0
    const closed = this.#config.phases[this.#phase]?.arrival.type === 'closed'
    if (closed && this.#readyHead === this.#readyTail) return Number.POSITIVE_INFINITY
    const due = closed ? this.#ready[this.#readyHead % this.#ready.length]! : this.#schedule.timeNs
    return this.#startNs + due
  }

  /** Takes the requests that are due; true if there were any. */
  #take(now: number): boolean {
    const schedule = this.#schedule
    let taken = 0
    while (!this.#exhausted && taken < mostTaken && this.#waiting < mostWaiting) {
      if (!this.#pending) {
        this.#pending = schedule.next()
        if (!this.#pending) {
          this.#exhausted = true
          break
        }
        if (schedule.phase !== this.#phase) this.#enterPhase(now)
      }
      const due = this.#dueNs(now)
      if (due > now) break
      if (Number.isNaN(due)) continue
      this.#pending = false
      this.#begin(due)
      taken++
    }
    return taken > 0
  }

  /** When the current request is due: later than now if it is not yet; NaN if it was given up. */
  #dueNs(now: number): number {
    const schedule = this.#schedule
    const phase = this.#config.phases[this.#phase]!
    if (phase.collective !== null) {
      if (schedule.group === this.#group) return Math.max(schedule.timeNs, this.#freeNs)
      if (this.#open > 0) return Number.POSITIVE_INFINITY
      this.#group = schedule.group
      return Math.max(schedule.timeNs, this.#freeNs)
    }
    if (phase.arrival.type !== 'closed') return schedule.timeNs
    if (this.#config.durationNs !== null && now >= this.#config.durationNs) {
      this.#exhausted = true
      return Number.NaN
    }
    if (now - this.#phaseStartNs >= phase.durationNs) {
      this.#pending = false
      schedule.skipPhase(now)
      return Number.NaN
    }
    if (this.#readyHead === this.#readyTail) return Number.POSITIVE_INFINITY
    return this.#ready[this.#readyHead % this.#ready.length]!
  }

  #enterPhase(now: number): void {
    this.#phase = this.#schedule.phase
    this.#phaseStartNs = now
    const { arrival } = this.#config.phases[this.#phase]!
    if (arrival.type !== 'closed') return
    this.#ready = new Float64Array(arrival.depth).fill(now)
    this.#readyHead = 0
    this.#readyTail = arrival.depth
  }

  #begin(dueNs: number): void {
    const { server, size, verbIndex: verb, typeIndex: type, dscp, serviceLevel, rateBps } = this.#schedule
    const phase = this.#config.phases[this.#phase]!
    if (phase.arrival.type === 'closed' && phase.collective === null) this.#readyHead++
    const run = this.#run
    run.asked++
    run.askedBytes += size
    run.askedNs = Math.max(run.askedNs, dueNs)
    this.#series.isDue(dueNs, size)
    this.#drawn.add(this.#phase, this.#schedule.group, verb, size, dueNs)
    const link = this.#settings.links[server]!
    if (link === null || link.failure !== '') {
      this.#tally.fail(server, type, verb, size)
      this.#free(dueNs)
      return
    }
    const channel = this.#channelOf(link, this.#classes[classKey(type, dscp, serviceLevel)]!)
    const ring = this.#asks(verb) ? channel.awaited : channel.flows
    ring.push(size, verb, rateBps, dueNs)
    this.#open++
    this.#waiting++
  }

  /** Whether the server sends the flow. */
  #asks(verb: number): boolean {
    return this.#config.flow === 'reply' && this.#replies[verb]!
  }

  /** The channel of a class with the fewest flows. */
  #channelOf(link: Link, number: number): Channel {
    const { qps } = link.plan
    let best = link.channels[number * qps]!
    for (let i = 1; i < qps; i++) {
      const other = link.channels[number * qps + i]!
      if (flowsIn(other) < flowsIn(best)) best = other
    }
    return best
  }

  /** A request is over: the next one of a closed loop may go. */
  #free(now: number): void {
    this.#freeNs = now
    const { arrival } = this.#config.phases[this.#phase]!
    if (arrival.type !== 'closed' || this.#readyTail - this.#readyHead >= this.#ready.length) return
    this.#ready[this.#readyTail % this.#ready.length] = now + arrival.thinkNs
    this.#readyTail++
  }

  /** Sends what waits and may go. */
  #send(now: number): boolean {
    if (this.#waiting === 0) return false
    let progress = false
    const { depth } = this.#config
    for (const link of this.#settings.links) {
      if (link === null || link.failure !== '') continue
      const requests = this.#requests[this.#servers[link.controlIndex]!]!
      const { channels } = link
      for (let i = 0; i < channels.length; i++) {
        const channel = channels[i]!
        const { awaited, flows } = channel
        while (awaited.next < awaited.tail && awaited.next - awaited.head < depth && requests.room) {
          const at = awaited.next & awaited.mask
          if (channel.marks !== null) {
            const writes = channel.marksOf(awaited.verbs[at]!, awaited.sizes[at]!, awaited.rates[at]!)
            if (!channel.marks.admits(writes)) break
            channel.marks.ask(writes)
          }
          requests.add(i, awaited.verbs[at]!, awaited.next, awaited.sizes[at]!, awaited.rates[at]!)
          this.#late(now - awaited.dues[at]!)
          awaited.next++
          this.#waiting--
          progress = true
        }
        if (flows.next === flows.tail) continue
        const before = flows.next
        if (channel.pump(now)) progress = true
        for (let k = before; k < flows.next; k++) this.#late(now - flows.dues[k & flows.mask]!)
        this.#waiting -= flows.next - before
      }
      requests.flush()
    }
    return progress
  }

  #late(ns: number): void {
    if (ns > this.#run.latestNs) this.#run.latestNs = ns
  }

  /** Completions of what this end has sent or fetched. */
  #complete(): boolean {
    const { sendCq, stride } = this.#settings
    const wcs = this.#wcs
    const n = sendCq.poll(wcs)
    if (n <= 0) return false
    const now = this.#clock() - this.#startNs
    for (let i = 0; i < n; i++) {
      const wc = wcs[i]!
      const index = wc.wrId % stride
      const server = this.#servers[index]!
      const number = (wc.wrId - index) / stride
      if (wc.status !== 0) {
        this.#lose(server, wcStatusText(wc.status))
        continue
      }
      const channel = this.#channels[index]!
      if (channel === null) {
        this.#requests[server]!.completed(number)
        continue
      }
      channel.completed(number)
      const { flows } = channel
      while (channel.headDone) {
        const at = flows.head & flows.mask
        this.#over(server, channel, flows.verbs[at]!, flows.sizes[at]!, flows.dues[at]!, now)
        flows.head++
      }
    }
    return true
  }

  /** What servers have sent. */
  #receive(): boolean {
    const { recvCq, stride, links } = this.#settings
    const wcs = this.#wcs
    const n = recvCq.poll(wcs)
    if (n <= 0) return false
    const now = this.#clock() - this.#startNs
    for (let i = 0; i < n; i++) {
      const wc = wcs[i]!
      const index = wc.wrId % stride
      const server = this.#servers[index]!
      const link = links[server]!
      if (wc.status !== 0) {
        this.#lose(server, wcStatusText(wc.status))
        continue
      }
      const channel = this.#channels[index]!
      const slot = (wc.wrId - index) / stride
      const number = index - link.channels[0]!.index
      if (channel.unreliable) this.#arrivedUnreliably(server, link, channel, number, slot, wc, now)
      else this.#arrived(server, channel, wc, now)
      link.received(number, slot)
    }
    return true
  }

  /** RC: all comes, and in order. */
  #arrived(server: number, channel: Channel, wc: WorkCompletion, now: number): void {
    const { awaited } = channel
    if (awaited.head === awaited.next) {
      this.#lose(server, 'the server sent what nobody asked for')
      return
    }
    const at = awaited.head & awaited.mask
    const verb = awaited.verbs[at]!
    const size = awaited.sizes[at]!
    if (verb === verbIndex.send || verb === verbIndex.send_with_imm) {
      channel.arrived += wc.byteLen
      if (channel.arrived < size) return
    }
    this.#over(server, channel, verb, size, awaited.dues[at]!, now)
    channel.arrived = 0
    awaited.head++
  }

  /** UC and UD: the number of the flow is in the immediate, or in the first bytes of the message. */
  #arrivedUnreliably(
    server: number,
    link: Link,
    channel: Channel,
    number: number,
    slot: number,
    wc: WorkCompletion,
    now: number,
  ): void {
    const { awaited } = channel
    const bytes = wc.byteLen - (channel.type === 'UD' ? 40 : 0)
    const withImm = (wc.wcFlags & WcFlag.WithImm) !== 0
    const known = withImm ? 4 : Math.min(4, bytes)
    const modulus = 256 ** known
    const sequence = withImm ? wc.immData : link.beginning(number, slot, known)
    const ahead = (((sequence - awaited.head) % modulus) + modulus) % modulus
    // One that was given up, or a copy.
    if (awaited.head + ahead >= awaited.next) return
    for (let i = 0; i < ahead; i++) this.#lostHead(server, channel)
    const at = awaited.head & awaited.mask
    const verb = awaited.verbs[at]!
    const size = awaited.sizes[at]!
    if (verb === verbIndex.send || verb === verbIndex.send_with_imm) {
      channel.arrived += bytes
      if (channel.arrived < size) {
        // The last message has come, and one before it has not.
        if (withImm) this.#lostHead(server, channel)
        return
      }
    }
    if (!this.#writesCame(channel)) {
      this.#loseHead(server, channel)
      return
    }
    this.#over(server, channel, verb, size, awaited.dues[at]!, now)
    channel.arrived = 0
    awaited.head++
  }

  /** Whether the WRITEs of the flow at the head have come, if it has any; asked once. */
  #writesCame(channel: Channel): boolean {
    const { marks, awaited } = channel
    if (marks === null) return true
    const at = awaited.head & awaited.mask
    return marks.take(channel.marksOf(awaited.verbs[at]!, awaited.sizes[at]!, awaited.rates[at]!))
  }

  #lostHead(server: number, channel: Channel): void {
    this.#writesCame(channel)
    this.#loseHead(server, channel)
  }

  #loseHead(server: number, channel: Channel): void {
    const { awaited } = channel
    const at = awaited.head & awaited.mask
    this.#tally.lose(server, channel.typeIndex, awaited.verbs[at]!, awaited.sizes[at]!)
    channel.arrived = 0
    awaited.head++
    this.#open--
    this.#free(this.#clock() - this.#startNs)
  }

  #over(server: number, channel: Channel, verb: number, size: number, dueNs: number, now: number): void {
    this.#tally.complete(server, channel.typeIndex, verb, size, Math.max(0, now - dueNs))
    this.#series.isDone(now, size)
    this.#run.doneNs = now
    this.#open--
    this.#free(now)
  }

  /** What is looked at rarely; false if nothing comes any more. */
  #look(now: number): boolean {
    const { links, control } = this.#settings
    this.#lastLookNs = now
    this.#publish()
    for (const [server, link] of links.entries()) {
      if (link === null || link.failure !== '') continue
      if (control.gone(server)) this.#lose(server, 'the server is gone')
      for (const channel of link.channels) {
        if (!channel.unreliable) continue
        const { awaited } = channel
        while (
          awaited.head < awaited.next &&
          now - awaited.dues[awaited.head & awaited.mask]! > lossNs + this.#run.latestNs
        )
          this.#lostHead(server, channel)
      }
    }
    return !this.#exhausted || now - this.#lastProgressNs < graceNs
  }

  /** All that a server owes will not come. */
  #lose(server: number, why: string): void {
    const link = this.#settings.links[server]!
    if (link.failure !== '') return
    link.fail(why)
    this.#fail(server, link)
  }

  #fail(server: number, link: Link): void {
    const now = this.#clock() - this.#startNs
    for (const channel of link.channels)
      for (const ring of [channel.awaited, channel.flows]) {
        this.#waiting -= ring.tail - ring.next
        for (; ring.head < ring.tail; ring.head++) {
          const at = ring.head & ring.mask
          this.#tally.fail(server, channel.typeIndex, ring.verbs[at]!, ring.sizes[at]!)
          this.#open--
          this.#free(now)
        }
        ring.next = ring.tail
      }
  }

  /** At the end: what is not complete. */
  #abandon(): void {
    for (const [server, link] of this.#settings.links.entries()) if (link !== null) this.#fail(server, link)
  }

  #publish(): void {
    if (this.#settings.trial === true) return
    const { live } = this.#settings.control
    const { done, bytes, lost, failed } = this.#tally
    live[Live.asked] = this.#run.asked
    live[Live.done] = done
    live[Live.bytes] = bytes
    live[Live.lost] = lost
    live[Live.failed] = failed
    live[Live.waiting] = this.#waiting
    live[Live.ns] = this.#clock() - this.#startNs
  }
}

function classKey(type: number, dscp: number, serviceLevel: number): number {
  return (type << 10) | (dscp << 4) | serviceLevel
}

function flowsIn({ flows, awaited }: Channel): number {
  return flows.tail - flows.head + (awaited.tail - awaited.head)
}
