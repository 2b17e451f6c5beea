import { expect, test } from 'vitest'
import { makePair, settle } from './pair.ts'

test('bytes arrive in order, through many times the buffer', () => {
  const pair = makePair()
  const { a, b } = pair
  const out = new Uint8Array(1_000_003).map((_, i) => (i * 31 + (i >> 8)) & 0xff)
  const into = new Uint8Array(out.length)
  let sent = 0
  let got = 0
  for (let turn = 0; got < out.length; turn++) {
    expect(turn).toBeLessThan(10_000)
    sent += a.connection.send(out, sent, out.length - sent)
    b.connection.process()
    got += b.connection.recv(into, got, into.length - got)
    a.connection.process()
  }
  expect(Buffer.compare(out, into)).toBe(0)
  settle(a, b)
  expect(a.connection.error).toBe(0)
  expect(b.connection.error).toBe(0)
  pair.close()
})
