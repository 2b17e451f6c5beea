/**
 * Connections with Linux: the programs of librdmacm in a guest against ours, in both roles, with and without losses; then
 * what goes wrong between two ends: nobody listens, both hang up at once, many come at once, one is switched off.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MessageResult } from '../../src/tools/cm-kit/run.ts'
import type { CmtimeResult } from '../../src/tools/cmtime/run.ts'
import type { RpingResult } from '../../src/tools/rping/run.ts'
import {
  type Case,
  dropsAtEnd,
  type Encounter,
  type Family,
  families,
  images,
  impairmentOf,
  judge,
  outputs,
  type Played,
  type Role,
  roles,
  there,
  useStage,
} from './encounter.ts'
import { countersOf } from './judges.ts'
import { Lab, type Outcome, ours, type Program, verbena } from './lab/index.ts'

const programs = ['rping', 'ucmatose', 'udaddy', 'mckey', 'cmtime']
const rpingPort = 7174
const ucmatosePort = 7471
/** Of rping -v: text that begins one letter later in each ping. */
const pingTexts = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `rdma-ping-${i}: ${String.fromCharCode(65 + (i % 58))}`)

const json = <T>(played: Played): T => {
  expect(played.mine.stdout, outputs(played)).toMatch(/^\{/)
  return JSON.parse(played.mine.stdout) as T
}
const messagesOf = ({ packets }: Played): string[] => packets.flatMap(({ cm }) => cm ?? [])

/** Calls an address that nobody has, which takes long; so it does that beside all the others, on a network of its own. */
class UnansweredCall {
  readonly #lab: Lab
  readonly #program: Program
  readonly #startMs: number = performance.now()

  constructor(lab: Lab) {
    this.#lab = lab
    const { ipv4 } = there
    const args = ['rping', '--json', '--device', `roce:${ours.ipv4}`, '-c', '-C', '1', '-a', ipv4, '--timeout', '0']
    this.#program = lab.start(process.execPath, [verbena, ...args], 300_000)
  }

  /** What it came to, and after how many seconds it was known at the latest. */
  async end(): Promise<{ outcome: Outcome; seconds: number }> {
    const outcome = await this.#program.ended
    return { outcome, seconds: (performance.now() - this.#startMs) / 1000 }
  }

  async close(): Promise<void> {
    await this.#lab.close()
  }
}

let unanswered: UnansweredCall | undefined
beforeAll(async () => {
  if (images !== null) unanswered = new UnansweredCall(await Lab.open(0))
})
afterAll(async () => await unanswered?.close())

describe.skipIf(images === null)('the RDMA CM against Linux', () => {
  const stage = useStage(programs)

  /** Ours is on the address of the family, so that it is there when its port is. */
  const device = (family: Family): string[] => ['--device', `roce:${ours[family]}`, '--json']
  const serverOf = (role: Role, family: Family): string => (role === 'client' ? there : ours)[family]

  /** `common` are options of both ends; the server is found at `port`. */
  async function meet(
    tool: string,
    { role, family, lossPercent = 0 }: { role: Role; family: Family; lossPercent?: number },
    ends: { common: string[]; server: string[]; client: string[]; mine?: string[]; space: 'TCP' | 'UDP'; port: number },
    more: Partial<Encounter> = {},
  ): Promise<Played> {
    const { common, server, client, mine = [], space, port } = ends
    const [myPart, theirPart] = role === 'client' ? [client, server] : [server, client]
    return await stage().play({
      name: `${tool}-${role}-${family}-${lossPercent}`,
      role,
      impairment: impairmentOf({ lossPercent }),
      mine: [tool, ...device(family), ...common, ...mine, ...myPart],
      theirs: [tool, ...common, ...theirPart].join(' '),
      ready: async () => await stage().reachable({ role, family }, space, port),
      ...more,
    })
  }

  async function rping(kase: Case): Promise<void> {
    const { role, family, lossPercent } = kase
    // A packet that is lost costs half a second: so long is the ACK timeout of the RDMA CM.
    const pings = lossPercent === 0 ? 30 : 15
    const address = serverOf(role, family)
    const ends = {
      common: ['-a', address, '-v', '-S', '3000'],
      server: ['-s'],
      client: ['-c', '-V', '-C', `${pings}`],
      space: 'TCP' as const,
      port: rpingPort,
    }
    const played = await meet('rping', kase, ends)
    const result = json<RpingResult>(played)
    expect(result).toMatchObject({ tool: 'rping', role, size: 3000, connections: [{ pings }] })
    judge(played, family, stage().guest)
    expectTraced(played, family, 1, [{ send: 2 * pings }, { send: 2 * pings, write: pings, read: pings }], role)
    if (lossPercent > 0) return
    // At its end librdmacm's rping destroys the channel that its event thread may still be reading: that thread then exits.
    const raced = /rdma_get_cm_event: Bad file descriptor/.test(played.theirs.output)
    expect([played.mine.code, played.theirs.code], outputs(played)).toEqual([0, raced ? 255 : 0])
    expect(result.failure).toBeUndefined()
    const shown = [...played.theirs.output.matchAll(/ping data: (rdma-ping-\d+: .)/g)].map(([, text]) => text)
    expect(shown).toEqual(pingTexts(pings))
    expect(messagesOf(played)).toEqual(['REQ', 'REP', 'RTU', 'DREQ', 'DREP'])
  }

  /** Our analysis finds each connection, the messages on it, and as many repetitions as we counted. */
  function expectTraced(
    { trace, mine }: Played,
    family: Family,
    connections: number,
    [fromClient, fromServer]: [object, object],
    role: Role,
  ): void {
    const found = trace.conversations.filter(({ service }) => service === 'RC')
    expect(found.length).toBe(connections)
    let repeated = 0
    for (const { directions } of found) {
      const from = (address: string) => directions.find(({ source }) => source === address)
      const [here, away] = [from(ours[family]), from(there[family])]
      expect(here?.messages).toMatchObject(role === 'client' ? fromClient : fromServer)
      expect(away?.messages).toMatchObject(role === 'client' ? fromServer : fromClient)
      repeated += here!.retransmissions
    }
    expect(repeated).toBe(countersOf(mine)?.retransmitted_pkts)
  }

  async function ucmatose(kase: Case): Promise<void> {
    const { role, family } = kase
    const address = serverOf(role, family)
    const ends = {
      common: ['-c', '3', '-C', '15', '-S', '9000'],
      server: ['-b', address],
      client: ['-s', address],
      space: 'TCP' as const,
      port: ucmatosePort,
    }
    const played = await meet('ucmatose', kase, ends, { patienceMs: 6_000 })
    const result = json<MessageResult>(played)
    expect(result).toMatchObject({ tool: 'ucmatose', role, messageCount: 15, messageSize: 9000 })
    expect(result.connections).toMatchObject(Array(3).fill({ sent: 15, received: 15 }))
    judge(played, family, stage().guest)
    expectTraced(played, family, 3, [{ send: 15 }, { send: 15 }], role)
    if (kase.lossPercent > 0) return
    expect([played.mine.code, played.theirs.code], outputs(played)).toEqual([0, 0])
    expect(played.theirs.output).toContain('return status 0')
    expect(messagesOf(played).sort()).toEqual(
      ['REQ', 'REP', 'RTU', 'DREQ', 'DREP'].flatMap((message) => Array(3).fill(message)).sort(),
    )
  }

  async function udaddy(kase: Case): Promise<void> {
    const { role, family, lossPercent } = kase
    const address = serverOf(role, family)
    const ends = {
      common: ['-c', '2', '-C', '10', '-S', '1500'],
      server: ['-b', address],
      client: ['-s', address],
      // A datagram that is lost does not come later; the request for the queue pair does, after 5 seconds.
      mine: lossPercent > 0 ? ['--timeout', '7'] : [],
      space: 'UDP' as const,
      port: rpingPort,
    }
    const played = await meet('udaddy', kase, ends, { patienceMs: 1_000 })
    const result = json<MessageResult>(played)
    judge(played, family, stage().guest)
    if (lossPercent > 0) {
      expect(played.mine.code, outputs(played)).not.toBeNull()
      return
    }
    expect([played.mine.code, played.theirs.code], outputs(played)).toEqual([0, 0])
    expect(played.theirs.output).toContain('return status 0')
    expect(result.connections).toMatchObject(Array(2).fill({ sent: 10, received: 10 }))
    expect(messagesOf(played).sort()).toEqual(['SIDR_REP', 'SIDR_REP', 'SIDR_REQ', 'SIDR_REQ'])
  }

  const group = '239.1.2.3'

  /** The client sends. Linux has no IPv6 groups in the RDMA CM on RoCEv2. */
  async function mckey(kase: Case): Promise<void> {
    const { role, lossPercent } = kase
    const messages = 20
    const common = ['-m', group, '-C', `${messages}`, '-S', '1000']
    const played = await stage().play({
      name: `mckey-${role}-${lossPercent}`,
      role,
      impairment: impairmentOf(kase),
      mine: ['mckey', ...device('ipv4'), ...common, '--settle', '0', ...(role === 'client' ? ['-s'] : [])],
      theirs: `mckey -b ${there.ipv4} ${common.join(' ')}${role === 'server' ? ' -s' : ''}`,
      ready: async () => {
        if (role === 'server') return await stage().lab.joined(group)
        // Of the guest's device, and so of its queue pair; then the program still waits for three seconds.
        await stage().guest.until('ip maddr show dev eth0 | grep -q 33:33:ef:01:02:03')
        await delay(200)
      },
      patienceMs: lossPercent > 0 ? 2_000 : 5_000,
    })
    const result = json<MessageResult>(played)
    judge(played, 'ipv4', stage().guest, { group })
    if (lossPercent > 0) return
    expect([played.mine.code, played.theirs.code], outputs(played)).toEqual([0, 0])
    expect(result.connections).toMatchObject([role === 'client' ? { sent: messages } : { received: messages }])
    expect(played.theirs.output).toMatch(/joined dgid: ::ffff:239.1.2.3[\s\S]*data transfers complete/)
  }

  describe('without loss', () => {
    for (const role of roles) {
      for (const family of families) {
        const kase = { role, family, lossPercent: 0 }
        it(`rping, ours the ${role}, ${family}`, async () => await rping(kase))
        it(`ucmatose, ours the ${role}, ${family}`, async () => await ucmatose(kase))
        it(`udaddy, ours the ${role}, ${family}`, async () => await udaddy(kase))
      }
      it(`mckey, ours ${role === 'client' ? 'sends' : 'receives'}`, async () =>
        await mckey({ role, family: 'ipv4', lossPercent: 0 }))
    }
  })

  describe('with 3 % of the packets lost in each direction', { timeout: 90_000 }, () => {
    for (const [role, family] of [
      ['client', 'ipv4'],
      ['server', 'ipv6'],
    ] as const) {
      const kase = { role, family, lossPercent: 3 }
      it(`rping, ours the ${role}, ${family}`, async () => await rping(kase))
      it(`ucmatose, ours the ${role}, ${family}`, async () => await ucmatose(kase))
      it(`udaddy, ours the ${role}, ${family}: as far as it gets`, async () => await udaddy(kase))
      it(`mckey, ours ${role === 'client' ? 'sends' : 'receives'}: as far as it gets`, async () =>
        await mckey({ ...kase, family: 'ipv4' }))
    }
  })

  describe('where nobody listens', () => {
    const port = 7399
    const closed = ['-c', '-p', `${port}`, '-C', '1']

    it('ours is rejected with reason 8, or its request for a datagram queue pair with status 1', async () => {
      for (const [family, tool, args, failure, messages] of [
        ['ipv4', 'rping', closed, { event: 'RDMA_CM_EVENT_REJECTED', status: 8 }, ['REQ', 'REJ']],
        ['ipv6', 'rping', closed, { event: 'RDMA_CM_EVENT_REJECTED', status: 8 }, ['REQ', 'REJ']],
        ['ipv4', 'udaddy', [], { event: 'RDMA_CM_EVENT_UNREACHABLE', status: 1 }, ['SIDR_REQ', 'SIDR_REP']],
      ] as const) {
        const played = await stage().play({
          name: `closed-${tool}-client-${family}`,
          role: 'client',
          mine: [tool, ...device(family), tool === 'rping' ? '-a' : '-s', there[family], ...args],
          theirs: 'sleep 60',
          ready: async () => {},
          patienceMs: 0,
        })
        expect(played.mine.code, outputs(played)).toBe(1)
        expect(json<RpingResult>(played).failure).toMatchObject(failure)
        expect(messagesOf(played)).toEqual(messages)
        judge(played, family, stage().guest)
      }
    })

    it('theirs is rejected likewise, and a server of ours beside goes on', async () => {
      for (const family of families) {
        const address = ours[family]
        const pings = `rping -c -a ${address} -C 3 -v`
        const played = await stage().play({
          name: `closed-rping-server-${family}`,
          role: 'server',
          mine: ['rping', ...device(family), '-s', '-a', address],
          theirs: `rping ${closed.join(' ')} -a ${address}; udaddy -s ${address}; exec ${pings}`,
          ready: async () => await stage().lab.receives(address),
        })
        expect([played.mine.code, played.theirs.code], outputs(played)).toEqual([0, 0])
        expect(played.theirs.output).toContain('cma event RDMA_CM_EVENT_REJECTED, error 8')
        expect(played.theirs.output).toContain('udaddy: event: RDMA_CM_EVENT_UNREACHABLE, error: 1')
        expect(messagesOf(played).slice(0, 7)).toEqual(['REQ', 'REJ', 'SIDR_REQ', 'SIDR_REP', 'REQ', 'REP', 'RTU'])
        expect(json<RpingResult>(played).connections).toMatchObject([{ pings: 3 }])
        judge(played, family, stage().guest)
      }
    })
  })

  it('both hang up at once: each gets an answer, and its connection ends', { timeout: 120_000 }, async () => {
    const delayMs = 200
    const program = fileURLToPath(new URL('./programs/hang-up.mjs', import.meta.url))
    for (let attempt = 1; ; attempt++) {
      // Their DREQ is outstanding when ours leaves: it left as our message came, and needs as long as that.
      const played = await stage().play({
        name: 'hang-up',
        role: 'client',
        node: true,
        mine: [program, `roce:${ours.ipv4}`, there.ipv4, `${1.5 * delayMs}`],
        theirs: 'ucmatose -C 1',
        impairment: { delayMs },
        ready: async () => await stage().guest.listensCm('TCP', ucmatosePort),
        patienceMs: 10_000,
      })
      expect([played.mine.code, played.theirs.code], outputs(played)).toEqual([0, 0])
      expect(played.theirs.output).toContain('return status 0')
      const names = ['ADDR_RESOLVED', 'ROUTE_RESOLVED', 'ESTABLISHED', 'DISCONNECTED']
      expect(json<{ events: object[] }>(played).events).toEqual(
        names.map((name) => ({ name: `RDMA_CM_EVENT_${name}`, status: 0 })),
      )
      const of = (address: string) =>
        played.packets.filter(({ source }) => source === address).flatMap(({ cm }) => cm ?? [])
      const [mine, theirs] = [of(ours.ipv4), of(there.ipv4)]
      // A slow guest may have seen our DREQ before it sent one.
      if (attempt < 5 && !theirs.includes('DREQ')) continue
      expect(mine).toEqual(['REQ', 'RTU', 'DREQ', 'DREP'])
      expect(theirs).toEqual(['REP', 'DREQ', 'DREP'])
      // The ACK of our message comes when our queue pair has ended. A requester that has measured no round trip yet sends
      // it again after 100 and 300 ms, and it takes 400 there and back.
      judge(played, 'ipv4', stage().guest, { drops: dropsAtEnd, underWay: 2 })
      return
    }
  })

  describe('200 connections at once', { timeout: 120_000 }, () => {
    const connections = 200
    for (const role of roles) {
      it(`cmtime, ours the ${role}`, async () => {
        const address = serverOf(role, 'ipv4')
        const ends = { common: [], server: [], client: ['-s', address, '-c', `${connections}`] }
        const more = { patienceMs: 500, timeLimitMs: 90_000 }
        const kase = { role, family: 'ipv4' as const }
        const played = await meet('cmtime', kase, { ...ends, space: 'TCP', port: ucmatosePort }, more)
        const result = json<CmtimeResult>(played)
        if (role === 'client') {
          expect(played.mine.code, outputs(played)).toBe(0)
          expect(result).toMatchObject({ connections, errors: 0 })
        } else {
          expect(played.theirs.code, outputs(played)).toBe(0)
          expect(played.theirs.output).toMatch(/connect {6}: +[\d.]+/)
          expect(played.theirs.output).not.toContain('error')
          expect(result.served).toBe(connections)
        }
        judge(played, 'ipv4', stage().guest)
        const messages = new Map<string, number>()
        for (const message of messagesOf(played)) messages.set(message, (messages.get(message) ?? 0) + 1)
        // Each at least once: who is slow to answer is asked again.
        expect([...messages.keys()].filter((message) => message !== 'MRA').sort()).toEqual(
          ['REQ', 'REP', 'RTU', 'DREQ', 'DREP'].sort(),
        )
        expect(Math.min(...messages.values())).toBeGreaterThanOrEqual(connections)
        // Nothing of them is left in the kernel but its QP 1.
        await stage().guest.until('[ "$(rdma resource show qp | grep -c lqpn)" = 1 ]')
      })
    }
  })
})

describe.skipIf(images === null)('a guest that is switched off', () => {
  const stage = useStage([])

  it('in mid-stream: our stream ends by its retries, and who waits for an answer gives up', async () => {
    const { lab, guest } = stage()
    // Ours the server, which sends; and ours the client, which is read and written.
    const messages = ['-C', '5000', '-S', '20000']
    const server = ['ucmatose', '--device', `roce:${ours.ipv6}`, '--json', '-b', ours.ipv6, ...messages]
    const sending = lab.start(process.execPath, [verbena, ...server], 100_000)
    await lab.receives(ours.ipv6)
    guest.start(`rping -s & exec ucmatose -s ${ours.ipv6} ${messages.join(' ')}`)
    await guest.listensCm('TCP', rpingPort)
    const client = ['rping', '--device', `roce:${ours.ipv4}`, '--json', '-c', '-a', there.ipv4, '--timeout', '10']
    const pinging = lab.start(process.execPath, [verbena, ...client], 100_000)
    await guest.until('[ "$(rdma resource show qp | grep -c "type RC state RTS")" = 2 ]', 30_000)
    const { rcvd_pkts: before } = await guest.counters()
    while ((await guest.counters()).rcvd_pkts! < before! + 200);
    expect([sending.running, pinging.running], `${sending.output}\n${pinging.output}`).toEqual([true, true])
    await guest.switchOff()
    const off = performance.now()
    const secondsSince = (start: number): number => (performance.now() - start) / 1000

    const stream = await sending.ended
    // Eight times an ACK timeout of 0.54 s, and each may last up to four times as long.
    expect(secondsSince(off)).toBeLessThan(8 * 0.54 * 4 + 5)
    expect(stream.code, stream.output).toBe(1)
    const result = JSON.parse(stream.stdout) as MessageResult
    expect(result.failure).toMatchObject({ code: 'WC_STATUS' })
    expect(result.failure?.message).toContain('status 12 (transport retry counter exceeded')
    expect(result.counters).toMatchObject({ retry_exceeded_err: 1 })
    expect(result.connections[0]!.sent).toBeLessThan(5000)

    // A ping that had been acknowledged, so that nothing is repeated, looks like a server that takes its time.
    const pings = await pinging.ended
    expect(secondsSince(off)).toBeLessThan(10 + 8 * 0.54 * 4 + 5)
    expect(pings.code, pings.output).toBe(1)
    expect((JSON.parse(pings.stdout) as RpingResult).failure?.code).toMatch(/^(PEER_SILENT|WC_STATUS)$/)
  }, 120_000)
})

it.skipIf(images === null)(
  'a call that nobody answers ends after 16 requests, unreachable',
  async () => {
    const { outcome, seconds } = await unanswered!.end()
    expect(outcome.code, outcome.output).toBe(1)
    const { failure } = JSON.parse(outcome.stdout) as RpingResult
    expect(failure).toMatchObject({ event: 'RDMA_CM_EVENT_UNREACHABLE', status: -110 })
    // Each is waited for 4.29 s and twice the 0.27 s that a packet may live.
    expect(seconds).toBeGreaterThan(16 * 4.83)
  },
  120_000,
)
