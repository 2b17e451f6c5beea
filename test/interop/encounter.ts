/**
 * A program of ours meets one of a guest: both run, one of them the server, the link may lose packets, and what the
 * judges saw is gathered: the capture, the kernel's counters, ours, tshark and our own analysis.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { analyseCapture, type CaptureInfo } from '../../src/trace/index.ts'
import { countersOf, dropsAfterLoss, faultsOf } from './judges.ts'
import {
  type Counters,
  type Guest,
  type GuestOutcome,
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

export type Role = 'client' | 'server'
export type Family = keyof HostAddresses

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

export interface Played {
  lossy: boolean
  mine: Outcome
  theirs: GuestOutcome
  packets: Packet[]
  objections: string[]
  /** What our own `trace info` says. */
  trace: CaptureInfo
  complaints: string[]
  /** Differences of the kernel's counters. */
  kernel: Counters
  drops: { fromGuest: number; toGuest: number }
}

export class Stage {
  readonly lab: Lab
  readonly guest: Guest
  readonly #started: Program[] = []
  #impairment: Impairment = {}

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
    for (const program of this.#started.splice(0)) await program.stop()
    await this.guest.text(`killall -q -9 ${guestPrograms.join(' ')}; true`)
  }

  async play(encounter: Encounter): Promise<Played> {
    const { lab, guest } = this
    const { impairment = {} } = encounter
    await this.#impair(impairment)
    const [countersBefore, dropsBefore] = await Promise.all([guest.counters(), this.#drops()])
    const capture = await lab.capture(1, encounter.name)
    const { mine, theirs } = await this.#meet(encounter)
    const packets = await capture.stop()
    const [counters, drops, complaints, objections, trace] = await Promise.all([
      guest.counters(),
      this.#drops(),
      guest.complaints(),
      tsharkObjections(capture.path),
      analyseCapture(capture.path),
    ])
    return {
      lossy: (impairment.lossPercent ?? 0) > 0,
      mine,
      theirs,
      packets,
      objections,
      trace,
      complaints,
      kernel: Object.fromEntries(Object.entries(counters).map(([name, n]) => [name, n - countersBefore[name]!])),
      drops: { fromGuest: drops.fromGuest - dropsBefore.fromGuest, toGuest: drops.toGuest - dropsBefore.toGuest },
    }
  }

  async #meet(encounter: Encounter): Promise<{ mine: Outcome; theirs: GuestOutcome }> {
    const { role, mine: args, node, environment = {}, theirs: script, ready } = encounter
    const { patienceMs = 3_000, timeLimitMs = 60_000 } = encounter
    const startMine = (): Program => {
      const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
      const command = [...variables, process.execPath, ...(node ? [] : [verbena]), ...args]
      const program = this.lab.start('env', command, timeLimitMs)
      this.#started.push(program)
      return program
    }
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
    const first = await Promise.race([program.ended.then(() => 'mine'), job.ended.then(() => 'theirs')])
    const other = first === 'mine' ? job.ended : program.ended
    const waited = await Promise.race([other, delay(patienceMs, null)])
    if (waited === null) await (first === 'mine' ? job.stop() : program.stop('SIGINT'))
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

/** What also comes, after losses, to an end that has closed its queue pair or knows the connection no more. */
export const dropsAtEnd = /^(drops_no_qp|drops_qp_state|gsi_drops_no_agent|ud_drops_no_qp)$/

/**
 * What must hold of every meeting between the two addresses of a family, whatever was lost: every packet is right, and
 * accounted for on both sides. `group` is a multicast group where packets may go besides, `drops` names counters of ours
 * that may say so, and `counted` is false of programs of ours that print none.
 */
export function judge(
  played: Played,
  family: Family,
  guest: Guest,
  { group, drops: mayDrop, counted = true }: { group?: string; drops?: RegExp; counted?: boolean } = {},
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
  const late = mine.filter(({ number, destQpn }) => number > from && destQpn !== 1).length
  const counters = counted ? countersOf(played.mine) : null
  // Members of a group hear themselves: those copies are not on the link.
  const [echo, theirEcho] = [mine, theirs].map((sent) => sent.filter(({ destination }) => destination === group).length)
  const heard = theirEcho! > 0 ? theirEcho! + drops.fromGuest : 0
  const seen = `captured ${mine.length} of ours and ${theirs.length} of theirs, lost ${drops.toGuest} and ${drops.fromGuest}; kernel ${JSON.stringify(kernel)}; ours ${JSON.stringify(counters)}`
  expect(kernel.rcvd_pkts, seen).toBeLessThanOrEqual(mine.length - drops.toGuest + heard)
  expect(kernel.rcvd_pkts, seen).toBeGreaterThanOrEqual(mine.length - drops.toGuest + heard - late)
  expect(kernel.sent_pkts, seen).toBe(theirs.length + drops.fromGuest)
  expect(kernel).toMatchObject({ retry_rnr_exceeded_err: 0, send_err: 0, link_downed: 0 })
  if (!lossy) expect(kernel).toMatchObject({ out_of_seq_request: 0, rcvd_seq_err: 0, retry_exceeded_err: 0 })
  if (counters === null) return
  expect(counters.sent_pkts, seen).toBe(mine.length)
  expect(counters.rcvd_pkts, seen).toBeLessThanOrEqual(theirs.length + echo!)
  // What came before the last packet of ours was there in time to be counted.
  const last = mine.at(-1)?.number ?? 0
  expect(counters.rcvd_pkts, seen).toBeGreaterThanOrEqual(theirs.filter(({ number }) => number < last).length)
  const allowed = [/^$/]
  if (lossy) allowed.push(dropsAfterLoss, dropsAtEnd)
  // A sender that is done has no receives for what it hears of itself, and in the end no queue pair.
  if (echo! > 0) allowed.push(/^ud_drops_no_receive$/, /^drops_no_qp$/)
  if (mayDrop) allowed.push(mayDrop)
  expect(faultsOf(counters, new RegExp(allowed.map(({ source }) => source).join('|'))), seen).toEqual({})
}
