/**
 * The protocols by which threads share rings, doorbells, locks and waits, as src/ has them for processors that reorder (arm64:
 * `processorOrders` is false), on a machine that does. Each comes with the weaker form that would be enough on x86, or nearly: the
 * machine has to find what that form loses, or the model is too small to say anything.
 */
import { describe, expect, it } from 'vitest'
import {
  atomicLoad,
  atomicStore,
  compareExchange,
  exchange,
  explore,
  late,
  load,
  type Operation,
  type Options,
  type Program,
  result,
  store,
  wait,
  wake,
} from './machine.ts'

function holds(programs: readonly Program[], options?: Options): void {
  expect(explore(programs, options).violations).toEqual([])
}

function fails(what: RegExp, programs: readonly Program[], options?: Options): void {
  expect(explore(programs, options).violations.join('; ')).toMatch(what)
}

function check(is: number, expected: number, what: string): void {
  if (is !== expected) throw new Error(`${what} is ${is}, not ${expected}`)
}

/** Spins until a word has a value: one look in the model, after which a thread that saw nothing gives up. */
type Look = typeof load

// CompletionQueueObject.poll, Host.commit: a ring of one entry. `word` and `sequence` of the entry, `tail` of the CQ; a completion
// names bytes of a buffer that were copied before.
describe('completion ring', () => {
  const producer = (publish: typeof store, look: Look): Program =>
    function* () {
      for (let head = 0; head < 2; head++) {
        // The ring is full until the entry was polled.
        if (head === 1 && (yield look('tail')) !== 1) return
        yield store('bytes', 10 + head)
        yield store('word', 20 + head)
        yield publish('sequence', head + 1)
      }
    }
  const consumer = (look: Look, give: typeof store): Program =>
    function* () {
      for (let tail = 0; tail < 2; tail++) {
        if ((yield look('sequence')) !== tail + 1) return
        const word = yield late('word')
        check(yield load('bytes'), 10 + tail, 'the byte')
        if (give === store) {
          // Nothing waits for the entry's words to be read.
          yield give('tail', tail + 1)
          check(yield result(word), 20 + tail, 'the word')
        } else {
          check(yield result(word), 20 + tail, 'the word')
          yield give('tail', tail + 1)
        }
      }
    }

  it('an entry is whole when it shows, and is written again only when it was read', () =>
    holds([producer(atomicStore, atomicLoad), consumer(atomicLoad, atomicStore)]))
  it('not if its sequence is stored plainly', () =>
    fails(/byte|word/, [producer(store, atomicLoad), consumer(atomicLoad, atomicStore)]))
  it('nor if it is loaded plainly', () =>
    fails(/byte|word/, [producer(atomicStore, atomicLoad), consumer(load, atomicStore)]))
  it('nor if the entry is given back plainly', () =>
    fails(/word/, [producer(atomicStore, atomicLoad), consumer(atomicLoad, store)]))
})

// Host.commit and fireIfArmed; CompletionQueueObject.reqNotify, and then the poll that every program has to make.
describe('arming a completion queue', () => {
  const completes = (look: Look): Program =>
    function* () {
      yield atomicStore('sequence', 1)
      yield atomicStore('lock', 0)
      const armed = yield look('armed')
      if (armed === 2 && (yield compareExchange('armed', armed, 3)) === armed) {
        yield exchange('event', (n) => n + 1)
        yield compareExchange('armed', 3, 0)
        yield wake('event')
      }
    }
  const waits: Program = function* () {
    yield atomicStore('armed', 2)
    if ((yield atomicLoad('sequence')) === 1) return
    yield wait('event', 0)
  }

  it('either the poll sees the completion, or the completion makes an event', () =>
    holds([completes(atomicLoad), waits]))
  it('not if the word is looked at plainly: a store is no barrier', () =>
    fails(/thread 1 sleeps for ever/, [completes(load), waits]))
})

// QueuePairObject.postSend, Transport.ring and #serveDoorbells; Requester and Datagrams read the send queue without its lock.
describe('send queue and doorbell', () => {
  const posts = (publish: typeof store): Program =>
    function* () {
      yield store('entry', 7)
      yield publish('sqHead', 1)
      if ((yield exchange('rung', () => 1)) === 1) return
      yield store('slot', 1)
      yield atomicStore('doorbellTail', 1)
    }
  /** One that serves the queue anyway: for an acknowledgement, or a doorbell that was rung before. */
  const drives: Program = function* () {
    const done: number[] = []
    const serve = function* (): Generator<Operation, void, number> {
      if (done.length === 0 && (yield atomicLoad('sqHead')) === 1) {
        check(yield load('entry'), 7, 'the request')
        done.push(1)
      }
    }
    yield* serve()
    if ((yield atomicLoad('doorbellTail')) === 1) {
      check(yield load('slot'), 1, 'the slot of the doorbell')
      yield atomicStore('rung', 0)
      yield* serve()
      check(done.length, 1, 'what a doorbell was rung for')
    }
  }

  it('a request is whole when it shows, and none is left for which the doorbell was rung', () =>
    holds([posts(atomicStore), drives]))
  it('not if the head is stored plainly', () => fails(/the request is 0/, [posts(store), drives]))
})

// Clearing `rung` before the queue is read, and posting before ringing: a post that finds it set leaves it to that one.
describe('a doorbell that was rung already', () => {
  const posts: Program = function* () {
    yield atomicStore('sqHead', 2)
    return [yield exchange('rung', () => 1)]
  }
  const drives = (look: Look): Program =>
    function* () {
      yield atomicStore('rung', 0)
      return [yield look('sqHead')]
    }
  const start: Options = {
    words: { rung: 1, sqHead: 1 },
    finally: (_, [rung, head]) => {
      if (rung![0] === 1) check(head![0]!, 2, 'the head of the queue, whose doorbell is not rung again,')
    },
  }

  it('is served with what is posted now', () => holds([posts, drives(atomicLoad)], start))
  it('not if the head is looked at plainly', () => fails(/the head of the queue/, [posts, drives(load)], start))
})

// QueuePairObject.postRecv and Waiting.#awaitReceive; the SRQ's is the same with a list for the word.
describe('a receive for one who waits', () => {
  const posts = (look: Look): Program =>
    function* () {
      yield atomicStore('rqHead', 1)
      yield atomicStore('rqPostLock', 0)
      if ((yield look('rqWaiting')) !== 0 && (yield exchange('rqWaiting', () => 0)) !== 0) yield wake('rqWaiting')
    }
  const sends: Program = function* () {
    yield atomicStore('rqWaiting', 5)
    if ((yield atomicLoad('rqHead')) !== 0) return
    yield wait('rqWaiting', 5)
  }

  it('either the sender sees the receive, or its poster sees the sender', () => holds([posts(atomicLoad), sends]))
  it('not if the poster looks plainly', () => fails(/thread 1 sleeps for ever/, [posts(load), sends]))
})

// ShmFastPath.locked and Receives.consume; postRecv writes the place of a receive again when it was given back.
describe('receive ring', () => {
  const sends = (give: typeof store): Program =>
    function* () {
      const id = yield late('wrId')
      if (give === store) yield give('rqTail', 1)
      check(yield result(id), 3, 'the wr_id of the receive')
      if (give !== store) yield give('rqTail', 1)
    }
  const posts: Program = function* () {
    if ((yield atomicLoad('rqTail')) === 1) yield store('wrId', 4)
  }
  const start: Options = { words: { wrId: 3 } }

  it('a place is given back when its receive was read', () => holds([sends(atomicStore), posts], start))
  it('not by a plain store', () => fails(/the wr_id/, [sends(store), posts], start))
})

// Host.breakQp and flushReceives; QueuePairObject.postRecv, which flushes what it posted if the queue pair is in ERR.
describe('a receive that is posted while the queue pair breaks', () => {
  const posts = (look: Look): Program =>
    function* () {
      yield atomicStore('rqHead', 1)
      yield atomicStore('rqPostLock', 0)
      if ((yield look('state')) === 6) yield atomicStore('flushed', 1)
    }
  const breaks: Program = function* () {
    yield compareExchange('state', 3, 6)
    if ((yield atomicLoad('rqHead')) === 1) yield atomicStore('flushed', 1)
  }
  const start: Options = { words: { state: 3 }, finally: (word) => check(word('flushed'), 1, 'what was flushed') }

  it('is flushed by one of both', () => holds([posts(atomicLoad), breaks], start))
  it('not if its poster looks plainly', () => fails(/what was flushed/, [posts(load), breaks], start))
})

// Segment.lock and unlock.
describe('lock', () => {
  const adds = (release: typeof store): Program =>
    function* () {
      if ((yield compareExchange('lock', 0, 1)) !== 0) return [0]
      const value = yield load('count')
      yield store('count', value + 1)
      yield release('lock', 0)
      return [1]
    }
  const all: Options = {
    finally: (word, returned) =>
      check(
        word('count'),
        returned.flat().reduce((a, b) => a + b, 0),
        'the count',
      ),
  }

  it('protects what it is for', () => holds([adds(atomicStore), adds(atomicStore)], all))
  it('not if it is released by a plain store', () => fails(/the count/, [adds(store), adds(store)], all))
})

// Parking.park and wake: the word that somebody waits for is changed before.
describe('parking', () => {
  const changes = (take: 'exchange' | 'load'): Program =>
    function* () {
      yield exchange('word', () => 1)
      const parked = take === 'exchange' ? yield exchange('parked', () => 0) : yield load('parked')
      if (parked === 1) yield wake('parked')
    }
  const parks = (look: Look): Program =>
    function* () {
      yield atomicStore('parked', 1)
      if ((yield look('word')) === 0) yield wait('parked', 1)
      yield atomicStore('parked', 0)
    }

  it('nobody sleeps on what has changed', () => holds([changes('exchange'), parks(atomicLoad)]))
  it('not if one who parks looks plainly', () => fails(/thread 1 sleeps/, [changes('exchange'), parks(load)]))
  it('nor if the other looks plainly whether it parked', () =>
    fails(/thread 1 sleeps/, [changes('load'), parks(atomicLoad)]))
})

// Parking.beginWait, then what is waited for is looked at plainly (RoceDevice.sleep: the timers of the device); the other side is
// RoceDevice.#wakeTimekeeper after the device's lock was given back.
describe('a timer that is set while a thread begins to sleep', () => {
  const sets = (look: Look): Program =>
    function* () {
      yield store('deadline', 5)
      yield atomicStore('lock', 0)
      if ((yield look('sleeper')) === 1) yield atomicStore('woken', 1)
    }
  const sleeps = (barrier: boolean): Program =>
    function* () {
      yield compareExchange('sleeper', 0, 1)
      yield atomicStore('parked', 2)
      if (barrier) yield atomicLoad('parked')
      return [yield load('deadline')]
    }
  const end: Options = {
    finally: (word, [, deadline]) => {
      if (word('woken') === 0) check(deadline![0]!, 5, 'the deadline of one that nobody woke')
    },
  }

  it('ends its sleep, or was seen', () => holds([sets(atomicLoad), sleeps(true)], end))
  it('not if its setter looks plainly whether one sleeps', () => fails(/the deadline/, [sets(load), sleeps(true)], end))
  it('nor without a barrier before it is looked at', () =>
    fails(/the deadline/, [sets(atomicLoad), sleeps(false)], end))
})

// Segment.enterNow, leave, bumpEpoch, quiesce: what an operation remembers is void when the epoch has changed, and what it uses is
// not freed as long as it is in the operation.
describe('grace period', () => {
  const operates = (barrier: boolean, leave: typeof store): Program =>
    function* () {
      yield exchange('operation', (n) => n + 1)
      if (barrier) yield atomicLoad('operation')
      if ((yield load('epoch')) === 0) {
        const used = yield late('object')
        if (leave === store) yield leave('operation', 2)
        check(yield result(used), 1, 'the object in use')
      }
      if (leave !== store) yield leave('operation', 2)
    }
  const frees: Program = function* () {
    yield exchange('epoch', (n) => n + 1)
    if ((yield atomicLoad('operation')) % 2 === 1) return
    yield store('object', 0)
  }
  const start: Options = { words: { object: 1 } }

  it('nothing is freed that an operation uses', () => holds([operates(true, atomicStore), frees], start))
  it('not if no atomic load follows: an exchange is no barrier', () =>
    fails(/the object/, [operates(false, atomicStore), frees], start))
  it('nor if an operation is left by a plain store', () => fails(/the object/, [operates(true, store), frees], start))
})

// AttachmentTable.attach and quiesce: a thread that comes while another waits for a grace period.
describe('a grace period and a thread that attaches itself', () => {
  const attaches: Program = function* () {
    yield atomicStore('state', 1)
    yield exchange('operation', (n) => n + 1)
    yield atomicLoad('operation')
    if ((yield load('epoch')) === 0) check(yield load('object'), 1, 'the object in use')
    yield exchange('operation', (n) => n + 1)
  }
  const frees = (look: Look): Program =>
    function* () {
      yield exchange('epoch', (n) => n + 1)
      if ((yield look('state')) === 1 && (yield atomicLoad('operation')) % 2 === 1) return
      yield store('object', 0)
    }
  const start: Options = { words: { object: 1 } }

  it('nothing is freed that it uses', () => holds([attaches, frees(atomicLoad)], start))
  it('not if it is looked for plainly', () => fails(/the object/, [attaches, frees(load)], start))
})

// retireQp, and then `sweep` in another thread: what is closed says so before it is in the list, and an operation that finds it in use began
// before the list was taken.
describe('a grace period that nobody waits for', () => {
  const closes = (say: typeof store): Program =>
    function* () {
      yield say('number', 0)
      yield say('listed', 1)
    }
  const sweeps: Program = function* () {
    if ((yield atomicLoad('listed')) !== 1) return
    yield exchange('epoch', (n) => n + 1)
    if ((yield atomicLoad('operation')) % 2 === 1) return
    yield store('object', 0)
  }
  const operates = (first: boolean): Program =>
    function* () {
      const found = first ? yield load('number') : 0
      yield exchange('operation', (n) => n + 1)
      yield atomicLoad('operation')
      if (first ? found === 1 : (yield load('number')) === 1) check(yield load('object'), 1, 'the object in use')
      yield exchange('operation', (n) => n + 1)
    }
  const start: Options = { words: { number: 1, object: 1 } }

  it('nothing is reclaimed that an operation uses', () => holds([closes(atomicStore), sweeps, operates(false)], start))
  it('not if it is listed by plain stores', () => fails(/the object/, [closes(store), sweeps, operates(false)], start))
  it('nor if an operation looks before it begins', () =>
    fails(/the object/, [closes(atomicStore), sweeps, operates(true)], start))
})

// Segment.passLock: who locks a record outside of an operation looks then whether it is in use.
describe('reclaiming what a lock protects', () => {
  const locks: Program = function* () {
    if ((yield compareExchange('lock', 0, 1)) !== 0) return
    if ((yield load('ref')) === 1) check(yield load('object'), 1, 'the object in use')
    yield atomicStore('lock', 0)
  }
  const reclaims = (pass: boolean): Program =>
    function* () {
      yield atomicStore('ref', 2)
      if (pass) {
        if ((yield compareExchange('lock', 0, 2)) !== 0) return
        yield atomicStore('lock', 0)
      } else if ((yield atomicLoad('lock')) !== 0) return
      yield store('object', 0)
    }
  const start: Options = { words: { ref: 1, object: 1 } }

  it('comes after whoever had the lock, and before whoever gets it', () => holds([locks, reclaims(true)], start))
  it('not if the lock was only found free', () => fails(/the object/, [locks, reclaims(false)], start))
})

// Host.resolve, unbindWindow and bind: a window is closed, the epoch bumped, its fields written, and the window opened to the new
// key. Whoever reads looks for the epoch before and after.
describe('resolving the key of a window', () => {
  const binds: Program = function* () {
    yield store('valid', 0)
    yield exchange('epoch', (n) => n + 1)
    yield store('address', 9)
    yield store('key', 2)
    yield atomicStore('valid', 1)
  }
  const resolves = (key: number, first: Look, valid: Look, fence: boolean): Program =>
    function* () {
      const epoch = yield first('epoch')
      if ((yield load('key')) !== key || (yield valid('valid')) !== 1) return
      const address = yield late('address')
      if (fence) yield atomicStore('fence', 1)
      if ((yield atomicLoad('epoch')) === epoch && (yield atomicLoad('key')) === key)
        check(yield result(address), key === 1 ? 4 : 9, 'the address of the key')
    }
  const start: Options = { words: { key: 1, valid: 1, address: 4 } }

  it.each([1, 2])('gives the address that belongs to key %d', (key) =>
    holds([binds, resolves(key, atomicLoad, atomicLoad, true)], start),
  )
  it('not if the epoch is looked at plainly', () => fails(/the address/, [binds, resolves(2, load, load, true)], start))
  it('nor if what is read of a window may come before it is valid', () =>
    fails(/the address/, [binds, resolves(2, atomicLoad, load, true)], start))
  it('nor without a barrier at the end: an atomic load does not wait for those before it', () =>
    fails(/the address/, [binds, resolves(1, atomicLoad, atomicLoad, false)], start))
})
