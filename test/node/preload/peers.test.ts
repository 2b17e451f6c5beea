/** What is remembered of addresses that answered over RDMA, and that did not. */
import { expect, it } from 'vitest'
import { Peers } from '../../../src/node/preload/peers.ts'

it('an address that does not answer is left alone, longer each time, until it answers', () => {
  const peers = new Peers()
  let now = 1000
  for (const silenceMs of [2000, 4000, 8000, 16_000, 30_000, 30_000]) {
    peers.silent('10.0.0.7', now, now + 10)
    expect(peers.leftAloneFor('10.0.0.7', now + 10)).toBe(0)
    expect(peers.leftAloneFor('10.0.0.7', now + 9 + silenceMs)).toBe(silenceMs - 1)
    expect(peers.leftAloneFor('10.0.0.8', now + 10)).toBeUndefined()
    now += 10 + silenceMs
    expect(peers.leftAloneFor('10.0.0.7', now)).toBeUndefined()
  }
  peers.silent('10.0.0.7', now, now)
  peers.answered('10.0.0.7', now + 1)
  expect([peers.leftAloneFor('10.0.0.7', now + 1), peers.hasAnswered('10.0.0.7')]).toEqual([undefined, true])
  peers.silent('10.0.0.7', now + 2, now + 2)
  expect([peers.leftAloneFor('10.0.0.7', now + 2001), peers.hasAnswered('10.0.0.7')]).toEqual([1999, false])
  expect(peers.leftAloneFor('10.0.0.7', now + 2002)).toBeUndefined()
})

it('of attempts that begin together, those without an answer do not outweigh one that has it, nor each other', () => {
  const peers = new Peers()
  peers.answered('10.0.0.7', 500)
  peers.silent('10.0.0.7', 400, 600)
  expect(peers.leftAloneFor('10.0.0.7', 600)).toBeUndefined()
  for (const startedAt of [700, 710, 720]) peers.silent('10.0.0.7', startedAt, startedAt + 250)
  expect(peers.leftAloneFor('10.0.0.7', 950 + 1999)).toBe(1999)
  expect(peers.leftAloneFor('10.0.0.7', 950 + 2000)).toBeUndefined()
})

it('as many addresses are remembered as have a limit, those that were heard of last', () => {
  const peers = new Peers()
  peers.answered('first', 0)
  for (let i = 0; i < 1100; i++) {
    if (i % 100 === 0) peers.answered('often', i)
    peers.answered(`peer ${i}`, i)
  }
  expect(peers.size).toBe(1024)
  expect(['first', 'often', 'peer 1099'].map((name) => peers.hasAnswered(name))).toEqual([false, true, true])
})
