/** The records of the exchange, and both parts of it against a peer that is played by hand. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { Wire } from '../../../src/tools/kit/index.ts'
import {
  exchangeAsClient,
  exchangeAsServer,
  formatRecord,
  parseRecord,
  recordBytes,
} from '../../../src/tools/pingpong/exchange.ts'
import { holds } from '../../property.ts'

const gid = new Uint8Array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1])
const golden = '0000:00001b:9abcde:00000000000000000000ffff0a4d0001\0'
const address = { lid: 0, qpn: 0x1b, psn: 0x9abcde, gid }

describe('a record', () => {
  it('is 52 bytes: LID, QPN, PSN, GID, and a zero', () => {
    expect(formatRecord(address)).toBe(golden)
    expect(golden.length).toBe(recordBytes)
  })

  it('comes back as it was', () => {
    const destination = fc.record({
      lid: fc.integer({ min: 0, max: 0xffff }),
      qpn: fc.integer({ min: 0, max: 0xffffff }),
      psn: fc.integer({ min: 0, max: 0xffffff }),
      gid: fc.uint8Array({ minLength: 16, maxLength: 16 }),
    })
    holds(
      fc.property(destination, (d) => {
        expect(parseRecord(Buffer.from(formatRecord(d)))).toEqual(d)
      }),
    )
  })

  it('is refused, and throws never, when it is anything else', () => {
    holds(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        expect(parseRecord(bytes)).toBeUndefined()
      }),
    )
    expect(parseRecord(Buffer.from(golden.replace(':', '.')))).toBeUndefined()
  })
})

describe('the exchange', () => {
  const open: { destroy(): void }[] = []
  afterEach(() => {
    for (const socket of open.splice(0)) socket.destroy()
  })

  /** A wire, and the plain socket at its other end. */
  async function pair(): Promise<{ wire: Wire; peer: Socket }> {
    const server = createServer().listen(0)
    await once(server, 'listening')
    const peer = connect((server.address() as { port: number }).port, '127.0.0.1')
    const [socket] = (await once(server, 'connection')) as [Socket]
    server.close()
    open.push(peer, socket)
    return { wire: new Wire(socket), peer }
  }

  async function read(socket: Socket, length: number): Promise<string> {
    let text = ''
    while (text.length < length) text += ((await once(socket, 'data')) as [Buffer])[0].toString('latin1')
    return text
  }

  it('as client sends its record, takes the answer and says done', async () => {
    const { wire, peer } = await pair()
    const theirs = exchangeAsClient(wire, [address], 1)
    expect(await read(peer, 52)).toBe(golden)
    peer.write(golden)
    expect(await read(peer, 5)).toBe('done\0')
    expect(await theirs).toEqual([address])
  })

  it('as server connects its queue pairs before it answers', async () => {
    const { wire, peer } = await pair()
    const order: string[] = []
    const theirs = exchangeAsServer(wire, [address], 1, () => order.push('connected'))
    peer.write(golden)
    await read(peer, 52)
    order.push('answered')
    peer.write('done\0')
    expect(await theirs).toEqual([address])
    expect(order).toEqual(['connected', 'answered'])
  })

  it('of srq always carries 256 records, of which those of the queue pairs count', async () => {
    const { wire, peer } = await pair()
    const theirs = exchangeAsServer(wire, [address, address], 256, () => {})
    // What the originals leave uninitialised may hold anything.
    peer.write(golden.repeat(2) + '\u0001'.repeat(254 * 52))
    const answer = await read(peer, 256 * 52)
    expect(answer.slice(0, 104)).toBe(golden.repeat(2))
    expect(answer.slice(104, 156)).toBe('0000:000000:000000:00000000000000000000000000000000\0')
    peer.write('done\0')
    expect(await theirs).toEqual([address, address])
  })

  it.each([
    ['another protocol', 'GET / HTTP/1.0\r\nHost: somebody.who.is.lost.example\r\n\r\n', /"GET .*another program/],
    ['a record that is cut short', golden.slice(0, 20), /gone before it sent its address.*it sent 20 bytes/],
  ])('refuses %s', async (_, text, message) => {
    const { wire, peer } = await pair()
    const theirs = exchangeAsServer(wire, [address], 1, () => {})
    peer.end(text)
    await expect(theirs).rejects.toThrow(message)
  })
})
