/** Programs, client and server in processes of their own, over rsockets: `node --import verbena/preload`; TLS, HTTP/2, WebSocket and Redis on each device. */
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { overDevice, run, serve } from '../children.ts'
import { places, plain, printedOverTcp, printTheSame, segment } from './on-devices.ts'

printTheSame(['echo.cjs'])
printTheSame(['http.cjs'])
printTheSame(['https.mjs', 'ws.mjs', 'redis.mjs'])

describe.skipIf(!nativeAvailable)('a peer without RDMA', () => {
  const { host, client, server } = places[0]!

  it('a server is reached over TCP', async () => {
    const { port, stop } = await serve('echo.cjs', host, {})
    const { out, err } = await run(['echo.cjs', 'use', port, host], client)
    await stop()
    expect(plain(out)).toEqual(await printedOverTcp('echo.cjs'))
    expect(err.filter((line) => !/: TCP, because connect ECONNREFUSED/.test(line))).toEqual([])
  })

  it('a client reaches a server under the preload', async () => {
    const { port, stop } = await serve('echo.cjs', host, server)
    const { out } = await run(['echo.cjs', 'use', port, host])
    const { err } = await stop()
    expect(plain(out)).toEqual(await printedOverTcp('echo.cjs'))
    expect(err).toEqual([expect.stringMatching(/listen .*: RDMA and TCP/)])
  })
})

describe.skipIf(!nativeAvailable)('threads', () => {
  it("of the program obey the rules for the program; Verbena's own load nothing that is meant for those", async () => {
    const host = loopbackAddress(1)
    const { env, node } = overDevice(loopbackDevice(1), `program=worker.mjs ${host} rdma-only`)
    const first = `--require ${fileURLToPath(new URL('../apps/loaded.cjs', import.meta.url))}`
    const { out, err, code } = await run(['worker.mjs', host], { env: { ...env!, NODE_OPTIONS: first }, node: node! })
    expect([out, code]).toEqual([['from a worker'], 0])
    expect(err.filter((line) => line.startsWith('loaded'))).toEqual(['loaded by thread 0', 'loaded by thread 1'])
    expect(err.filter((line) => /: RDMA \(/.test(line))).toHaveLength(2)
  })
})

describe.skipIf(!nativeAvailable)('--require', () => {
  it('does what --import does', async () => {
    const { env } = overDevice(segment, 'program=refused.mjs local')
    const { out, err, code } = await run(['refused.mjs'], { env: env!, node: ['--require', 'verbena/preload'] })
    expect([out, code]).toEqual([['reached'], 0])
    expect(err).toContainEqual(expect.stringMatching(/^verbena: connect .*: RDMA/))
  })
})

describe.skipIf(!nativeAvailable)('a process that ends', () => {
  const { host, client, server } = places[0]!

  it('leaves what it has sent', async () => {
    const { port, stop } = await serve('sink.cjs', host, server)
    const { out } = await run(['sink.cjs', 'use', port, host], client)
    const served = await stop()
    expect(served.out).toContain(out[0])
    expect(out[0]).toBe(`3000000 ${createHash('sha256').update(Buffer.alloc(3_000_000, 'verbena')).digest('hex')}`)
  })

  it('by a kill is noticed by its peer', async () => {
    const { port, stop, child } = await serve('sink.cjs', host, server)
    const using = run(['sink.cjs', 'wait', port, host], client)
    await new Promise((resolve) => child.stdout!.on('data', (text: string) => text.includes('connected') && resolve(0)))
    child.kill('SIGKILL')
    const { out } = await using
    await stop()
    expect(out).toEqual([expect.stringMatching(/^(ECONNRESET|ETIMEDOUT) read$/)])
  })
})
