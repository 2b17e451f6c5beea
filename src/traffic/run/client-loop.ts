/**
 * Data loop of a client: it takes requests from the schedule when they are due, requests flows from the servers or moves the data itself,
 * and records when each is complete. A loop that cannot send in time sends late; the time of a request counts from when it was due, so the
 * time that a request waits is included (no coordinated omission). Nothing is allocated for a request.
 */
import { nowNs } from '../../memory/index.ts'
import { type CompletionQueue, type WorkCompletion, wcStatusText, workCompletions } from '../../verbs/index.ts'
import { qpTypes, type TrafficConfig, verbs } from '../index.ts'
import type { Channel } from './channel.ts'
import { type Control, Live } from './control.ts'
import { DrawnValues } from './drawn.ts'
import type { Idle } from './idle.ts'
import { Incoming } from './incoming.ts'
import type { Link } from './link.ts'
import { Outcomes } from './outcomes.ts'
import { Pace } from './pace.ts'
import { Patience } from './patience.ts'
import type { Requests } from './requests.ts'
import { Series } from './series.ts'
import { isReply } from './server-loop.ts'
import type { Tally } from './tally.ts'

/** Maximum number of requests that wait, in all; beyond it the schedule waits, too. */
const mostWaiting = 65536
/** Maximum number of requests taken from the schedule between two checks of the queues. */
const mostTaken = 64
const lookEveryNs = 20e6

export interface ClientSettings {
  config: TrafficConfig
  /** Links by server; null for a server that is not there. */
  links: readonly (Link | null)[]
  /** Senders of requests to the same servers. */
  requests: readonly (Requests | null)[]
  sendCq: CompletionQueue
  recvCq: CompletionQueue
  stride: number
  control: Control
  /** Idling of the loop while no completion comes; null if the caller calls `turn`. */
  idle: Idle | null
  /** Returns nanoseconds; by default the clock of this host. */
  clock?: () => number
  tally: Tally
  /** Flag: a trial, whose progress is not published. */
  trial?: boolean
}

export interface ClientRun {
  /** Number of requests that were due, and their bytes. */
  asked: number
  askedBytes: number
  /** Nanoseconds from the start to the last request that was due, and to the last that was complete. */
  askedNs: number
  doneNs: number
  /** Maximum time that a request waited before it was sent, nanoseconds. */
  latestNs: number
  series: Series
  drawn: DrawnValues
}

export class ClientLoop {
  readonly #settings: ClientSettings
  readonly #config: TrafficConfig
  readonly #pace: Pace
  readonly #patience: Patience
  readonly #tally: Tally
  readonly #outcomes: Outcomes
  readonly #incoming: Incoming
  readonly #series = new Series()
  readonly #drawn: DrawnValues
  readonly #wcs: WorkCompletion[] = workCompletions(64)
  /** Channels by number of a queue pair in this thread. */
  readonly #channels: (Channel | null)[] = []
  readonly #servers: number[] = []
  readonly #requests: readonly (Requests | null)[]
  /** Number of the class by type, DSCP and service level. */
  readonly #classes = new Int32Array(qpTypes.length << 10)
  readonly #replies = verbs.map(isReply)
  readonly #clock: () => number
  /** Flag: no more data will come. */
  over = false
  #startNs = 0
  /** Number of flows that have not been requested, or of which nothing has been sent. */
  #waiting = 0
  /** Number of those flows, and of the ones that are being sent. */
  #unsent = 0
  /** Flag: all completions had been taken at the last check. */
  #drained = true
  #turnNs = 0
  #lastProgressNs = 0
  #lastLookNs = 0
  #run: ClientRun

  constructor(settings: ClientSettings) {
    const { config, links, tally } = settings
    this.#settings = settings
    this.#clock = settings.clock ?? nowNs
    this.#config = config
    this.#pace = new Pace(config)
    this.#patience = new Patience(links, settings.stride, config.bandwidthBps, settings.clock === undefined)
    this.#tally = tally
    this.#outcomes = new Outcomes(tally, this.#series, this.#pace)
    this.#incoming = new Incoming(this.#outcomes, this.#patience)
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

  /** Runs until all is done, no more data comes, or `control` stops it. */
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

  /** Does all work that is possible now; false if there was none. */
  turn(): boolean {
    const now = this.#clock() - this.#startNs
    this.#turnNs = now
    let progress = this.#take(now)
    if (this.#send(now)) progress = true
    if (this.#receive()) progress = true
    if (this.#complete()) progress = true
    if (progress) {
      this.#lastProgressNs = now
      this.#settings.idle?.busy()
    }
    if (this.#pace.exhausted && this.#outcomes.open === 0) this.over = true
    else this.#lookIf(now - this.#lastLookNs >= lookEveryNs)
    return progress
  }

  /** Checks the rarely checked conditions, if it is time. */
  #lookIf(look: boolean): void {
    if (!look || this.over) return
    const { control, links } = this.#settings
    const goesOn = !control.stopped && this.#look(this.#clock() - this.#startNs)
    this.over = !goesOn || links.every((link) => link === null || link.failure !== '')
  }

  end(): ClientRun {
    this.#publish()
    if (!this.#settings.control.stopped) this.#abandon()
    this.#run.doneNs = this.#outcomes.doneNs || this.#run.askedNs
    return this.#run
  }

  /**
   * Time, on the clock of `nowNs`, at which the loop can continue without a completion; Infinity if a completion has to come first. To be
   * read after a turn in which no work was possible.
   */
  get nextNs(): number {
    let next = this.#later(this.#pace.nextNs)
    if (this.#unsent > this.#waiting)
      for (const link of this.#settings.links)
        if (link !== null && link.failure === '')
          for (const { nextNs } of link.channels) next = Math.min(next, this.#later(nextNs))
    return this.#startNs + next
  }

  /** True if requests are outstanding, which may never complete. */
  get waits(): boolean {
    return this.#outcomes.open > 0
  }

  /** Returns the time if it is later than the last turn; work that was possible before waits for another event: Infinity. */
  #later(ns: number): number {
    return ns > this.#turnNs ? ns : Number.POSITIVE_INFINITY
  }

  /** Takes the requests that are due; true if there were any. */
  #take(now: number): boolean {
    const pace = this.#pace
    let taken = 0
    while (taken < mostTaken && this.#waiting < mostWaiting && pace.take(now, this.#outcomes.open)) {
      this.#begin(pace.dueNs)
      taken++
    }
    return taken > 0
  }

  #begin(dueNs: number): void {
    const { phase, schedule } = this.#pace
    const { server, size, verbIndex: verb, typeIndex: type, dscp, serviceLevel, rateBps } = schedule
    const run = this.#run
    run.asked++
    run.askedBytes += size
    run.askedNs = Math.max(run.askedNs, dueNs)
    this.#series.isDue(dueNs, size)
    this.#drawn.add(phase, schedule.group, verb, size, dueNs)
    const link = this.#settings.links[server]!
    if (link === null || link.failure !== '') {
      this.#tally.fail(server, type, verb, size)
      this.#pace.over(phase, dueNs)
      return
    }
    const channel = this.#channelOf(link, this.#classes[classKey(type, dscp, serviceLevel)]!)
    const ring = this.#asks(verb) ? channel.awaited : channel.flows
    ring.push(size, verb, rateBps, dueNs, phase)
    this.#outcomes.open++
    this.#waiting++
    this.#unsent++
  }

  /** True if the server sends the flow. */
  #asks(verb: number): boolean {
    return this.#config.flow === 'reply' && this.#replies[verb]!
  }

  /** Returns the channel of a class with the fewest flows. */
  #channelOf(link: Link, number: number): Channel {
    const { qps } = link.plan
    let best = link.channels[number * qps]!
    for (let i = 1; i < qps; i++) {
      const other = link.channels[number * qps + i]!
      if (flowsIn(other) < flowsIn(best)) best = other
    }
    return best
  }

  /** Sends the requests and messages that wait and may go. */
  #send(now: number): boolean {
    if (this.#unsent === 0) return false
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
          awaited.begins[at] = now
          awaited.next++
          this.#waiting--
          this.#unsent--
          progress = true
        }
        if (flows.next === flows.tail) continue
        const { begun } = channel
        this.#unsent += flows.next
        if (channel.pump(now)) progress = true
        this.#unsent -= flows.next
        for (let k = begun; k < channel.begun; k++) this.#late(now - flows.dues[k & flows.mask]!)
        this.#waiting -= channel.begun - begun
      }
      requests.flush()
    }
    return progress
  }

  #late(ns: number): void {
    if (ns > this.#run.latestNs) this.#run.latestNs = ns
  }

  /** Processes the completions of this end's own sends and fetches. */
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
      while (channel.headDone) this.#outcomes.complete(server, channel, flows, now)
    }
    return true
  }

  /** Processes the messages that servers have sent. */
  #receive(): boolean {
    const { recvCq, stride, links } = this.#settings
    const wcs = this.#wcs
    const n = recvCq.poll(wcs)
    this.#drained = n < wcs.length
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
      if (channel.unreliable) this.#incoming.unreliable(server, link, channel, number, slot, wc, now)
      else if (!this.#incoming.inOrder(server, channel, wc, now))
        this.#lose(server, 'the server sent what nobody asked for')
      link.received(number, slot)
    }
    return true
  }

  /** Checks the rarely checked conditions; false if no more data comes. */
  #look(now: number): boolean {
    const { links, control } = this.#settings
    const patience = this.#patience
    this.#lastLookNs = now
    this.#publish()
    patience.look(now)
    for (const [server, link] of links.entries()) {
      if (link === null || link.failure !== '') continue
      if (patience.doubts(server, now)) this.#requests[server]!.probe()
      if (control.gone(server)) this.#lose(server, 'the server is gone')
      else if (this.#drained) for (const channel of link.channels) this.#incoming.giveUp(server, channel, now)
    }
    return !this.#pace.exhausted || now - this.#lastProgressNs < patience.graceNs
  }

  /** Gives up everything that a server owes. */
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
        this.#waiting -= ring.tail - (ring === channel.flows ? channel.begun : ring.next)
        this.#unsent -= ring.tail - ring.next
        while (ring.head < ring.tail) this.#outcomes.fail(server, channel, ring, now)
        ring.next = ring.tail
      }
  }

  /** Gives up, at the end, the flows that are not complete. */
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
