/**
 * Our ping-pongs against rdma-core's on Linux Soft-RoCE: each program in both roles, at three MTUs, over IPv4 and IPv6,
 * with and without losses on the link. Judges are the kernel's counters, which see only packets with a valid ICRC, an
 * ICRC computed here, tshark, and our own counters:
 *
 *     of ours in the capture  = what the kernel received + what the link lost on the way to it
 *     of theirs in the capture = what the kernel sent − what the link lost = what we received
 */
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { analyseCapture, type CaptureInfo } from '../../src/trace/index.ts'
import { countersOf, dropsAfterLoss, faultsOf } from './judges.ts'
import {
  type Counters,
  type Guest,
  type GuestOutcome,
  type Job,
  Lab,
  type Outcome,
  ours,
  type Packet,
  type Program,
  repeatedTooSoon,
  tsharkObjections,
  verbena,
} from './lab/index.ts'

const images = inject('guestImages')
const able = inject('pingPongs')

type Kind = 'rc' | 'uc' | 'ud' | 'srq'
type Role = 'client' | 'server'
type Family = 'ipv4' | 'ipv6'

interface Case {
  kind: Kind
  /** Ours. */
  role: Role
  mtu: number
  family: Family
  lossPercent: number
  /** Options of ours beyond those that follow from the above. */
  more?: readonly string[]
  /** Instead of the adapter on this side's address of the family, and its GID. */
  device?: readonly string[]
}

/** What happened in one run. */
interface Played {
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

const port = 18515
/** The ping-pongs ask for 4.096 µs · 2¹⁴, which is 67 ms. */
const ackTimeoutMs = 60
const messageBytes = 7777
const srqQps = 4
/** Only these end after losses. */
const reliable = (kind: Kind): boolean => kind === 'rc' || kind === 'srq'

/** Messages of several packets at every MTU; datagrams, which have no MTU option, of the MTU's length. */
function options({ kind, mtu, lossPercent }: Case): string[] {
  const iterations = ['-n', lossPercent === 0 ? '100' : '30']
  if (kind === 'ud') return [...iterations, '-s', `${mtu}`]
  // A UC message of many packets would hardly ever survive: with losses it is three packets, so that a few arrive.
  const ucBytes = lossPercent === 0 ? 6000 : 3 * mtu - 5
  const size = ['-s', `${kind === 'uc' ? ucBytes : messageBytes}`, '-m', `${mtu}`]
  if (kind === 'srq') return [...iterations, '-q', `${srqQps}`, ...size]
  return [...iterations, ...size]
}

/** SENDs that arrive at each end. With srq the queue pairs share them, and a few more may come. */
function messagesOf(kase: Case): number {
  const given = options(kase)
  return Number(given[given.indexOf('-n') + 1])
}

function productOf(lossPercent: number): Case[] {
  const cases: Case[] = []
  for (const kind of ['rc', 'uc', 'ud', 'srq'] as const)
    for (const role of ['client', 'server'] as const)
      for (const family of ['ipv4', 'ipv6'] as const)
        for (const mtu of [256, 1024, 4096]) cases.push({ kind, role, family, mtu, lossPercent })
  return cases
}

function title({ kind, role, mtu, family, more = [], device = [] }: Case): string {
  return [`${kind}_pingpong`, `ours the ${role}`, `MTU ${mtu}`, family, ...more, ...device.slice(1)].join(', ')
}

describe.skipIf(images === null || !able)('ping-pongs against Soft-RoCE', () => {
  let lab: Lab
  let guest: Guest
  const gidIndex = { ipv4: 0, ipv6: 0 }
  let lossPercent = 0

  beforeAll(async () => {
    lab = await Lab.open(1)
    guest = await lab.boot(1, images!)
    gidIndex.ipv4 = await guest.gidIndex(guest.addresses.ipv4)
    gidIndex.ipv6 = await guest.gidIndex(guest.addresses.ipv6)
  })
  afterAll(async () => await lab?.close())
  afterEach(async () => await guest.text(`killall -q -9 ${guestPrograms}; true`))
  const guestPrograms = ['rc', 'uc', 'ud', 'srq'].map((kind) => `ibv_${kind}_pingpong`).join(' ')

  async function impair(percent: number): Promise<void> {
    if (percent === lossPercent) return
    if (percent === 0) await guest.clearImpairment()
    else await guest.impair({ lossPercent: percent })
    lossPercent = percent
  }

  /** The exchange of addresses goes over IPv4, as rdma-core's programs have it; the packets go between GIDs. */
  async function play(kase: Case, timeLimitMs: number): Promise<Played> {
    const { kind, role, family } = kase
    await impair(kase.lossPercent)
    const [countersBefore, dropsBefore, capture] = await Promise.all([
      guest.counters(),
      dropsNow(),
      lab.capture(
        1,
        `${kind}-${role}-${kase.mtu}-${family}-${kase.lossPercent}${(kase.more ?? kase.device) ? '-other' : ''}`,
      ),
    ])
    const theirCommand = `ibv_${kind}_pingpong -d rxe0 -g ${gidIndex[family]} -c ${options(kase).join(' ')}`
    const { device = ['-d', `roce:${ours[family]}`, '-g', '0'], more = [] } = kase
    const myArgs = [verbena, `${kind}_pingpong`, ...device, ...more, '-c', '--json']
    // What is lost for good makes ours give up.
    if (kase.lossPercent > 0 && !reliable(kind)) myArgs.push('--timeout', '1')
    const start = (...host: string[]): Program =>
      lab.start(process.execPath, [...myArgs, ...options(kase), ...host], timeLimitMs)
    let mine: Outcome
    let theirs: GuestOutcome
    if (role === 'client') {
      const serving = guest.start(theirCommand, timeLimitMs)
      await guest.listens(port)
      mine = await start(guest.addresses.ipv4).ended
      theirs = await ended(serving, mine)
    } else {
      const program = start()
      await lab.listens(port)
      const asking = guest.start(`${theirCommand} ${ours.ipv4}`, timeLimitMs)
      mine = await program.ended
      theirs = await ended(asking, mine)
    }
    const packets = await capture.stop()
    const [counters, drops, complaints, objections, trace] = await Promise.all([
      guest.counters(),
      dropsNow(),
      guest.complaints(),
      tsharkObjections(capture.path),
      analyseCapture(capture.path),
    ])
    return {
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

  async function dropsNow(): Promise<{ fromGuest: number; toGuest: number }> {
    return lossPercent === 0 ? { fromGuest: 0, toGuest: 0 } : await guest.drops()
  }

  /**
   * Ours is over. Theirs ends by itself, unless ours gave up, or the last acknowledgement of ours was lost: then it never
   * does.
   */
  async function ended(job: Job, mine: Outcome): Promise<GuestOutcome> {
    if (mine.code !== 0) return await job.stop()
    const patience = new Promise<null>((resolve) => setTimeout(resolve, 2_000, null))
    return (await Promise.race([job.ended, patience])) ?? (await job.stop())
  }

  /** What must hold of every run, whatever was lost. */
  function judge({ kind, family, mtu, lossPercent }: Case, played: Played): void {
    const { packets, kernel, drops } = played
    const { [family]: theirAddress } = guest.addresses
    const { [family]: myAddress } = ours
    const mine = packets.filter(({ source }) => source === myAddress)
    const theirs = packets.filter(({ source }) => source === theirAddress)
    // All that should have come to a server of an unreliable kind may have been lost.
    expect(packets.length + drops.fromGuest).toBeGreaterThan(0)
    if (lossPercent === 0 || reliable(kind)) expect(mine.length).toBeGreaterThan(0)
    expect(mine.length + theirs.length).toBe(packets.length)
    expect(packets.filter(({ fault }) => fault !== null)).toEqual([])
    expect(played.objections).toEqual([])
    expect(played.complaints).toEqual([])
    expect(played.trace).toMatchObject({ packets: packets.length, roce: packets.length, icrcInvalid: 0, malformed: 0 })
    // Nobody counts what comes for a QP that is destroyed: what follows the end of the peer's packets and, with srq, which
    // ends when all QPs together have had enough, a message on each QP.
    const underWay = kind === 'srq' ? srqQps * Math.ceil(messageBytes / mtu) : 0
    const late = underWay + mine.filter(({ number }) => number > (theirs.at(-3)?.number ?? 0)).length
    const counters = countersOf(played.mine)
    const seen = `captured ${mine.length} of ours and ${theirs.length} of theirs, lost ${drops.toGuest} and ${drops.fromGuest}; kernel ${JSON.stringify(kernel)}; ours ${JSON.stringify(counters)}`
    expect(kernel.rcvd_pkts, seen).toBeLessThanOrEqual(mine.length - drops.toGuest)
    expect(kernel.rcvd_pkts, seen).toBeGreaterThanOrEqual(mine.length - drops.toGuest - late)
    expect(kernel.sent_pkts, seen).toBe(theirs.length + drops.fromGuest)
    expect(kernel).toMatchObject({ retry_exceeded_err: 0, retry_rnr_exceeded_err: 0, send_err: 0, link_downed: 0 })
    if (counters === null) return
    expect(counters.rcvd_pkts, seen).toBeLessThanOrEqual(theirs.length)
    // What came before the last packet of ours was there in time to be counted.
    const last = mine.at(-1)?.number ?? 0
    expect(counters.rcvd_pkts, seen).toBeGreaterThanOrEqual(
      theirs.filter(({ number }) => number < last).length - underWay,
    )
    expect(counters.sent_pkts, seen).toBe(mine.length)
    expect(faultsOf(counters, lossPercent > 0 ? dropsAfterLoss : undefined)).toEqual({})
  }

  function expectMessages(kase: Case, kernel: Counters): void {
    if (kase.kind === 'srq') expect(kernel.rdma_recvs).toBeGreaterThanOrEqual(messagesOf(kase))
    else expect(kernel.rdma_recvs).toBe(messagesOf(kase))
  }

  /** Our analysis of the capture finds the one connection, all its messages, and what we say that we repeated. */
  function expectTraced(kase: Case, { trace, mine }: Played): void {
    const [directions, ...others] = trace.conversations.map((conversation) => conversation.directions)
    expect(others).toEqual([])
    expect(directions!.map(({ messages }) => messages.send)).toEqual([messagesOf(kase), messagesOf(kase)])
    const sent = directions!.find(({ source }) => source === ours[kase.family])
    expect(sent?.retransmissions).toBe(countersOf(mine)?.retransmitted_pkts)
  }

  describe('without loss', () => {
    const device = ['-d', 'roce']
    const others: Case[] = [
      { kind: 'rc', role: 'client', mtu: 1024, family: 'ipv4', lossPercent: 0, more: ['-e'] },
      { kind: 'srq', role: 'server', mtu: 1024, family: 'ipv6', lossPercent: 0, more: ['-e'] },
      { kind: 'ud', role: 'server', mtu: 1024, family: 'ipv4', lossPercent: 0, more: ['-e'] },
      { kind: 'rc', role: 'server', mtu: 1024, family: 'ipv4', lossPercent: 0, device },
    ]
    for (const kase of [...productOf(0), ...others]) {
      it(title(kase), async () => {
        const played = await play(kase, 40_000)
        const { mine, theirs, kernel } = played
        expect([mine.code, theirs.code], `${mine.output}\n${theirs.output}`).toEqual([0, 0])
        expect(theirs.output).toMatch(/\d+ iters in [\d.]+ seconds/)
        expect(JSON.parse(mine.stdout)).toMatchObject({ tool: `${kase.kind}_pingpong`, role: kase.role })
        judge(kase, played)
        // On a slow machine timers may expire though nothing was lost; anything else would be our fault.
        expect(kernel).toMatchObject({ out_of_seq_request: 0, rcvd_seq_err: 0, send_rnr_err: 0, rcvd_rnr_err: 0 })
        const sent = played.packets.filter(({ source }) => source === ours[kase.family])
        if (reliable(kase.kind)) expect(repeatedTooSoon(sent, ackTimeoutMs)).toEqual([])
        expectMessages(kase, kernel)
        if (kase.kind === 'rc') expectTraced(kase, played)
      })
    }
  })

  describe('with 3 % of the packets lost in each direction', () => {
    for (const kase of productOf(3).filter(({ kind }) => reliable(kind))) {
      it(title(kase), async () => {
        const played = await play(kase, 40_000)
        const { mine, theirs, kernel } = played
        expect(mine.code, `${mine.output}\n${theirs.output}`).toBe(0)
        judge(kase, played)
        // All arrived, also when it could not end because its last acknowledgement was lost.
        expectMessages(kase, kernel)
        if (kase.kind === 'rc') expectTraced(kase, played)
      })
    }
    for (const kase of productOf(3).filter(({ kind }) => !reliable(kind))) {
      it(`${title(kase)}: as far as it gets`, async () => {
        const played = await play(kase, 20_000)
        expect(played.mine.code, played.mine.output).not.toBeNull()
        judge(kase, played)
        // Nobody asked for retransmissions, and nobody made any.
        expect(played.kernel).toMatchObject({ duplicate_request: 0, rcvd_seq_err: 0, completer_retry_err: 0 })
      })
    }
  })
})
