/**
 * How many switches between threads one request and its response take, where nobody polls: both ends on one core. src/node/README.md
 * draws who runs when. The fewest of some rounds count: what the machine does besides only adds.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/memory/index.ts'
import { startable } from '../../entries.ts'
import { loopbackDevice } from '../../loopback.ts'

const requests = 300
/** Rounds at least, and as long as the fewest are too many. */
const rounds = 5
const mostRounds = 25
const addressOf = (device: string): string => device.slice('roce:'.length)

const { file, execArgv } = startable(new URL('./switches.process.ts', import.meta.url))
const heard = async <T>(child: ChildProcess): Promise<T> => (await once(child, 'message'))[0] as T

async function start(...args: string[]): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(file, args, { execArgv })
  const gone = once(child, 'exit').then(() => {
    throw new Error(`the ${args[0]} has ended`)
  })
  const { port } = await Promise.race([heard<{ port: number }>(child), gone])
  gone.catch(() => {})
  return { child, port }
}

interface Switches {
  waited: number
  putAside: number
}

async function switchesOf(child: ChildProcess, ask: number): Promise<Switches> {
  const answer = heard<Switches>(child)
  child.send({ ask })
  return await answer
}

/** Of the processes that these arguments start, the last of which asks; its first argument after HOST is the port of the first. */
const sumOf = ({ waited, putAside }: Switches): number => waited + putAside
/** Whether a thread waits more often, or is put aside more often, than the limit says: a kernel may put each aside that wakes another. */
const isOver = ({ waited, putAside }: Switches, limit: number): boolean => waited >= limit || putAside >= limit

async function perRequest(ends: readonly (readonly string[])[], limit: number): Promise<Switches> {
  const children: ChildProcess[] = []
  try {
    let port = 0
    for (const args of ends) {
      const started = await start(...args.map((word) => (word === 'PORT' ? String(port) : word)))
      port = started.port
      children.push(started.child)
    }
    const asks = children.at(-1)!
    const all = async (ask: number): Promise<Switches> => {
      const sum = { waited: 0, putAside: 0 }
      // The one that asks comes last, and then the other one has answered.
      for (const child of [asks, ...children.slice(0, -1)]) {
        const { waited, putAside } = await switchesOf(child, child === asks ? ask : 0)
        sum.waited += waited
        sum.putAside += putAside
      }
      return sum
    }
    await all(requests)
    let least: Switches = { waited: Number.POSITIVE_INFINITY, putAside: 0 }
    for (let round = 0; round < rounds || (round < mostRounds && isOver(least, limit)); round++) {
      const before = await all(0)
      const after = await all(requests)
      const one = {
        waited: (after.waited - before.waited) / requests,
        putAside: (after.putAside - before.putAside) / requests,
      }
      if (sumOf(one) < sumOf(least)) least = one
    }
    return least
  } finally {
    for (const child of children) {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    }
  }
}

const [one, two] = [loopbackDevice(1), loopbackDevice(2)]
const [here, there] = [addressOf(one), addressOf(two)]
const shm = `shm:switches-${process.pid}`
const cases = {
  'TCP, two processes': [
    ['server', 'tcp', '127.0.0.1'],
    ['client', 'tcp', '127.0.0.1', 'PORT'],
  ],
  'shm, one thread': [['both', shm, '127.0.0.1']],
  'shm, two threads': [['threads', shm, '127.0.0.1']],
  'shm, two processes': [
    ['server', shm, '127.0.0.1'],
    ['client', shm, '127.0.0.1', 'PORT'],
  ],
  'roce, one thread': [['both', one, here]],
  'roce, two threads on one adapter': [['threads', one, here]],
  'roce, two processes on one adapter': [
    ['server', one, here],
    ['client', one, here, 'PORT'],
  ],
  'roce, two processes, each with an adapter': [
    ['server', two, there],
    ['client', one, there, 'PORT'],
  ],
  // The kernel signals a packet to two of the event loops that wait on its adapter.
  'roce, a third process that waits on the adapter of one': [
    ['server', two, there],
    ['client', one, there, 'PORT'],
    ['client', one, there, 'PORT'],
  ],
} as const satisfies Record<string, readonly (readonly string[])[]>

it.skipIf(!nativeAvailable).for(Object.entries(cases))('%s', { timeout: 120_000 }, async ([name, ends]) => {
  // A thread that is both ends waits for nobody; otherwise each end waits once, as over TCP, and other programs of this machine add to it.
  // A third process that waits on the adapter is signalled the packets to it, too.
  const limit = name.includes('one thread') ? 0.5 : name.includes('third process') ? 5 : 3
  const found = await perRequest(ends, limit)
  const { waited, putAside } = found
  console.log(`${name}: a request and its response take ${waited.toFixed(2)} + ${putAside.toFixed(2)} switches`)
  expect(isOver(found, limit)).toBe(false)
})
