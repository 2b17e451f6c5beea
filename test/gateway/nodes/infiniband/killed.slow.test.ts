/** The peer is another process, which is killed in the middle of a run, and started again. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, expect, it } from 'vitest'
import { nativeAvailable } from '../../../../src/index.ts'
import { startable } from '../../../entries.ts'
import { loopbackAddress, loopbackDevice } from '../../../loopback.ts'
import { Bed, type TestNode, until } from './bed.ts'

class Part {
  readonly read: number[] = []
  state = ''
  missing = -1
  readonly #child: ChildProcess

  constructor(part: { name: string; device: string; settings: object; writes: boolean }) {
    const { file, execArgv } = startable(new URL('./part.process.ts', import.meta.url))
    this.#child = fork(file, { execArgv })
    this.#child.on('message', (message: 'ready' | { state?: string; read?: number[]; missing?: number }) => {
      if (message === 'ready') this.#child.send(part)
      else if (message.read) this.read.push(...message.read)
      else if (message.state) this.state = message.state
      else this.missing = message.missing!
    })
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exit
  }

  /** Lets it stop in order; how many samples it has lost. */
  async stop(): Promise<number> {
    const exit = once(this.#child, 'exit')
    this.#child.send('stop')
    await exit
    return this.missing
  }
}

let bed: Bed | undefined
const parts: Part[] = []
afterEach(async () => {
  for (const part of parts.splice(0)) await part.kill()
  await bed?.stop()
  bed = undefined
})

function start(part: ConstructorParameters<typeof Part>[0]): Part {
  const started = new Part(part)
  parts.push(started)
  return started
}

const shm = { here: `shm:gw${process.pid}`, there: `shm:gw${process.pid}`, addresses: ['127.0.0.1', '127.0.0.1'] }
const roce = {
  here: loopbackDevice(11),
  there: loopbackDevice(12),
  addresses: [loopbackAddress(11), loopbackAddress(12)],
}

/** Writes a sample each time; what comes is read. */
function step(node: TestNode, got: number[]): () => void {
  let sequence = 0
  return () => {
    got.push(...node.read())
    if (node.state === 'connected') node.write([sequence++])
    node.flush()
  }
}

it.skipIf(!nativeAvailable).each([
  ['RC', shm, 'active'],
  ['RC', shm, 'passive'],
  ['UC', shm, 'active'],
  ['UC', shm, 'passive'],
  ['RC', roce, 'active'],
  ['RC', roce, 'passive'],
] as const)('%s, %j: the %s process is killed', async (mode, place, killed) => {
  const common = (device: string) => ({ rdma_transport_mode: mode, device })
  const [activeAddress, passiveAddress] = [`${place.addresses[0]}:1700`, `${place.addresses[1]}:1701`]
  const active = { ...common(place.here), in: { address: activeAddress }, out: { address: passiveAddress } }
  const passive = { ...common(place.there), in: { address: passiveAddress } }
  const mine = killed === 'active' ? passive : active
  const theirs = killed === 'active' ? active : passive
  bed = new Bed({ device: mine.device })
  const node = await bed.start('mine', mine)
  const got: number[] = []
  const run = step(node, got)
  for (let round = 1; round <= 3; round++) {
    const part = start({ name: 'theirs', device: theirs.device, settings: theirs, writes: true })
    got.length = 0
    await until(() => part.read.length > 100 && got.length > 100 && part.state === 'connected', run)
    expect(node.counters.connections).toBe(round)
    if (round < 3) {
      await part.kill()
      if (killed === 'passive' || place === shm) await until(() => node.state !== 'connected', run)
    } else expect(await part.stop()).toBe(0)
  }
  expect(node.failures).toEqual([])
  expect(await bed.stop()).toBe(0)
})
