/** The laboratory itself, with kernels on both sides: what it shows of them must be true before it judges ours. */
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import {
  type Counters,
  type Guest,
  guestAddresses,
  icrcOverIpv6,
  Lab,
  ourLinkLocal,
  ours,
  type Packet,
  tsharkObjections,
} from './lab/index.ts'

const images = inject('guestImages')

describe.skipIf(images === null)('two Soft-RoCE guests', () => {
  let lab: Lab
  let server: Guest
  let client: Guest

  beforeAll(async () => {
    lab = await Lab.open()
    // One after the other: the processor is emulated, and there may be two cores only.
    server = await lab.boot(1, images!)
    client = await lab.boot(2, images!)
  }, 240_000)
  afterAll(async () => await lab?.close(), 60_000)

  /** A program between the two, and what it does to the counters of guest 1; GIDs of `family`. Both must succeed. */
  async function play(family: 'ipv4' | 'ipv6', program: string): Promise<Counters> {
    const command = async (guest: Guest) => `${program} ${await guest.gidIndex(guest.addresses[family])}`
    return await difference(server, async () => {
      const serving = server.start(await command(server), 40_000)
      await server.listens(18515)
      const asking = await client.run(`${await command(client)} ${server.addresses.ipv4}`, 40_000)
      const served = await serving.ended
      expect([asking, served], `${asking.output}\n${served.output}`).toMatchObject([{ code: 0 }, { code: 0 }])
    })
  }
  const pingPong = 'ibv_rc_pingpong -d rxe0 -n 20 -s 10000 -m 1024 -g'
  /** Ends by an exchange over TCP: with losses a ping-pong waits for ever if the last acknowledgement is among them. */
  const latency = 'ib_send_lat -d rxe0 -F -n 30 -s 10000 -m 1024 -x'

  async function difference(guest: Guest, during: () => Promise<void>): Promise<Counters> {
    const before = await guest.counters()
    await during()
    const after = await guest.counters()
    return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - before[name]!]))
  }

  it('have an active device, with a GID for each address, and room for 4096 bytes in a packet', async () => {
    for (const guest of [server, client]) {
      const info = await guest.text('ibv_devinfo -d rxe0')
      expect(info).toMatch(/state:\s+PORT_ACTIVE/)
      expect(info).toMatch(/active_mtu:\s+4096/)
      const { ipv4, ipv6 } = guest.addresses
      const indexes = [await guest.gidIndex(ipv4), await guest.gidIndex(ipv6)]
      expect(new Set(indexes).size).toBe(2)
      expect(indexes).not.toContain(0)
    }
  })

  it('are reached from this side, and reach it, by IPv4 and IPv6', async () => {
    for (const address of Object.values(guestAddresses(1))) {
      // Longer than a packet of RoCE MTU 4096, shorter than the Ethernet MTU.
      const args = ['ping', '-c', '1', '-W', '5', '-s', '4400', address]
      expect(await lab.run('busybox', args), address).toMatchObject({ code: 0 })
    }
    for (const address of [ours.ipv4, ours.ipv6]) {
      expect(await server.run(`ping -c 1 -W 5 ${address}`), address).toMatchObject({ code: 0 })
    }
    expect(await server.run(`ping -c 1 -W 5 -I eth0 ${ourLinkLocal}`)).toMatchObject({ code: 0 })
  })

  it('tell exit code, output and time limit of commands, several at a time', async () => {
    expect(await server.run('echo out; echo err >&2; exit 3')).toEqual({ code: 3, output: 'out\nerr\n' })
    const sleeping = server.start('echo before; sleep 60', 1_000)
    const stopped = server.start('sleep 61')
    expect(await server.run('true')).toEqual({ code: 0, output: '' })
    expect((await stopped.stop('TERM')).code).toBe(128 + 15)
    expect(await sleeping.ended).toEqual({ code: 124, output: 'before\n' })
    expect(await server.text('ps | grep -c "[s]leep 6[01]" || true')).toBe('0\n')
    const long = await server.text('seq 1 20000')
    expect(long.split('\n').length).toBe(20_001)
  })

  for (const family of ['ipv4', 'ipv6'] as const) {
    it(`play ibv_rc_pingpong over ${family}; capture, counters, tshark and the ICRC agree`, async () => {
      const capture = await lab.capture(1, `guests-${family}`)
      const counted = await play(family, pingPong)
      const packets = await capture.stop()
      expect(packets.filter(({ fault }) => fault !== null)).toEqual([])
      expect(await tsharkObjections(capture.path)).toEqual([])
      const { [family]: address } = server.addresses
      const sent = packets.filter(({ source }) => source === address).length
      const received = packets.filter(({ destination }) => destination === address).length
      // Ten packets for a message, and an acknowledgement for each.
      expect(sent).toBeGreaterThanOrEqual(20 * 11)
      expect(sent + received).toBe(packets.length)
      expect(counted).toMatchObject({ sent_pkts: sent, rcvd_pkts: received, rdma_sends: 20, out_of_seq_request: 0 })
      expect(await server.complaints()).toEqual([])
    })
  }

  it('lose packets when told to, exactly as many as are told, and work again afterwards', async () => {
    await server.impair({ lossPercent: 5 })
    const capture = await lab.capture(1, 'guests-loss')
    const counted = await play('ipv4', latency)
    const packets = await capture.stop()
    const drops = await server.drops()
    expect(drops.fromGuest).toBeGreaterThan(0)
    expect(drops.toGuest).toBeGreaterThan(0)
    const { ipv4 } = server.addresses
    const captured = packets.filter(({ source }) => source === ipv4).length
    const arriving = packets.filter(({ destination }) => destination === ipv4).length
    expect(counted.sent_pkts).toBe(captured + drops.fromGuest)
    expect(counted.rcvd_pkts).toBe(arriving - drops.toGuest)
    expect(counted.out_of_seq_request! + counted.duplicate_request! + counted.rcvd_seq_err!).toBeGreaterThan(0)
    await server.clearImpairment()
    const clean = await play('ipv4', latency)
    // Nothing is missing any more. (A slow machine may still let timers expire, which makes duplicates.)
    expect(clean).toMatchObject({ out_of_seq_request: 0, rcvd_seq_err: 0 })
  })

  it('delay and reorder packets when told to', async () => {
    await server.impair({ delayMs: 5, reorderPercent: 10 })
    const counted = await play('ipv6', latency)
    await server.clearImpairment()
    expect(counted.out_of_seq_request! + counted.rcvd_seq_err!).toBeGreaterThan(0)
  })

  it('receive a packet with the right ICRC, and do not count the same with a wrong one', async () => {
    // UD SEND-only for QP 1, which is always there: BTH, DETH with the key of that QP, and an empty MAD.
    const bth = Buffer.alloc(12 + 8 + 256)
    bth.set([0x64, 0, 0xff, 0xff, 0, 0, 0, 1])
    bth.writeUInt32BE(0x80010000, 12)
    bth.writeUInt32BE(1, 16)
    const sourcePort = 50_000
    const icrc = icrcOverIpv6(ours.ipv6, server.addresses.ipv6, sourcePort, bth)
    const send = async (packet: Buffer): Promise<{ packets: Packet[]; received: number }> => {
      const capture = await lab.capture(1, 'guests-icrc')
      const before = await server.counters()
      const code = `const socket = require('node:dgram').createSocket('udp6')
        socket.bind(${sourcePort}, '${ours.ipv6}', () => socket.send(
          Buffer.from('${packet.toString('hex')}', 'hex'), 4791, '${server.addresses.ipv6}', () => socket.close()))`
      expect(await lab.run(process.execPath, ['-e', code])).toMatchObject({ code: 0 })
      const packets = await capture.stop()
      const after = await server.counters()
      return { packets, received: after.rcvd_pkts! - before.rcvd_pkts! }
    }
    const right = await send(Buffer.concat([bth, icrc]))
    expect(right).toMatchObject({ received: 1, packets: [{ source: ours.ipv6, fault: null }] })
    icrc[0]! ^= 1
    const wrong = await send(Buffer.concat([bth, icrc]))
    expect(wrong).toMatchObject({ received: 0, packets: [{ source: ours.ipv6, fault: 'ICRC' }] })
  })
})

describe.skipIf(images === null)('the laboratory', () => {
  it('leaves nothing behind', async () => {
    const lab = await Lab.open()
    lab.start('sleep', ['1000'])
    expect(existsSync(`/run/netns/${lab.namespace}`)).toBe(true)
    await lab.close()
    expect(existsSync(`/run/netns/${lab.namespace}`)).toBe(false)
    expect(existsSync(lab.directory)).toBe(false)
  })
})
