/**
 * Our ping-pongs against rdma-core's on Linux Soft-RoCE: each program in both roles, at three MTUs, over IPv4 and IPv6,
 * with and without losses on the link. Judges are the kernel's counters, which see only packets with a valid ICRC, an
 * ICRC computed here, tshark, and our own counters:
 *
 *     of ours in the capture  = what the kernel received + what the link lost on the way to it
 *     of theirs in the capture = what the kernel sent − what the link lost = what we received
 *
 * Two tests run at once: the capture of one is examined while the next one has the link.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type Case as Encountered,
  families,
  images,
  impairmentOf,
  judge,
  outputs,
  type Played,
  roles,
  useStage,
} from './encounter.ts'
import { countersOf, dropsAfterLoss, faultsOf } from './judges.ts'
import { type Counters, ours, repeatedTooSoon } from './lab/index.ts'

type Kind = 'rc' | 'uc' | 'ud' | 'srq'

interface Case extends Encountered {
  kind: Kind
  mtu: number
  /** Options of ours beyond those that follow from the above. */
  more?: readonly string[]
  /** Instead of the adapter on this side's address of the family, and its GID. */
  device?: readonly string[]
}

const port = 18515
/** The ping-pongs ask for 4.096 µs · 2¹⁴, which is 67 ms. */
const ackTimeoutMs = 60
/** A requester that has heard nothing for longer than usual goes back early, but never before 10 ms. */
const earlyMs = 9
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
    for (const role of roles)
      for (const family of families)
        for (const mtu of [256, 1024, 4096]) cases.push({ kind, role, family, mtu, lossPercent })
  return cases
}

/** Where packets are lost a run takes seconds: the shortest and the longest MTU over one family each. */
const lossy = productOf(3).filter(({ mtu, family }) => mtu === 1024 || (mtu === 256) === (family === 'ipv4'))

function title({ kind, role, mtu, family, more = [], device = [] }: Case): string {
  return [`${kind}_pingpong`, `ours the ${role}`, `MTU ${mtu}`, family, ...more, ...device.slice(1)].join(', ')
}

const guestPrograms = ['rc', 'uc', 'ud', 'srq'].map((kind) => `ibv_${kind}_pingpong`)

describe.skipIf(images === null)('ping-pongs against Soft-RoCE', () => {
  const stage = useStage(guestPrograms)
  const gidIndex = { ipv4: 0, ipv6: 0 }

  beforeAll(async () => {
    const { guest } = stage()
    for (const family of families) gidIndex[family] = await guest.gidIndex(guest.addresses[family])
  })

  /** The exchange of addresses goes over IPv4, as rdma-core's programs have it; the packets go between GIDs. */
  async function play(kase: Case, timeLimitMs: number): Promise<Played> {
    const { kind, role, family, mtu, lossPercent, device = ['-d', `roce:${ours[family]}`, '-g', '0'], more = [] } = kase
    const { lab, guest } = stage()
    const other = (kase.more ?? kase.device) ? '-other' : ''
    const mine = [`${kind}_pingpong`, ...device, ...more, '-c', '--json', ...options(kase)]
    // What is lost for good makes ours give up.
    if (lossPercent > 0 && !reliable(kind)) mine.push('--timeout', '1')
    const theirs = [`ibv_${kind}_pingpong`, '-d', 'rxe0', '-g', `${gidIndex[family]}`, '-c', ...options(kase)]
    if (role === 'client') mine.push(guest.addresses.ipv4)
    else theirs.push(ours.ipv4)
    return await stage().play({
      name: `${kind}-${role}-${mtu}-${family}-${lossPercent}${other}`,
      role,
      mine,
      theirs: theirs.join(' '),
      impairment: impairmentOf(kase),
      ready: async () => await (role === 'client' ? guest : lab).listens(port),
      // Where the last acknowledgement of ours was lost theirs never ends.
      patienceMs: 4_000,
      timeLimitMs,
    })
  }

  /** What must hold of every run, whatever was lost. */
  function expectRight({ kind, family, mtu, lossPercent }: Case, played: Played): void {
    // With srq, which ends when all QPs together have had enough, a message on each QP may still be outstanding.
    const underWay = kind === 'srq' ? srqQps * Math.ceil(messageBytes / mtu) : 0
    judge(played, family, stage().guest, { underWay })
    expect(played.kernel).toMatchObject({ retry_exceeded_err: 0 })
    // All that should have come to a server of an unreliable kind may have been lost.
    if (lossPercent === 0 || reliable(kind))
      expect(played.packets.some(({ source }) => source === ours[family])).toBe(true)
    const counters = countersOf(played.mine)
    if (counters !== null) expect(faultsOf(counters, lossPercent > 0 ? dropsAfterLoss : undefined)).toEqual({})
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
      it.concurrent(title(kase), async () => {
        const played = await play(kase, 40_000)
        const { mine, theirs, kernel } = played
        expect([mine.code, theirs.code], outputs(played)).toEqual([0, 0])
        expect(theirs.output).toMatch(/\d+ iters in [\d.]+ seconds/)
        expect(JSON.parse(mine.stdout)).toMatchObject({ tool: `${kase.kind}_pingpong`, role: kase.role })
        expectRight(kase, played)
        // On a slow machine timers may expire though nothing was lost, and early ones are counted; anything else would be
        // our fault.
        expect(kernel).toMatchObject({ out_of_seq_request: 0, rcvd_seq_err: 0, send_rnr_err: 0, rcvd_rnr_err: 0 })
        const sent = played.packets.filter(({ source }) => source === ours[kase.family])
        if (reliable(kase.kind)) {
          expect(repeatedTooSoon(sent, earlyMs)).toEqual([])
          const early = repeatedTooSoon(sent, ackTimeoutMs).length
          expect(early).toBeLessThanOrEqual(countersOf(mine)!.early_retransmits!)
        }
        expectMessages(kase, kernel)
        if (kase.kind === 'rc') expectTraced(kase, played)
      })
    }
  })

  describe('with 3 % of the packets lost in each direction', () => {
    for (const kase of lossy.filter(({ kind }) => reliable(kind))) {
      it.concurrent(title(kase), async () => {
        const played = await play(kase, 40_000)
        const { mine, kernel } = played
        expect(mine.code, outputs(played)).toBe(0)
        expectRight(kase, played)
        // All arrived, also when it could not end because its last acknowledgement was lost.
        expectMessages(kase, kernel)
        if (kase.kind === 'rc') expectTraced(kase, played)
      })
    }
    for (const kase of lossy.filter(({ kind }) => !reliable(kind))) {
      it.concurrent(`${title(kase)}: as far as it gets`, async () => {
        const played = await play(kase, 20_000)
        expect(played.mine.code, played.mine.output).not.toBeNull()
        expectRight(kase, played)
        // Nobody asked for retransmissions, and nobody made any.
        expect(played.kernel).toMatchObject({ duplicate_request: 0, rcvd_seq_err: 0, completer_retry_err: 0 })
      })
    }
  })
})
