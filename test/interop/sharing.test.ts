/**
 * Processes of ours share an address, and a Soft-RoCE guest talks to all of them at the same time: queue pairs and ports of
 * the RDMA CM are the adapter's, whichever process has them and whichever drives. When processes are killed the others'
 * connections go on.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { dropsAtEnd, images, judge, type Seen, there, useStage } from './encounter.ts'
import { countersOf, dropsAfterLoss, faultsOf } from './judges.ts'
import { type GuestOutcome, type Job, type Outcome, ours, type Packet, type Program } from './lab/index.ts'

/** Two programs that talk to each other: of a process of ours, and of the guest. */
interface Pair {
  mine: Program
  theirs: Job
}
type Ended = { mine: Outcome; theirs: GuestOutcome }

/** Messages of different lengths: one that went to the wrong queue pair would not fit. `events` is how ours waits. */
const pingPongs = [
  { port: 18515, bytes: 5000, events: false },
  { port: 18516, bytes: 7777, events: true },
  { port: 18517, bytes: 3000, events: true },
] as const
type PingPong = (typeof pingPongs)[number]
const pings = [
  { port: 7174, bytes: 3000 },
  { port: 7175, bytes: 1200 },
] as const
type Ping = (typeof pings)[number]

/** Of each program: what waits for ever shows how far it came. */
const timeLimitMs = 30_000

const outputs = (ends: readonly Ended[]): string =>
  ends.map(({ mine, theirs }) => `${mine.output}\n--- theirs:\n${theirs.output}`).join('\n=====\n')

describe.skipIf(images === null)('processes of ours at one address, against Soft-RoCE', () => {
  const stage = useStage(['ibv_rc_pingpong', 'rping'])
  let gidIndex = 0

  beforeAll(async () => {
    gidIndex = await stage().guest.gidIndex(there.ipv4)
  })

  const optionsOf = ({ port, bytes }: PingPong, iters: number): string[] => [
    ...['-c', '-p', `${port}`, '-s', `${bytes}`, '-n', `${iters}`],
  ]
  /** Without a `server` it is one. */
  const myPingPong = (kind: PingPong, iters: number, more: string[]): Program => {
    const options = [...optionsOf(kind, iters), ...(kind.events ? ['-e'] : []), ...more]
    return stage().start(['rc_pingpong', '-d', `roce:${ours.ipv4}`, '-g', '0', ...options], { timeLimitMs })
  }
  const theirPingPong = (kind: PingPong, iters: number, server = ''): Job =>
    stage().guest.start(
      `ibv_rc_pingpong -e -d rxe0 -g ${gidIndex} ${optionsOf(kind, iters).join(' ')} ${server}`,
      timeLimitMs,
    )

  const pingOptions = ({ port, bytes }: Ping, address: string): string[] => [
    ...['-a', address, '-p', `${port}`, '-S', `${bytes}`, '-v'],
  ]
  const myPing = (kind: Ping, address: string, more: string[]): Program =>
    stage().start(['rping', '--device', `roce:${ours.ipv4}`, ...pingOptions(kind, address), ...more], { timeLimitMs })
  const theirPing = (kind: Ping, address: string, more: string): Job =>
    stage().guest.start(`rping ${pingOptions(kind, address).join(' ')} ${more}`, timeLimitMs)

  const ends = async (pairs: readonly Pair[]): Promise<Ended[]> =>
    await Promise.all(pairs.map(async ({ mine, theirs }) => ({ mine: await mine.ended, theirs: await theirs.ended })))

  /** By queue pair of the guest: the first and the last packet that it got from us. */
  function spans(packets: readonly Packet[]): Map<number, { first: number; last: number }> {
    const found = new Map<number, { first: number; last: number }>()
    for (const { number, source, destQpn } of packets) {
      if (source !== ours.ipv4 || destQpn === 1) continue
      const span = found.get(destQpn)
      if (span) span.last = number
      else found.set(destQpn, { first: number, last: number })
    }
    return found
  }

  /** All connections were used at the same time. */
  function expectTogether({ packets }: Seen, connections: number): void {
    const found = [...spans(packets).values()]
    expect(found.length).toBe(connections)
    expect(Math.max(...found.map(({ first }) => first))).toBeLessThan(Math.min(...found.map(({ last }) => last)))
  }

  function expectPlayed(played: readonly Ended[], iters: number): void {
    for (const { mine, theirs } of played) {
      expect([mine.code, theirs.code], outputs(played)).toEqual([0, 0])
      expect(theirs.output).toContain(`${iters} iters in`)
      expect(theirs.output + mine.output).not.toContain('invalid data')
    }
  }

  function expectPinged(played: readonly Ended[], count: number): void {
    for (const { mine, theirs } of played) {
      // At its end librdmacm's rping destroys the channel that its event thread may still be reading: that thread then exits.
      const raced = /rdma_get_cm_event: Bad file descriptor/.test(theirs.output)
      expect([mine.code, theirs.code], outputs(played)).toEqual([0, raced ? 255 : 0])
      for (const { output } of [mine, theirs])
        expect(output.match(/ping data: rdma-ping-\d+/g)?.length, outputs(played)).toBe(count)
    }
  }

  it('clients of the guest play with three servers', async () => {
    const iters = 200
    const { seen, result: played } = await stage().watch({ name: 'shared-servers' }, async () => {
      const servers = pingPongs.map((kind) => myPingPong(kind, iters, ['--json']))
      for (const { port } of pingPongs) await stage().lab.listens(port)
      return await ends(servers.map((mine, i) => ({ mine, theirs: theirPingPong(pingPongs[i]!, iters, ours.ipv4) })))
    })
    expectPlayed(played, iters)
    expectTogether(seen, pingPongs.length)
    // Counters are the adapter's: the last process to end has seen everything.
    const all = played.map(({ mine }) => countersOf(mine)!.sent_pkts!)
    const last = played[all.indexOf(Math.max(...all))]!
    judge({ ...seen, ...last }, 'ipv4', stage().guest)
  })

  it('three clients play with servers of the guest', async () => {
    const iters = 200
    const { seen, result: played } = await stage().watch({ name: 'shared-clients' }, async () => {
      const clients = pingPongs.map((kind) => myPingPong(kind, iters, ['--wait', '30', there.ipv4]))
      for (const client of clients) await client.says('local address', 20_000)
      return await ends(clients.map((mine, i) => ({ mine, theirs: theirPingPong(pingPongs[i]!, iters) })))
    })
    expectPlayed(played, iters)
    expectTogether(seen, pingPongs.length)
    judge({ ...seen, ...played[0]! }, 'ipv4', stage().guest, { counted: false })
  })

  it('clients of the guest ping two servers that listen on ports of the RDMA CM', async () => {
    const count = 150
    const { seen, result: played } = await stage().watch({ name: 'shared-cm-servers' }, async () => {
      const servers = pings.map((kind) => myPing(kind, ours.ipv4, ['-s', '-d']))
      for (const server of servers) await server.says('listening on', 20_000)
      return await ends(
        servers.map((mine, i) => ({ mine, theirs: theirPing(pings[i]!, ours.ipv4, `-c -V -C ${count}`) })),
      )
    })
    expectPinged(played, count)
    expectTogether(seen, pings.length)
    judge({ ...seen, ...played[0]! }, 'ipv4', stage().guest, { counted: false })
  })

  it('two clients ping servers of the guest', async () => {
    // Enough for the second one to begin before the first one ends.
    const count = 500
    const { seen, result: played } = await stage().watch({ name: 'shared-cm-clients' }, async () => {
      const options = ['-c', '-V', '-C', `${count}`, '-d', '--wait', '30']
      const clients = pings.map((kind) => myPing(kind, there.ipv4, options))
      // Both are there, and rejected.
      for (const client of clients) await client.says('REJECTED', 20_000)
      return await ends(clients.map((mine, i) => ({ mine, theirs: theirPing(pings[i]!, there.ipv4, '-s') })))
    })
    expectPinged(played, count)
    expectTogether(seen, pings.length)
    judge({ ...seen, ...played[0]! }, 'ipv4', stage().guest, { counted: false })
  })

  it('one process is killed, then another: the others go on, and a new one takes the port of the first', async () => {
    const { guest, lab } = stage()
    const [firstKind, secondKind, thirdKind] = pingPongs
    const [pingKind] = pings
    const endless = 1_000_000
    const [iters, nextIters, count] = [1000, 100, 400]
    /** Until so many more packets of ours have reached the guest. (`rdma resource show qp` would hang its kernel.) */
    const traffic = async (packets: number): Promise<void> => {
      const before = (await guest.counters()).rcvd_pkts!
      while ((await guest.counters()).rcvd_pkts! < before + packets) await delay(20)
    }
    const { seen, result } = await stage().watch({ name: 'shared-kills' }, async () => {
      // The first process to open the device drives it.
      const first = myPingPong(firstKind, endless, [])
      await lab.listens(firstKind.port)
      const second = myPingPong(secondKind, endless, [])
      const third = myPingPong(thirdKind, iters, ['--json'])
      const pinged = myPing(pingKind, ours.ipv4, ['-s', '-d'])
      for (const { port } of [secondKind, thirdKind]) await lab.listens(port)
      await pinged.says('listening on', 20_000)
      const left = [theirPingPong(firstKind, endless, ours.ipv4), theirPingPong(secondKind, endless, ours.ipv4)]
      const going = [
        { mine: third, theirs: theirPingPong(thirdKind, iters, ours.ipv4) },
        { mine: pinged, theirs: theirPing(pingKind, ours.ipv4, `-c -V -C ${count}`) },
      ]
      for (const killed of [first, second]) await killed.says('remote address', 20_000)
      await pinged.says('ping data: rdma-ping-3', 20_000)
      await traffic(100)
      await first.stop('SIGKILL')
      await left[0]!.stop()
      const next = myPingPong(firstKind, nextIters, [])
      await lab.listens(firstKind.port)
      const anew = { mine: next, theirs: theirPingPong(firstKind, nextIters, ours.ipv4) }
      await next.says('remote address', 20_000)
      await traffic(50)
      await second.stop('SIGKILL')
      await left[1]!.stop()
      return { killed: [first, second], going: await ends(going), anew: await ends([anew]) }
    })
    const { killed, going, anew } = result
    expectPlayed([going[0]!], iters)
    expectPinged([going[1]!], count)
    expectPlayed(anew, nextIters)
    // Queue pairs of the guest: those whose peers were killed ended while all others were in use.
    const peers = killed.map(({ output }) =>
      Number.parseInt(/remote address:.* QPN (0x[0-9a-f]+)/.exec(output)![1]!, 16),
    )
    const found = [...spans(seen.packets)]
    const lastOf = (gone: boolean): number[] =>
      found.filter(([qpn]) => peers.includes(qpn) === gone).map(([, { last }]) => last)
    expect([lastOf(true).length, lastOf(false).length]).toEqual([2, 3])
    expect(Math.max(...lastOf(true))).toBeLessThan(Math.min(...lastOf(false)))
    expect(seen.packets.filter(({ fault }) => fault !== null)).toEqual([])
    expect(seen).toMatchObject({ objections: [], complaints: [], trace: { icrcInvalid: 0, malformed: 0 } })
    const counters = countersOf(going[0]!.mine)!
    expect(faultsOf(counters, new RegExp(`${dropsAfterLoss.source}|${dropsAtEnd.source}`))).toEqual({})
  })
})
