import { expect, test } from 'vitest'
import { Link, type LinkOwner } from '../../src/node/base/link.ts'
import type { RSocketLike } from '../../src/rsocket/index.ts'

const owner: LinkOwner = { received: () => true, ended() {}, failed() {}, active() {} }

/** A link over a socket that takes all, and what it was told to send and to set. */
function linkWithRecord(): { link: Link; sent: string[]; set: number[] } {
  const sent: string[] = []
  const set: number[] = []
  const take = (bytes: Uint8Array): number => {
    sent.push(Buffer.from(bytes).toString())
    return bytes.length
  }
  const socket = {
    send: take,
    sendv: (all: Uint8Array[]) => all.reduce((sum, bytes) => sum + take(bytes), 0),
    setsockopt: (_level: number, _name: number, value: number) => set.push(value) * 0,
  }
  return { link: new Link(socket as unknown as RSocketLike, owner), sent, set }
}

test('short chunks of one write leave as one message, long ones each as its own', () => {
  const { link, sent } = linkWithRecord()
  let written = 0
  const done = (errno: number): void => {
    expect(errno).toBe(0)
    written++
  }
  link.write([Buffer.from('head'), Buffer.alloc(0), Buffer.from('body')], done)
  expect(sent.splice(0)).toEqual(['headbody'])
  const long = 'x'.repeat(3000)
  link.write([Buffer.from('head'), Buffer.alloc(0), Buffer.from(long)], done)
  expect(sent.splice(0)).toEqual(['head', long])
  link.write([Buffer.alloc(0), Buffer.alloc(0)], done)
  expect(sent).toEqual([])
  expect([written, link.bytesWritten]).toEqual([3, 8 + 3004])
})

test('keepalives that are set as they are, as HTTP clients do after each request, do not touch the socket', () => {
  const { link, set } = linkWithRecord()
  link.setKeepAlive(true, 5)
  const once = set.length
  expect(once).toBeGreaterThan(0)
  link.setKeepAlive(true, 5)
  expect(set.length).toBe(once)
  link.setKeepAlive(true, 6)
  expect(set.length).toBe(2 * once)
})
