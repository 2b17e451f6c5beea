/**
 * Unmodified perftest programs in a Soft-RoCE guest against a peer of ours that speaks their exchange on the verbs. The
 * judges are those of the ping-pongs: the kernel's counters, an ICRC computed here, tshark, and our own counters.
 */
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { images, judge, outputs, type Role, useStage } from './encounter.ts'
import { ours } from './lab/index.ts'

interface Case {
  test: string
  type?: 'RC' | 'UC' | 'UD'
  /** Ours. */
  role: Role
  size?: number
  iters: number
  qps?: number
  bidirectional?: boolean
  /** All sizes from 2 bytes to 8 MiB, with UD to the MTU: `-a`. */
  all?: boolean
  mtu?: number
  /** Receives that our end keeps posted. */
  rxDepth?: number
  /** Options of theirs alone. */
  theirs?: string
  srq?: boolean
}

const peerPath = fileURLToPath(new URL('./programs/perftest-peer.mjs', import.meta.url))
const port = 18515
const tests = ['send_bw', 'send_lat', 'write_bw', 'write_lat', 'read_bw', 'read_lat', 'atomic_bw', 'atomic_lat']

/**
 * Few of many, since programs are slow in an emulated guest: each program, each kind of queue pair, both roles. None with
 * `-e`: their one channel serves two CQs, they poll one of them once for each event, at most 16 entries, and now and then
 * they sleep for ever though their kernel has acknowledged all messages.
 */
const cases: Case[] = [
  { test: 'send_bw', role: 'client', size: 10_001, iters: 100, theirs: '-r 16' },
  { test: 'send_bw', role: 'server', size: 10_001, iters: 100, rxDepth: 16 },
  { test: 'send_bw', role: 'client', iters: 5, all: true },
  { test: 'send_bw', role: 'server', iters: 5, all: true },
  // With an SRQ of theirs that is often empty, and with one of ours.
  { test: 'send_bw', role: 'server', size: 1000, iters: 200, bidirectional: true, qps: 4, theirs: '--use-srq -r 20' },
  { test: 'send_bw', role: 'client', size: 1000, iters: 100, bidirectional: true, qps: 2, mtu: 256, srq: true },
  { test: 'send_lat', role: 'server', size: 100, iters: 50 },
  { test: 'send_lat', role: 'client', type: 'UC', size: 5000, iters: 50 },
  { test: 'send_lat', role: 'server', type: 'UD', size: 1024, iters: 50 },
  { test: 'write_bw', role: 'client', size: 65_536, iters: 50 },
  { test: 'write_bw', role: 'server', type: 'UC', size: 3000, iters: 50 },
  { test: 'write_lat', role: 'server', size: 5000, iters: 50 },
  { test: 'read_bw', role: 'client', size: 65_536, iters: 50 },
  { test: 'read_bw', role: 'server', size: 20_000, iters: 50, qps: 2 },
  { test: 'read_lat', role: 'server', size: 5000, iters: 30 },
  { test: 'atomic_bw', role: 'server', iters: 50 },
  { test: 'atomic_lat', role: 'client', iters: 30 },
]

function title({ test, type = 'RC', role, size, iters, qps, bidirectional, all, mtu, srq, theirs }: Case): string {
  const words = [`ib_${test}`, type, `ours the ${role}`]
  if (size) words.push(`${size} bytes`)
  if (all) words.push('all sizes')
  if (qps) words.push(`${qps} queue pairs`)
  if (bidirectional) words.push('both directions')
  if (mtu) words.push(`MTU ${mtu}`)
  if (srq) words.push('an SRQ of ours')
  if (theirs) words.push(`theirs ${theirs}`)
  return [...words, `${iters} times`].join(', ')
}

/** 4.096 µs · 2¹⁸ = 1.07 s, of both ends: the guest is emulated, and at times it says nothing for half a second. */
const qpTimeout = '18'

function optionsOf({ test, type = 'RC', size, iters, qps, bidirectional, all, mtu, theirs }: Case): string[] {
  const options = ['-n', `${iters}`, '-u', qpTimeout]
  if (!test.startsWith('read') && !test.startsWith('atomic')) options.push('-c', type)
  if (size) options.push('-s', `${size}`)
  if (qps) options.push('-q', `${qps}`)
  if (bidirectional) options.push('-b')
  if (all) options.push('-a')
  if (mtu) options.push('-m', `${mtu}`)
  if (theirs) options.push(theirs)
  return options
}

describe.skipIf(images === null)('perftest against Soft-RoCE', () => {
  const stage = useStage(tests.map((test) => `ib_${test}`))
  let gidIndex = 0

  beforeAll(async () => {
    const { guest } = stage()
    gidIndex = await guest.gidIndex(guest.addresses.ipv4)
  })

  for (const [i, kase] of cases.entries()) {
    it(title(kase), async () => {
      const { test, role, theirs: _, ...settings } = kase
      const { guest, lab } = stage()
      const peer = [peerPath, `roce:${ours.ipv4}`, JSON.stringify({ test, qpTimeout: Number(qpTimeout), ...settings })]
      const theirs = [`ib_${test}`, '-d', 'rxe0', '-F', '-x', `${gidIndex}`, ...optionsOf(kase)]
      if (role === 'client') peer.push(guest.addresses.ipv4)
      else theirs.push(ours.ipv4)
      const played = await stage().play({
        name: `perftest-${i}-${test}-${role}`,
        role,
        node: true,
        mine: peer,
        theirs: theirs.join(' '),
        ready: async () => await (role === 'client' ? guest : lab).listens(port),
        timeLimitMs: 55_000,
      })
      expect([played.mine.code, played.theirs.code], outputs(played)).toEqual([0, 0])
      judge(played, 'ipv4', guest)
    })
  }
})
