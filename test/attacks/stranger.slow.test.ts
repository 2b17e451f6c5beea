/**
 * A stranger: somebody who can send UDP datagrams to a device, and has no key, no connection and no sight of others'
 * packets. What it sends is dropped and counted; connections of others go on.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { cmMessage, WireOpcode } from '../../src/wire/index.ts'
import { guidOf, madPacket, packetTo } from './mads.ts'
import { long, moved, openStage, requestOf, type Stage, until } from './stage.ts'

let stage: Stage | undefined
afterEach(async () => {
  await stage?.close()
  stage = undefined
})

const timeout = 60_000 * long(4)

describe.skipIf(!nativeAvailable)('a stranger', { timeout }, () => {
  it('sends bytes at random, and packets for queue pairs that there are not', async () => {
    stage = await openStage()
    const sender = await stage.sender()
    const each = 2000 * long(20)
    await stage.during(async () => {
      for (let i = 0; i < each; i++) {
        await sender.send(randomBytes(randomInt(1, 1400)))
        await sender.send(sender.bytes(packetTo(randomInt(2, 1 << 24), WireOpcode.RcSendOnly, randomInt(1 << 24))))
      }
    })
    const victim = await stage.judge()
    const dropped = [
      'drops_malformed',
      'icrc_errors',
      'drops_no_qp',
      'drops_socket_buffer',
      'drops_opcode',
      'drops_qp_state',
    ]
    const counted = dropped.reduce((sum, name) => sum + moved(stage!, victim, name), 0)
    // A guess may hit one of the two QP numbers of 2^24 that exist; its address is wrong.
    expect(counted + moved(stage, victim, 'drops_source')).toBeGreaterThanOrEqual(2 * each)
  })

  it('rejects and disconnects connections of others by their communication IDs', async () => {
    stage = await openStage()
    const sender = await stage.sender()
    const bystanderGuid = guidOf(stage.bystander.host)
    const info = new Uint8Array(72)
    new DataView(info.buffer).setBigUint64(0, bystanderGuid)
    const tries = 4000 * long(40)
    await stage.during(async () => {
      for (let i = 0; i < tries; i++) {
        // The ID begins with the place of the agent, which is 1 in most programs.
        const id = ((1 << 22) | (i & 0x3fffff)) >>> 0
        const other = ((1 << 22) | randomInt(1 << 22)) >>> 0
        const messages = [
          cmMessage('REJ', 1n, {
            localCommId: other,
            remoteCommId: id,
            reason: 4,
            additionalInfoLength: 8,
            additionalInfo: info,
          }),
          cmMessage('DREQ', BigInt(i), { localCommId: other, remoteCommId: id, remoteQpn: randomInt(1 << 24) }),
        ]
        for (const message of messages) await sender.send(sender.bytes(madPacket(message)))
      }
    })
    const victim = await stage.judge()
    const counted = ['cm_drops_source', 'cm_drops_unknown_id', 'cm_drops_queue', 'ud_drops_no_receive']
    expect(counted.reduce((sum, name) => sum + moved(stage!, victim, name), 0)).toBeGreaterThan(0)
  })

  it('asks for connections faster than anybody can answer', async () => {
    stage = await openStage()
    const sender = await stage.sender()
    const tries = 20_000 * long(3)
    const flood = async (from: number): Promise<void> => {
      for (let i = from; i < from + tries; i++) {
        const privateData = randomBytes(40)
        await sender.send(sender.bytes(madPacket(requestOf(stage!, i, { privateData }))))
      }
    }
    await stage.during(() => flood(0))
    const { victim: first } = await stage.stats()
    await stage.during(() => flood(tries))
    const { victim: second } = await stage.stats()
    await stage.during(() => flood(2 * tries))
    // V8 grows its young generations and compiles, in each thread, up to 125 MiB, at a time that it chooses; what requests
    // leave behind grows in each part.
    const victim = await stage.judge({ rssMiB: 192 })
    const grown = Math.min(second.rss - first.rss, victim.rss - second.rss)
    expect(grown / 2 ** 20, 'MiB more resident in the second and in the third part').toBeLessThan(16)
    const dropped = ['cm_drops_queue', 'cm_drops_backlog', 'ud_drops_no_receive', 'drops_socket_buffer']
    expect(dropped.reduce((sum, name) => sum + moved(stage!, victim, name), 0)).toBeGreaterThan(0)
  })

  it('opens hundreds of connections by half, with the longest time-outs that a request can name', async () => {
    stage = await openStage()
    const sender = await stage.sender()
    for (let i = 0; i < 600; i++)
      await sender.send(sender.bytes(madPacket(requestOf(stage, i, { localCmResponseTimeout: 31, maxCmRetries: 15 }))))
    await until('the backlog is full', async () => {
      const { victim } = await stage!.stats()
      return moved(stage!, victim, 'cm_drops_backlog') > 0
    })
    // From another address a connection can be made at once, not after minutes.
    const begin = performance.now()
    await until('an honest client connects', async () => {
      const { failure } = await stage!.bystander.ask<{ failure: string | null }>('connect')
      return failure === null
    })
    expect(performance.now() - begin).toBeLessThan(15_000)
    // Each of them has the buffers of a socket until it expires or makes room.
    const victim = await stage.judge({ rssMiB: 128 })
    expect(moved(stage, victim, 'cm_requests_evicted')).toBeGreaterThan(0)
  })
})
