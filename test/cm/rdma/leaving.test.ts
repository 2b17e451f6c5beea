/** A process that ends without closing anything: its peers are told, as a kernel would tell them. */
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { startThread } from '../../../src/memory/index.ts'
import net from '../../../src/net.ts'
import { outcome, startScript } from '../../cli/run.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'

const leaver = fileURLToPath(new URL('./leaver.mjs', import.meta.url))
/** By timers alone an active peer finds out after 4 s, an idle one after 15 s and more. */
const soonMs = 2500

describe.skipIf(!nativeAvailable)('a process that ends without closing its connections', () => {
  const server = net.createServer({ device: loopbackDevice(1) })
  beforeAll(async () => {
    server.listen(0, loopbackAddress(1))
    await once(server, 'listening')
  })
  afterAll(() => server.close())

  it.each([
    ['process.exit()', 'exit', 0],
    ['process.exit() of an idle program', 'idle-exit', 0],
    ['an uncaught exception', 'throw', 1],
  ])('is missed at once: %s', async (_, how, status) => {
    const { port } = server.address() as AddressInfo
    const arrived = once(server, 'connection') as unknown as Promise<[Socket]>
    const child = startScript(leaver, [loopbackDevice(2), String(port), loopbackAddress(1), how])
    const ended = outcome(child)
    const [socket] = await arrived
    // It has read all that was sent, so the peer sees the end of a stream, as with TCP.
    const seen = new Promise<string>((resolve) => {
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(`${error.code}`))
      socket.once('end', () => resolve('end'))
      socket.once('close', () => resolve('close'))
    })
    socket.once('data', () => socket.write('welcome'))
    const { code } = await ended
    expect(code).toBe(status)
    const left = performance.now()
    expect(await seen).toBe('end')
    expect(performance.now() - left).toBeLessThan(soonMs)
  })

  // Nothing of it can run any more: whoever cleans up after it has an agent of the same device say so.
  it.each(['a thread that is terminated', 'a process that is killed, on an adapter that it shares'])(
    'is missed soon: %s',
    async (what) => {
      const { port } = server.address() as AddressInfo
      const arrived = once(server, 'connection') as unknown as Promise<[Socket]>
      const [device, host] = [loopbackDevice(1), loopbackAddress(1)]
      const isThread = what.startsWith('a thread')
      const worker = new URL('./leaver.worker.ts', import.meta.url)
      const thread = isThread ? startThread(worker, { workerData: { device, port, host } }) : undefined
      const child = isThread ? undefined : startScript(leaver, [device, String(port), host, 'wait'])
      const connected = once(thread ?? child!.stdout!, thread === undefined ? 'data' : 'message')
      const [socket] = await arrived
      const failure = new Promise<string | undefined>((resolve) => {
        socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
        socket.once('close', () => resolve(undefined))
      })
      socket.once('data', () => socket.write('welcome'))
      await connected
      const left = performance.now()
      if (thread === undefined) child!.kill('SIGKILL')
      else await thread.terminate()
      expect(await failure).toBe('ECONNRESET')
      expect(performance.now() - left).toBeLessThan(soonMs)
    },
  )
})
