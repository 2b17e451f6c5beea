/**
 * Peers of rsockets that lie or die, above all with many streams on one queue pair: only their own connection ends, and
 * what they make the victim remember has a limit.
 */
import { fork } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { AF_INET, F_SETFL, O_NONBLOCK, rsocket, SOCK_DGRAM } from '../../src/index.ts'
import { nativeAvailable } from '../../src/memory/index.ts'
import { encodeUdpHeader, UdpOp } from '../../src/rsocket/protocol/datagram-headers.ts'
import { message, Op } from '../../src/rsocket/protocol/messages.ts'
import { Frame } from '../../src/rsocket/protocol/trunk-frames.ts'
import { holds } from '../property.ts'
import { BadPeer, frames } from './bad-rsocket.ts'
import { long, openStage, type Stage, sleep, until } from './stage.ts'

let stage: Stage | undefined
const peers: BadPeer[] = []
afterEach(async () => {
  for (const peer of peers.splice(0)) peer.close()
  await stage?.close()
  stage = undefined
})

const timeout = 60_000 * long(4)
const port = 7000
/** Offers of Verbena ends: buffers early, and a trunk. */
const trunk = 3

async function connected(on: Stage, features: number | undefined = trunk, i = 0): Promise<BadPeer> {
  const from = on.attackerHosts[i]!
  const peer = await BadPeer.connect({ device: `roce:${from}`, host: on.victim.host, port, features: features! })
  if (peer === undefined) throw new Error('the victim refused an attacker')
  peers.push(peer)
  return peer
}

async function endOf(peer: BadPeer): Promise<void> {
  await until('the connection of the attacker ends', () => {
    peer.poll()
    return peer.ended
  })
  peers.splice(peers.indexOf(peer), 1)
  peer.close()
}

/** Of the victim, beyond the bystander's one. */
const strangers = async (on: Stage): Promise<number> => (await on.stats()).victim.connections - 1

describe.skipIf(!nativeAvailable)('peers of rsockets that lie or die', { timeout }, () => {
  it('breaks the rules of a trunk whose streams are in use', async () => {
    stage = await openStage()
    const on = stage
    const bad: [string, Uint8Array][] = [
      ['opens a stream twice', frames([Frame.Open, 5, 40_000])],
      ['sends an unknown kind', frames([77, 5, 0])],
      ['sends more than the window', frames([Frame.Data, 5, 1 << 20])],
      ['gives more credit than there is a window', frames([Frame.Credit, 5, 1 << 30])],
      ['breaks a rule and goes on', frames([99, 0, 0], ...Array.from({ length: 500 }, () => [98, 1, 1] as const))],
    ]
    const before = (await on.stats()).victim.protocolErrors.badFrame!
    await on.during(async () => {
      for (const [, breach] of bad) {
        const peer = await connected(on)
        const opened = frames([Frame.Open, 5, 40_000], [Frame.Open, 6, 40_001], [Frame.Data, 5, 4, Buffer.from('ping')])
        expect(await peer.send(opened)).toBe(true)
        await until('both streams are there', async () => (await strangers(on)) === 2)
        await peer.send(breach)
        await endOf(peer)
        await until('the streams are gone', async () => (await strangers(on)) === 0)
      }
    })
    const victim = await on.judge()
    // Each trunk is counted once, whatever came behind the breach.
    expect(victim.protocolErrors.badFrame! - before).toBe(bad.length)
  })

  it('asks for answers on a trunk and never takes them', async () => {
    stage = await openStage()
    const on = stage
    const peer = await connected(on)
    const pair = frames([Frame.Open, 7, 40_000], [Frame.Reset, 7, 0])
    const many = new Uint8Array(pair.length * 512).map((_, i) => pair[i % pair.length]!)
    await on.during(async () => {
      // The victim listens until its answers are not taken: what it has of them stays the same then.
      let sent = 0
      while (sent < 2000 * long(10) && (await peer.send(many, 500))) sent++
      expect(sent).toBeLessThan(2000 * long(10))
    })
    await on.judge({ rssMiB: 64 })
  })

  it('says at random what trunks and streams can say, and more', async () => {
    stage = await openStage()
    const on = stage
    const small = fc.oneof(fc.constantFrom(0, 1, 2, 8, 65_535, 65_536, 0x1fffffff), fc.nat(0xffffffff))
    const frame = fc.tuple(fc.constantFrom(0, 1, 1, 2, 3, 3, 4, 5, 6, 7, 8), fc.nat(3), small)
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.array(frame, { minLength: 1, maxLength: 40 }) },
      { weight: 1, arbitrary: fc.record({ immediate: small, bytes: fc.nat(64), at: small }) },
    )
    const session = fc.record({
      features: fc.constantFrom(0, 1, 2, 3, 3, 3, undefined),
      steps: fc.array(step, { minLength: 1, maxLength: 5 }),
    })
    await on.during(() =>
      holds(
        fc.asyncProperty(session, async ({ features, steps }) => {
          const peer = await connected(on, features)
          for (const one of steps) {
            if (Array.isArray(one)) {
              await peer.send(frames(...one.map(([kind, id, value]) => [kind, id, value] as const)), 200)
              continue
            }
            const { addr } = peer.theirs.dataBuffer
            peer.write(one.immediate >>> 0, new Uint8Array(one.bytes), addr + (one.at & 0xffff))
            peer.poll()
          }
          peers.splice(peers.indexOf(peer), 1)
          peer.close()
          expect((await on.victim.ask<{ uncaught: string[] }>('stats')).uncaught).toEqual([])
        }),
        20,
      ),
    )
    await on.judge()
  })

  it('is killed with its trunk in use', async () => {
    stage = await openStage()
    const on = stage
    const file = new URL('./trunk-client.mjs', import.meta.url)
    const child = fork(file, [`roce:${on.attackerHosts[0]}`, on.victim.host, String(port)])
    await once(child, 'message')
    await until('its streams are there', async () => (await strangers(on)) === 5)
    await on.during(async () => {
      child.kill('SIGKILL')
      await until('its streams have ended', async () => (await strangers(on)) === 0)
    })
    await on.judge()
  })

  it('writes data that was never offered, with a version 1 of its own', async () => {
    stage = await openStage()
    const on = stage
    await on.during(async () => {
      for (const immediate of [message(Op.Data, 0x1fffffff), message(Op.Sgl, 0x1fffffff), message(1, 7)]) {
        const peer = await connected(on, undefined)
        peer.write(immediate >>> 0, new Uint8Array(8), peer.theirs.dataBuffer.addr)
        await endOf(peer)
      }
    })
    await on.judge()
  })

  it('sends datagrams from many addresses, with headers of all kinds, and takes no answers', async () => {
    stage = await openStage()
    const on = stage
    const port = await on.victim.ask<number>('datagrams')
    const block = on.victim.host.split('.').slice(0, 2).join('.')
    await on.during(async () => {
      for (let i = 0; i < 60 * long(20); i++) {
        const socket = createSocket('udp4')
        // Any address of loopback is this host's.
        socket.bind(0, `${block}.${randomInt(200, 255)}.${randomInt(1, 255)}`)
        await once(socket, 'listening')
        for (let k = 0; k < 100; k++) {
          const address = randomBytes(randomInt(2) ? 4 : 16)
          const header = encodeUdpHeader({
            op: randomInt(4) ? UdpOp.Data : UdpOp.Control,
            qpn: randomInt(1 << 24),
            address,
          })
          const bytes = Buffer.concat([header, randomBytes(randomInt(3000))])
          if (randomInt(4) === 0) bytes[randomInt(8)] = randomInt(256)
          bytes[7] = randomInt(2) ? 0x56 : 0
          socket.send(bytes, port, on.victim.host)
        }
        await sleep(2)
        socket.close()
      }
    })
    // Somebody honest is answered.
    const peer = rsocket(AF_INET, SOCK_DGRAM, 0, { device: `roce:${on.attackerHosts[0]}` })
    peer.fcntl(F_SETFL, O_NONBLOCK)
    peer.bind({ address: on.attackerHosts[0]!, port: 0 })
    const into = new Uint8Array(10)
    await until('an honest sender is answered', () => {
      peer.sendto(Uint8Array.of(1, 2, 3), 0, { address: on.victim.host, port })
      return peer.recv(into) === 3
    })
    peer.close()
    // The thread of UDP came with the first datagram socket.
    await on.judge({ descriptors: 16 })
  })
})
