import { describe, expect, it } from 'vitest'
import { errnos, NativeError, nativeAvailable, TcpListener, TcpSocket, threadCpuNs } from '../../src/memory/index.ts'

const loopback = Uint8Array.of(127, 0, 0, 1)

function pair(bufferBytes = 0) {
  const listener = new TcpListener(loopback, bufferBytes)
  const here = new SharedArrayBuffer(8192)
  const there = new SharedArrayBuffer(8192)
  const a = TcpSocket.connect(here, loopback, listener.port, bufferBytes)
  const b = listener.accept(there, 1000)
  listener.close()
  return { a, b, here: new Uint8Array(here), there: new Uint8Array(there) }
}

describe.skipIf(!nativeAvailable)('TCP sockets by system calls', () => {
  it('carry bytes between places of two memories, in both directions', () => {
    const { a, b, here, there } = pair()
    here.set([1, 2, 3, 4, 5], 100)
    a.setNoDelay()
    expect(a.send(100, 5, true)).toBe(5)
    expect(b.recv(200, 3, true)).toBe(3)
    expect([...there.subarray(200, 204)]).toEqual([1, 2, 3, 0])
    expect(b.recv(0, 100, true)).toBe(2)
    expect(b.send(200, 3, false)).toBe(3)
    expect(a.recv(0, 100, true)).toBe(3)
    expect([...here.subarray(0, 4)]).toEqual([1, 2, 3, 0])
    a.close()
    b.close()
  })

  it('say that there is nothing, that there is no room, and that it is the end', () => {
    const { a, b } = pair(4096)
    b.setTimeout(10)
    expect(b.recv(0, 100, false)).toBe(-errnos.EAGAIN)
    expect(b.recv(0, 100, true)).toBe(-errnos.EAGAIN)
    let sent = 0
    let last = 0
    do {
      last = a.send(0, 8192, false)
      sent += Math.max(0, last)
    } while (last > 0)
    expect(last).toBe(-errnos.EAGAIN)
    a.shutdownWrite()
    let got = 0
    while (got < sent) got += b.recv(0, 8192, true)
    expect(got).toBe(sent)
    expect(b.recv(0, 8192, true)).toBe(0)
    b.close()
    a.close()
  })

  it('refuse places outside of the memory, and what was closed', () => {
    const { a, b } = pair()
    expect(() => a.send(8000, 200, false)).toThrow(/EFAULT/)
    expect(() => a.recv(-1, 2, false)).toThrow(/EFAULT/)
    a.close()
    a.close()
    expect(() => a.send(0, 1, false)).toThrow(/EBADF/)
    b.close()
  })

  it('tell that nobody listens, and that nobody came', () => {
    const listener = new TcpListener(loopback)
    expect(() => listener.accept(new SharedArrayBuffer(8), 10)).toThrow(/nobody connected/)
    listener.close()
    expect(() => TcpSocket.connect(new SharedArrayBuffer(8), loopback, listener.port)).toThrow(NativeError)
  })
})

describe.skipIf(!nativeAvailable)('the processor time of a thread', () => {
  it('grows while it works, and not beyond the time that passes', () => {
    const began = process.hrtime.bigint()
    const before = threadCpuNs()
    for (let i = 0; threadCpuNs() - before < 1e6; i++) Math.sqrt(i)
    const used = threadCpuNs() - before
    expect(used).toBeGreaterThanOrEqual(1e6)
    expect(used).toBeLessThanOrEqual(Number(process.hrtime.bigint() - began) + 1e6)
  })
})
