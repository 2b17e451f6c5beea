import { createHash, randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, it } from 'vitest'
import { describeNet, event, readAll, turns } from '../implementations.ts'

const MiB = 1 << 20

function sha(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

describeNet('streams', (bench) => {
  const { net } = bench
  const closed = (socket: Socket): Promise<boolean> => bench.closed(socket)

  it('carries 10 MiB there and back, and waits where it must', async () => {
    const server = bench.server({}, (socket) => socket.pipe(socket))
    const port = await bench.listen(server)
    const client = bench.connect({ port })
    const data = randomBytes(10 * MiB)
    const back = readAll(client)
    let waits = 0
    for (let at = 0; at < data.length; at += 100_000)
      if (!client.write(data.subarray(at, at + 100_000))) {
        waits++
        await event(client, 'drain')
      }
    client.end()
    const received = await back
    expect(sha(received)).toBe(sha(data))
    expect(waits).toBeGreaterThan(0)
    expect([client.bytesRead, client.bytesWritten]).toEqual([data.length, data.length])
  })

  it('carries one large write', async () => {
    const { client, peer } = await bench.pair()
    const data = randomBytes(5 * MiB)
    const got = readAll(peer)
    client.end(data)
    expect(sha(await got)).toBe(sha(data))
  })

  it('gives no data while it is paused, and loses none', async () => {
    const { client, peer } = await bench.pair()
    const seen: Buffer[] = []
    peer.on('data', (chunk: Buffer) => seen.push(chunk))
    client.write('first')
    await event(peer, 'data')
    peer.pause()
    client.write('second')
    await turns(20)
    expect(Buffer.concat(seen).toString()).toBe('first')
    peer.resume()
    await event(peer, 'data')
    expect(Buffer.concat(seen).toString()).toBe('firstsecond')
  })

  it('stops a writer whose peer does not read', async () => {
    const { client, peer } = await bench.pair()
    peer.pause()
    const chunk = Buffer.alloc(MiB)
    let sent = 0
    while (client.write(chunk) && sent < 100) sent++
    for (let n = 0; n < 15; n++) client.write(chunk)
    await turns(50)
    expect(client.writableNeedDrain).toBe(true)
    expect(client.writableLength).toBeGreaterThan(0)
    const total = client.bytesWritten
    let received = 0
    peer.on('data', (data: Buffer) => {
      received += data.length
    })
    peer.resume()
    await event(client, 'drain')
    client.end()
    await event(peer, 'end')
    expect(received).toBe(total)
  })

  it('decodes characters that come in pieces', async () => {
    const { client, peer } = await bench.pair()
    peer.setEncoding('utf8')
    let text = ''
    peer.on('data', (part: string) => {
      text += part
    })
    for (const byte of Buffer.from('grüß €𝄞')) {
      client.write(Uint8Array.of(byte))
      await turns(2)
    }
    client.end()
    await event(peer, 'end')
    expect(text).toBe('grüß €𝄞')
  })

  it('writes strings in every encoding, Buffers and Uint8Arrays', async () => {
    const { client, peer } = await bench.pair()
    const got = readAll(peer)
    client.cork()
    client.write('616263', 'hex')
    client.write('ZGVm', 'base64')
    client.write('g\xe9', 'latin1')
    client.write('h', 'utf16le')
    client.write(Buffer.from('ij'))
    client.write(Uint8Array.of(107, 108))
    client.write('')
    client.write('ü')
    client.uncork()
    client.end()
    expect((await got).toString('latin1')).toBe('abcdefg\xe9h\0ijkl\xc3\xbc')
    expect(client.bytesWritten).toBe(16)
  })

  it('calls back for writes in their order', async () => {
    const { client, peer } = await bench.pair()
    peer.resume()
    const order: number[] = []
    const all = Array.from(
      { length: 20 },
      (_, i) =>
        new Promise<void>((resolve) => {
          client.write(Buffer.alloc(i * 1000), () => {
            order.push(i)
            resolve()
          })
        }),
    )
    await Promise.all(all)
    expect(order).toEqual([...order].sort((a, b) => a - b))
    expect(order).toHaveLength(20)
  })

  it('calls back for a write that was cut off by destroy', async () => {
    const { client, peer } = await bench.pair()
    peer.pause()
    let called = false
    const result = new Promise<void>((resolve) => {
      client.write(Buffer.alloc(30 * MiB), () => {
        called = true
        resolve()
      })
    })
    await turns(10)
    expect(called).toBe(false)
    client.destroy()
    await result
  })

  it("end: the peer sees 'end', both see 'close'", async () => {
    const { client, peer } = await bench.pair()
    const seen: string[] = []
    for (const [who, socket] of [
      ['client', client],
      ['peer', peer],
    ] as const)
      for (const name of ['end', 'finish']) socket.on(name, () => seen.push(`${who} ${name}`))
    const got = readAll(peer)
    client.resume()
    client.end('bye')
    expect((await got).toString()).toBe('bye')
    expect(await Promise.all([closed(client), closed(peer)])).toEqual([false, false])
    expect(seen).toEqual(['client finish', 'peer end', 'peer finish', 'client end'])
    expect([client.destroyed, peer.destroyed]).toEqual([true, true])
  })

  it('half open: goes on writing after the peer has ended', async () => {
    const { client, peer } = await bench.pair({ allowHalfOpen: true })
    const back = readAll(client)
    peer.on('end', () => {
      expect([peer.readyState, peer.writable]).toEqual(['writeOnly', true])
      setImmediate(() => peer.end('after the end'))
    })
    peer.resume()
    client.end('x')
    expect((await back).toString()).toBe('after the end')
  })

  it('a half open client goes on reading', async () => {
    const { client, peer } = await bench.pair({ allowHalfOpen: true }, { allowHalfOpen: true })
    client.end()
    await event(peer.resume(), 'end')
    const data = randomBytes(MiB)
    const back = readAll(client)
    peer.end(data)
    expect(sha(await back)).toBe(sha(data))
  })

  it('not half open: a write after the peer has ended is EPIPE', async () => {
    const { client, peer } = await bench.pair()
    const result = new Promise<unknown>((resolve) => {
      peer.on('end', () => {
        setImmediate(() => expect(peer.write('too late', resolve)).toBe(false))
      })
    })
    peer.resume()
    client.end()
    expect(await result).toMatchObject({ code: 'EPIPE', message: 'This socket has been ended by the other party' })
  })

  it('a write after our own end is refused', async () => {
    const { client } = await bench.pair({ allowHalfOpen: true })
    client.end()
    const failure = event(client, 'error')
    client.write('x')
    expect(((await failure)[0] as NodeJS.ErrnoException).code).toBe('ERR_STREAM_WRITE_AFTER_END')
  })

  it('works with pipeline and for await', async () => {
    const { client, peer } = await bench.pair({ allowHalfOpen: true })
    const data = randomBytes(3 * MiB)
    const echo = (async () => {
      for await (const chunk of peer) if (!peer.write(chunk)) await event(peer, 'drain')
      peer.end()
    })()
    const sent = pipeline(Readable.from([data.subarray(0, MiB), data.subarray(MiB)]), client)
    expect(sha(await readAll(client))).toBe(sha(data))
    await Promise.all([echo, sent])
  })

  it("destroy with an error: 'error', then 'close' that says so", async () => {
    const { client, peer } = await bench.pair()
    peer.resume()
    const failure = event(client, 'error')
    client.destroy(new Error('enough'))
    expect(((await failure)[0] as Error).message).toBe('enough')
    expect(await closed(client)).toBe(true)
    await closed(peer)
  })

  it("emits 'close' once, however often it is destroyed", async () => {
    const { client } = await bench.pair()
    let closes = 0
    client.on('close', () => closes++)
    client.destroy()
    client.destroy()
    await turns(10)
    expect(closes).toBe(1)
  })

  it('resetAndDestroy: the peer sees ECONNRESET', async () => {
    const { client, peer } = await bench.pair()
    const failure = event(peer.resume(), 'error')
    expect(client.resetAndDestroy()).toBe(client)
    expect(client.destroyed).toBe(true)
    expect((await failure)[0]).toMatchObject({ code: 'ECONNRESET', syscall: 'read', message: 'read ECONNRESET' })
    expect(await closed(peer)).toBe(true)
  })

  it('resetAndDestroy while connecting waits for the connection', async () => {
    const server = bench.server()
    const port = await bench.listen(server)
    const reset = new Promise((resolve) => {
      server.on('connection', (socket) => socket.resume().on('error', resolve))
    })
    const client = bench.connect({ port })
    client.resetAndDestroy()
    expect(client.destroyed).toBe(false)
    expect(await reset).toMatchObject({ code: 'ECONNRESET' })
  })

  it('resetAndDestroy of what is not open is an error', async () => {
    const socket = bench.socket()
    const failure = event(socket, 'error')
    socket.resetAndDestroy()
    expect((await failure)[0]).toMatchObject({ code: 'ERR_SOCKET_CLOSED' })
  })

  it('a write to a peer that is gone fails with EPIPE or ECONNRESET', async () => {
    const { client, peer } = await bench.pair({}, { allowHalfOpen: true })
    const failure = event(client, 'error')
    peer.destroy()
    await closed(peer)
    const timer = setInterval(() => client.write('anyone there?'), 1)
    const [error] = (await failure) as [NodeJS.ErrnoException]
    clearInterval(timer)
    expect(['EPIPE', 'ECONNRESET']).toContain(error.code)
    expect(error.syscall).toBe('write')
  })

  // TCP promises less: a reset may throw away what has not been read.
  it.runIf(bench.ours)('reads what a peer sent before it closed, also if it is written to meanwhile', async () => {
    for (let i = 0; i < 20; i++) {
      const { client, peer, server } = await bench.pair()
      const got = readAll(client)
      peer.end(Buffer.alloc(300_000, 'x'), () => peer.destroy())
      const timer = setInterval(() => client.writable && client.write('still there?'), 0)
      expect((await got).length).toBe(300_000)
      clearInterval(timer)
      await closed(client)
      server.close()
    }
  })

  it('timeout: is emitted when nothing happens, and closes nothing', async () => {
    const { client, peer } = await bench.pair()
    expect(client.setTimeout(20)).toBe(client)
    expect(client.timeout).toBe(20)
    await event(client, 'timeout')
    expect(client.destroyed).toBe(false)
    // Traffic, then silence: it is emitted again.
    peer.write('x')
    await event(client, 'data')
    await event(client, 'timeout')
    let calls = 0
    client.setTimeout(1, () => calls++)
    await event(client, 'timeout')
    expect(calls).toBe(1)
    client.setTimeout(0)
    expect(client.timeout).toBe(0)
  })

  it('timeout: bad arguments', async () => {
    const socket = bench.socket()
    expect(() => socket.setTimeout('1' as never)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }))
    for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => socket.setTimeout(bad)).toThrow(expect.objectContaining({ code: 'ERR_OUT_OF_RANGE' }))
    expect(() => socket.setTimeout(1, 'f' as never)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }))
  })

  it('options return the socket, before and after connecting', async () => {
    const { client } = await bench.pair()
    for (const socket of [bench.socket(), client]) {
      expect(socket.setNoDelay()).toBe(socket)
      expect(socket.setNoDelay(false)).toBe(socket)
      expect(socket.setKeepAlive(true, 1000)).toBe(socket)
      expect(socket.setKeepAlive()).toBe(socket)
      expect(socket.unref()).toBe(socket)
      expect(socket.ref()).toBe(socket)
    }
  })

  it('loses nothing when it is unreferenced and referenced while data comes', async () => {
    const { client, peer } = await bench.pair()
    for (let i = 0; i < 30; i++) {
      const got = event(client, 'data')
      if (i % 3 === 0) client.unref()
      if (i % 3 === 1) peer.write(`${i}`)
      client.ref()
      if (i % 3 !== 1) peer.write(`${i}`)
      if (i % 2 === 0) client.unref().ref()
      expect(((await got)[0] as Buffer).toString()).toBe(`${i}`)
    }
  })

  it('onread: data goes into memory of the program', async () => {
    const server = bench.server({}, (socket) => socket.end(Buffer.alloc(100_000, 'abcdefgh')))
    const port = await bench.listen(server)
    const buffer = Buffer.alloc(4096)
    let got = 0
    let pauses = 0
    const client: Socket = bench.keep(
      net.connect({
        port,
        host: bench.host,
        onread: {
          buffer,
          callback(length: number, memory: Uint8Array) {
            expect(memory).toBe(buffer)
            expect(memory[0]).toBe(97 + (got % 8))
            got += length
            if (pauses++ > 3) return true
            setImmediate(() => client.resume())
            return false
          },
        },
      }),
    )
    client.on('data', () => expect.unreachable('no data event'))
    await event(client, 'close')
    expect([got, client.bytesRead]).toEqual([100_000, 100_000])
  })

  it('onread: a function gives the memory', async () => {
    const { client, peer } = await (async () => {
      const server = bench.server()
      const port = await bench.listen(server)
      const accepted = event(server, 'connection')
      const used = new Set<Uint8Array>()
      const client = bench.connect({
        port,
        onread: { buffer: () => Buffer.alloc(10), callback: (_n: number, memory: Uint8Array) => used.add(memory) },
      })
      const [peer] = (await accepted) as [Socket]
      return { client: Object.assign(client, { used }), peer }
    })()
    peer.end(Buffer.alloc(35))
    await closed(client)
    expect(client.used.size).toBe(4)
  })

  it('destroySoon ends after what was written', async () => {
    const { client, peer } = await bench.pair()
    const data = randomBytes(2 * MiB)
    const got = readAll(peer)
    client.write(data)
    client.destroySoon()
    expect(sha(await got)).toBe(sha(data))
    await closed(client)
  })

  it('an end that nobody reads does not close the socket', async () => {
    const { client, peer } = await bench.pair()
    client.end('unread')
    await turns(20)
    expect([peer.destroyed, peer.readable]).toEqual([false, true])
    peer.resume()
    await closed(peer)
  })
})
