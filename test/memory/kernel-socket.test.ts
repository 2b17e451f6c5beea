import { describe, expect, it } from 'vitest'
import { errnos, KernelSocket, nativeAvailable, threadCpuNs } from '../../src/memory/index.ts'

const loopback = Uint8Array.of(127, 0, 0, 1)
const dontWait = 0x40
const sendBuffer = 7
const receiveBuffer = 8

/** A connection, each end with a buffer of its own. */
function pair(bufferBytes = 0) {
  const open = () => {
    const socket = KernelSocket.open({ family: 4, blocking: true })
    if (bufferBytes > 0) for (const name of [sendBuffer, receiveBuffer]) socket.setOption(1, name, bufferBytes)
    return socket
  }
  const listener = open()
  listener.bind(loopback, 0)
  listener.listen(1)
  expect(listener.localPort()).toBeGreaterThan(0)
  const a = open()
  expect(a.connect(loopback, listener.localPort())).toBe(0)
  const b = listener.accept()
  if (typeof b === 'number') throw new Error(`accept: ${b}`)
  listener.close()
  return { a, b, here: new Uint8Array(8192), there: new Uint8Array(8192) }
}

describe.skipIf(!nativeAvailable)('sockets of the kernel', () => {
  it('carry bytes from one buffer to another, in both directions', () => {
    const { a, b, here, there } = pair()
    here.set([1, 2, 3, 4, 5], 100)
    expect(a.send(here.subarray(100, 105))).toBe(5)
    expect(b.recv(there.subarray(200, 203))).toBe(3)
    expect([...there.subarray(200, 204)]).toEqual([1, 2, 3, 0])
    expect(b.recv(there)).toBe(2)
    expect(b.send(there.subarray(200, 203))).toBe(3)
    expect(a.recv(here)).toBe(3)
    expect([...here.subarray(0, 4)]).toEqual([1, 2, 3, 0])
    a.close()
    a.close()
    b.close()
  })

  it('say that there is nothing, that there is no room, and that it is the end', () => {
    const { a, b, here, there } = pair(4096)
    b.setTimeout(10)
    expect(b.recv(there, dontWait)).toBe(-errnos.EAGAIN)
    expect(b.recv(there)).toBe(-errnos.EAGAIN)
    let sent = 0
    let last = 0
    do {
      last = a.send(here, dontWait)
      sent += Math.max(0, last)
    } while (last > 0)
    expect(last).toBe(-errnos.EAGAIN)
    a.setTimeout(10)
    expect(a.send(here)).toBe(-errnos.EAGAIN)
    expect(a.shutdown(1)).toBe(0)
    b.setTimeout(10_000)
    let got = 0
    while (got < sent) got += b.recv(there)
    expect(got).toBe(sent)
    expect(b.recv(there)).toBe(0)
    b.close()
    a.close()
  })

  it('tell that nobody came, and that nobody listens', () => {
    const listener = KernelSocket.open({ family: 4, blocking: true })
    listener.bind(loopback, 0)
    listener.listen(1)
    const port = listener.localPort()
    listener.setTimeout(10)
    expect(listener.accept()).toBe(-errnos.EAGAIN)
    listener.close()
    const client = KernelSocket.open({ family: 4, blocking: true })
    expect(client.connect(loopback, port)).toBe(-errnos.ECONNREFUSED)
    client.close()
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
