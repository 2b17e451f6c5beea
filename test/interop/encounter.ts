/**
 * A program of ours meets one of a guest: both run, one of them the server, the link may lose packets, and what the
 * judges saw is gathered: the capture, the kernel's counters, ours, tshark and our own analysis.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest'
import { fileSource } from '../../src/files/index.ts'
import { analyseCapture, type CaptureInfo } from '../../src/trace/index.ts'
import { countersOf, dropsAfterLoss, faultsOf } from './judges.ts'
import {
  type Counters,
  type Guest,
  type GuestOutcome,
  guestAddresses,
  type HostAddresses,
  type Impairment,
  type Job,
  Lab,
  type Outcome,
  ours,
  type Packet,
  type Program,
  tsharkObjections,
  verbena,
} from './lab/index.ts'

/** Where guests can run, and programs of ours can meet theirs. */
export const images: string | null = inject('pingPongs') ? inject('guestImages') : null

export const roles = ['client', 'server'] as const
export const families = ['ipv4', 'ipv6'] as const
export type Role = (typeof roles)[number]
export type Family = keyof HostAddresses
/** The addresses of the guest. */
export const there: HostAddresses = guestAddresses(1)

/** One of many meetings: `role` is ours. */
export interface Case {
  role: Role
  family: Family
  lossPercent: number
}

export const impairmentOf = ({ lossPercent }: { lossPercent: number }): Impairment =>
  lossPercent > 0 ? { lossPercent } : {}

/** What both said, for the message of an assertion. */
export const outputs = ({ mine, theirs }: Played): string => `${mine.output}\n--- theirs:\n${theirs.output}`

export interface Encounter {
  /** Of the capture. */
  name: string
  /** Ours. */
  role: Role
  /** Arguments of `verbena`, or those of Node.js for a program of the tests. */
  mine: readonly string[]
  node?: true
  environment?: Record<string, string>
  /** A script for the guest. */
  theirs: string
  /** Lets the client begin when the server can be reached. */
  ready(): Promise<void>
  /** What the link does to RoCE packets in each direction; default: nothing. */
  impairment?: Impairment
  /** Who has not ended so long after the other is made to: ours by an interrupt, theirs by a kill. */
  patienceMs?: number
  timeLimitMs?: number
}

/** What the judges saw while programs ran. */
export interface Seen {
  lossy: boolean
  packets: Packet[]
  objections: string[]
  /** What our own `trace info` says. */
  trace: CaptureInfo
  complaints: string[]
  /** Differences of the kernel's counters. */
  kernel: Counters
  drops: { fromGuest: number; toGuest: number }
}

export interface Played extends Seen {
  mine: Outcome
  theirs: GuestOutcome
}

/** How a program of ours is started: of the command `verbena`, or of Node.js. */
type Start = Pick<Encounter, 'node' | 'environment' | 'timeLimitMs'>

export class Stage {
  readonly lab: Lab
  readonly guest: Guest
  readonly #started: Program[] = []
  #impairment: Impairment = {}
  /** When nobody has the link and the guest's counters any more. */
  #free: Promise<void> = Promise.resolve()

  constructor(lab: Lab, guest: Guest) {
    this.lab = lab
    this.guest = guest
  }

  static async open(images: string): Promise<Stage> {
    const lab = await Lab.open(1)
    return new Stage(lab, await lab.boot(1, images))
  }

  async close(): Promise<void> {
    await this.lab.close()
  }

  /** Ends what a failed test has left. */
  async clear(guestPrograms: readonly string[]): Promise<void> {
    await this.#alone(async () => {
      for (const program of this.#started.splice(0)) await program.stop()
      await this.guest.text(`killall -q -9 ${guestPrograms.join(' ')}; true`)
    })
  }

  /** Until the server of a meeting can be reached through the RDMA CM. */
  async reachable({ role, family }: { role: Role; family: Family }, space: 'TCP' | 'UDP', port: number): Promise<void> {
    if (role === 'client') await this.guest.listensCm(space, port)
    else await this.lab.receives(ours[family])
  }

  async play(encounter: Encounter): Promise<Played> {
    const { seen, result } = await this.watch(encounter, async () => await this.#meet(encounter))
    return { ...seen, ...result }
  }

  /**
   * Gathers what happens on the link and in the guest while `during` runs. Of tests that run at once only one has the link; what was
   * captured is examined while the next one has it.
   */
  async watch<T>(
    { name, impairment = {} }: Pick<Encounter, 'name' | 'impairment'>,
    during: () => Promise<T>,
  ): Promise<{ seen: Seen; result: T }> {
    const { lab, guest } = this
    const { capture, packets, counted, result } = await this.#alone(async () => {
      await this.#impair(impairment)
      const [countersBefore, dropsBefore] = await Promise.all([guest.counters(), this.#drops()])
      const capture = await lab.capture(1, name)
      const result = await during()
      // The last packets are under way.
      await delay(impairment.delayMs ?? 0)
      const packets = await capture.stop()
      const [counters, drops, complaints] = await Promise.all([guest.counters(), this.#drops(), guest.complaints()])
      const counted = {
        complaints,
        kernel: Object.fromEntries(Object.entries(counters).map(([name, n]) => [name, n - countersBefore[name]!])),
        drops: { fromGuest: drops.fromGuest - dropsBefore.fromGuest, toGuest: drops.toGuest - dropsBefore.toGuest },
      }
      return { capture, packets, counted, result }
    })
    const [objections, trace] = await Promise.all([
      tsharkObjections(capture.path),
      analyseCapture(fileSource(capture.path)),
    ])
    return { seen: { lossy: (impairment.lossPercent ?? 0) > 0, packets, objections, trace, ...counted }, result }
  }

  /** Has the link and the guest for itself, after those that came before. */
  async #alone<T>(action: () => Promise<T>): Promise<T> {
    const ended = this.#free.then(action)
    this.#free = ended.then(
      () => {},
      () => {},
    )
    return await ended
  }

  /** Starts a program of ours, which ends with the test at the latest. */
  start(args: readonly string[], { node, environment = {}, timeLimitMs = 60_000 }: Start = {}): Program {
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
    const command = [...variables, process.execPath, ...(node ? [] : [verbena]), ...args]
    const program = this.lab.start('env', command, timeLimitMs)
    this.#started.push(program)
    return program
  }

  async #meet(encounter: Encounter): Promise<{ mine: Outcome; theirs: GuestOutcome }> {
    const { role, mine: args, theirs: script, ready, patienceMs = 3_000, timeLimitMs = 60_000 } = encounter
    const startMine = (): Program => this.start(args, encounter)
    const startTheirs = (): Job => this.guest.start(script, timeLimitMs)
    let program: Program
    let job: Job
    if (role === 'server') {
      program = startMine()
      await ready()
      job = startTheirs()
    } else {
      job = startTheirs()
      await ready()
      program = startMine()
    }
    const first = await Promise.race([program.ended, job.ended.then(() => null)])
    const other = first === null ? program.ended : job.ended
    // Who gave up leaves the other waiting.
    const gaveUp = first !== null && first.code !== 0
    const waited = gaveUp ? null : await Promise.race([other, delay(patienceMs, null)])
    if (waited === null) await (first === null ? program.stop('SIGINT') : job.stop())
    return { mine: await program.ended, theirs: await job.ended }
  }

  async #impair(wanted: Impairment): Promise<void> {
    if (isDeepStrictEqual(wanted, this.#impairment)) return
    if (isDeepStrictEqual(wanted, {})) await this.guest.clearImpairment()
    else await this.guest.impair(wanted)
    this.#impairment = wanted
  }

  async #drops(): Promise<{ fromGuest: number; toGuest: number }> {
    return isDeepStrictEqual(this.#impairment, {}) ? { fromGuest: 0, toGuest: 0 } : await this.guest.drops()
  }
}

/** A stage for the tests of a suite, whose guest runs none of `programs` longer than a test. */
export function useStage(programs: readonly string[]): () => Stage {
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open(images!)
  })
  afterAll(async () => await stage?.close())
  afterEach(async () => {
    if (programs.length > 0) await stage.clear(programs)
  })
  return () => stage
}

/** What also comes, after losses, to an end that has closed its queue pair or knows the connection no more. */
export const dropsAtEnd = /^(drops_no_qp|drops_qp_state|gsi_drops_no_agent)$/

/**
 * What must hold of every meeting between the two addresses of a family, whatever was lost: every packet is right, and
 * accounted for on both sides, on ours if `mine` is there. `group` is a multicast group where packets may go besides, `drops` names
 * counters of ours that may say so, `underWay` packets of each end may still come when the other has ended, and `counted` is false
 * of programs of ours that print no counters.
 */
export function judge(
  played: Seen & Partial<Pick<Played, 'mine'>>,
  family: Family,
  guest: Guest,
  {
    group,
    drops: mayDrop,
    underWay = 0,
    counted = true,
  }: { group?: string; drops?: RegExp; underWay?: number; counted?: boolean } = {},
): void {
  const { packets, kernel, drops, lossy } = played
  const [here, there] = [ours[family], guest.addresses[family]]
  const mine = packets.filter(({ source, destination }) => source === here && [there, group].includes(destination))
  const theirs = packets.filter(({ source, destination }) => source === there && [here, group].includes(destination))
  expect(packets.length + drops.fromGuest).toBeGreaterThan(0)
  expect(mine.length + theirs.length).toBe(packets.length)
  expect(packets.filter(({ fault }) => fault !== null)).toEqual([])
  expect(played.objections).toEqual([])
  expect(played.complaints).toEqual([])
  expect(played.trace).toMatchObject({ packets: packets.length, roce: packets.length, icrcInvalid: 0, malformed: 0 })
  // Nobody counts what comes for a QP that is destroyed: what is not for QP 1 after the guest began to end.
  const end = theirs.find(({ cm }) => cm === 'DREQ' || cm === 'DREP')?.number ?? packets.length
  const from = Math.min(end, theirs.at(-3)?.number ?? 0)
  const late = underWay + mine.filter(({ number, destQpn }) => number > from && destQpn !== 1).length
  const counters = counted && played.mine !== undefined ? countersOf(played.mine) : null
  // Members of a group hear themselves: those copies are not on the link.
  const [echo, theirEcho] = [mine, theirs].map((sent) => sent.filter(({ destination }) => destination === group).length)
  const heard = theirEcho! > 0 ? theirEcho! + drops.fromGuest : 0
  const seen = `captured ${mine.length} of ours and ${theirs.length} of theirs, lost ${drops.toGuest} and ${drops.fromGuest}; kernel ${JSON.stringify(kernel)}; ours ${JSON.stringify(counters)}`
  expect(kernel.rcvd_pkts, seen).toBeLessThanOrEqual(mine.length - drops.toGuest + heard)
  expect(kernel.rcvd_pkts, seen).toBeGreaterThanOrEqual(mine.length - drops.toGuest + heard - late)
  expect(kernel.sent_pkts, seen).toBe(theirs.length + drops.fromGuest)
  expect(kernel).toMatchObject({ retry_rnr_exceeded_err: 0, send_err: 0, link_downed: 0 })
  if (!lossy) expect(kernel).toMatchObject({ rcvd_seq_err: 0, retry_exceeded_err: 0 })
  // What comes behind a message for which no receive was posted is out of sequence, too.
  if (!lossy && kernel.send_rnr_err === 0) expect(kernel).toMatchObject({ out_of_seq_request: 0 })
  if (counters === null) return
  expect(counters.sent_pkts, seen).toBe(mine.length)
  expect(counters.rcvd_pkts, seen).toBeLessThanOrEqual(theirs.length + echo!)
  // What came before the last packet of ours was there in time to be counted.
  const last = mine.at(-1)?.number ?? 0
  const inTime = theirs.filter(({ number }) => number < last).length - underWay
  expect(counters.rcvd_pkts, seen).toBeGreaterThanOrEqual(inTime)
  const allowed = [/^$/]
  if (lossy) allowed.push(dropsAfterLoss, dropsAtEnd)
  if (counters.send_rnr_err! > 0) allowed.push(/^(out_of_seq_request|drops_nak_pending)$/)
  // A sender that is done has no receives for what it hears of itself, and in the end no queue pair.
  if (echo! > 0) allowed.push(/^ud_drops_no_receive$/, /^drops_no_qp$/)
  // A guest that is slow may acknowledge after the goodbye: that is for a queue pair that has ended.
  const goodbye = packets.find(({ cm }) => cm === 'DREQ' || cm === 'DREP')?.number ?? packets.length
  if (theirs.some(({ number, destQpn }) => number > goodbye && destQpn !== 1)) allowed.push(dropsAtEnd)
  if (mayDrop) allowed.push(mayDrop)
  expect(faultsOf(counters, new RegExp(allowed.map(({ source }) => source).join('|'))), seen).toEqual({})
}
