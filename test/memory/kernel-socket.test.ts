/** Sockets of the kernel, as C programs use them. */
import { constants } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import { KernelSocket, type KernelSocketOptions, nativeAvailable } from '../../src/memory/index.ts'

const { EAGAIN, ECONNREFUSED, EINPROGRESS } = constants.errno
const [POLLIN, POLLOUT] = [1, 4]
const loopback: Record<4 | 6, Uint8Array> = {
  4: Uint8Array.of(127, 0, 0, 1),
  6: Uint8Array.from({ length: 16 }, (_, i) => (i === 15 ? 1 : 0)),
}

describe.skipIf(!nativeAvailable)('kernel sockets', () => {
  const open: KernelSocket[] = []
  const make = (options: KernelSocketOptions): KernelSocket => {
    const socket = KernelSocket.open(options)
    open.push(socket)
    return socket
  }
  afterEach(() => {
    for (const socket of open.splice(0)) socket.close()
  })

  /** Listens on the first port that is free. */
  function listening(family: 4 | 6): { server: KernelSocket; port: number } {
    for (let port = 20_000 + (process.pid % 20_000); ; port++) {
      const server = make({ family })
      try {
        server.bind(loopback[family], port)
        server.listen(1)
        return { server, port }
      } catch (error) {
        if ((error as { code: string }).code !== 'EADDRINUSE') throw error
      }
    }
  }

  it('a stream: bytes to and fro, and its end', () => {
    const { server, port } = listening(4)
    expect(server.accept()).toBe(-EAGAIN)
    const client = make({ family: 4 })
    expect([0, -EINPROGRESS]).toContain(client.connect(loopback[4], port))
    expect(client.poll(POLLOUT, 1000)).toBe(POLLOUT)
    expect(client.takeError()).toBe(0)
    expect(server.poll(POLLIN, 1000)).toBe(POLLIN)
    const accepted = server.accept() as KernelSocket
    open.push(accepted)
    expect(accepted.peer()).toBe('127.0.0.1')
    expect(accepted.recv(new Uint8Array(4))).toBe(-EAGAIN)
    const bytes = Uint8Array.from({ length: 100 }, (_, i) => i)
    // Parts of one memory, at their own places.
    expect(client.send(bytes.subarray(10, 30))).toBe(20)
    const got = new Uint8Array(64)
    expect(accepted.poll(POLLIN, 1000)).toBe(POLLIN)
    expect(accepted.recv(got.subarray(5))).toBe(20)
    expect(got.subarray(5, 25)).toEqual(bytes.subarray(10, 30))
    expect([got[4], got[25]]).toEqual([0, 0])
    expect(client.shutdown(1)).toBe(0)
    expect(accepted.poll(POLLIN, 1000)).toBe(POLLIN)
    expect(accepted.recv(got)).toBe(0)
  })

  it('nobody listens; a port is in use', () => {
    const { server, port } = listening(4)
    expect(() => make({ family: 4 }).bind(loopback[4], port)).toThrow(
      /port \d+ of 127\.0\.0\.1 is in use: choose another/,
    )
    server.close()
    const client = make({ family: 4, blocking: true })
    expect(client.connect(loopback[4], port)).toBe(-ECONNREFUSED)
    expect(() => client.connect(loopback[6], port)).toThrow(/another family/)
  })

  it.each([4, 6] as const)('datagrams over IPv%i go back to their sender', (family) => {
    const server = make({ family, datagrams: true })
    let port = 20_000 + (process.pid % 20_000)
    for (;;) {
      try {
        server.bind(loopback[family], port)
        break
      } catch (error) {
        if ((error as { code: string }).code === 'EADDRNOTAVAIL') return
        if ((error as { code: string }).code !== 'EADDRINUSE') throw error
        port++
      }
    }
    const client = make({ family, datagrams: true })
    expect(client.connect(loopback[family], port)).toBe(0)
    expect(client.send(Uint8Array.of(1, 2, 3))).toBe(3)
    const from = new Uint8Array(32)
    const bytes = new Uint8Array(16)
    expect(server.poll(POLLIN, 1000)).toBe(POLLIN)
    expect(server.recvFrom(bytes, 0, from)).toBe(3)
    expect(server.nameOf(from)).toBe(family === 4 ? '127.0.0.1' : '::1')
    expect(server.sendTo(bytes.subarray(1, 3), 0, from)).toBe(2)
    expect(client.poll(POLLIN, 1000)).toBe(POLLIN)
    expect(client.recv(bytes)).toBe(2)
    expect([...bytes.subarray(0, 2)]).toEqual([2, 3])
    expect(server.recvFrom(bytes, 0, from)).toBe(-EAGAIN)
  })
})
