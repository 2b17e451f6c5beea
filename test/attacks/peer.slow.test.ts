/**
 * A connected peer that lies: its queue pair was let in, its packets have the right address, PSN and ICRC. What it asks
 * beyond its rights is refused with the NAK of the specification and ends its own connection; others go on.
 */
import { afterEach, describe, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { WireOpcode as W } from '../../src/wire/index.ts'
import { Liar, mtu } from './liar.ts'
import { long, openStage, type Stage } from './stage.ts'

let stage: Stage | undefined
afterEach(async () => {
  await stage?.close()
  stage = undefined
})

const timeout = 60_000 * long(4)

describe.skipIf(!nativeAvailable)('a connected peer that lies', { timeout }, () => {
  it('asks for sixteen READs of a large region, and then breaks a rule', async () => {
    stage = await openStage()
    const size = 128 << 20
    const liar = await Liar.connected(stage, 0, size)
    const { addr, rkey } = liar.access
    await stage.during(async () => {
      const reth = { va: BigInt(addr), rkey, dmaLength: size }
      for (let i = 0; i < 16; i++) await liar.send(W.RcReadRequest, { reth }, size / mtu)
      await liar.send(W.RcWriteLast, { payload: new Uint8Array(8) })
      await new Promise((resolve) => setTimeout(resolve, 2000))
    })
    // The region of the liar is resident at the victim.
    await stage.judge({ rssMiB: 48 + 2 * (size >> 20) })
  })

  it('sends packets at random with the right address, queue pair and PSN', async () => {
    stage = await openStage()
    const own = 1 << 16
    await stage.during(async () => {
      for (let round = 0; round < 20 * long(30); round++) {
        const liar = await Liar.connected(stage!, round % 8, own)
        for (let i = 0; i < 20; i++) await liar.sendAnything()
      }
    })
    await stage.judge({ rssMiB: 48 + 40 * long(30) * (own / 2 ** 20) })
  })
})
