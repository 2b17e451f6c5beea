/** A server that somebody fills with connections which say nothing. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { Connections, serverLimits } from '../../../src/web/serve/connections.ts'

it('keeps nobody out: the one that has waited longest goes', async () => {
  const server = createServer(serverLimits, (_, response) => response.end('here'))
  const connections = new Connections(server, false, 4)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const open = async (): Promise<{ socket: Socket; isClosed: boolean }> => {
    const one = { socket: connect(port, '127.0.0.1'), isClosed: false }
    one.socket.on('close', () => (one.isClosed = true)).on('error', () => {})
    await once(one.socket, 'connect')
    one.socket.write('GET / HTTP/1.1\r\nHost:')
    return one
  }
  const user = await open()
  const ask = async (): Promise<string> => {
    user.socket.write(' localhost\r\n\r\n')
    const [answer] = await once(user.socket, 'data')
    user.socket.write('GET / HTTP/1.1\r\nHost:')
    return String(answer)
  }
  expect(await ask()).toContain('200 OK')
  const silent: Awaited<ReturnType<typeof open>>[] = []
  for (let i = 0; i < 12; i++) {
    silent.push(await open())
    // Whoever uses a connection keeps it.
    expect(await ask()).toContain('here')
  }
  await expect.poll(() => silent.filter(({ isClosed }) => !isClosed).length).toBe(3)
  expect(user.isClosed).toBe(false)
  await connections.close()
})

it('has times within which a request has to be there', () => {
  const server = createServer(serverLimits)
  expect([server.headersTimeout, server.keepAliveTimeout]).toEqual([10_000, 10_000])
})
