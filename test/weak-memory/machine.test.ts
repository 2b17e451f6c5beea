/** The machine permits and forbids what the ARMv8 architecture does: the litmus tests that everybody uses. */
import { describe, expect, it } from 'vitest'
import {
  atomicLoad,
  atomicStore,
  compareExchange,
  exchange,
  explore,
  late,
  load,
  type Program,
  result,
  store,
  wait,
  wake,
} from './machine.ts'

/** What the programs return, in all executions. */
function outcomes(...programs: Program[]): Set<string> {
  const found = new Set<string>()
  const { violations } = explore(programs, {
    finally: (_, returned) => {
      found.add(returned.flat().join(','))
    },
  })
  expect(violations).toEqual([])
  return found
}

describe('message passing', () => {
  it('plain stores and loads come in any order', () => {
    const found = outcomes(
      function* () {
        yield store('data', 1)
        yield store('flag', 1)
      },
      function* () {
        return [yield load('flag'), yield load('data')]
      },
    )
    expect(found).toEqual(new Set(['0,0', '0,1', '1,0', '1,1']))
  })

  it('an atomic store alone does not order the loads', () => {
    const found = outcomes(
      function* () {
        yield store('data', 1)
        yield atomicStore('flag', 1)
      },
      function* () {
        return [yield load('flag'), yield load('data')]
      },
    )
    expect(found).toContain('1,0')
  })

  it('an atomic load alone does not order the stores', () => {
    const found = outcomes(
      function* () {
        yield store('data', 1)
        yield store('flag', 1)
      },
      function* () {
        return [yield atomicLoad('flag'), yield load('data')]
      },
    )
    expect(found).toContain('1,0')
  })

  it('both together do', () => {
    const found = outcomes(
      function* () {
        yield store('data', 1)
        yield atomicStore('flag', 1)
      },
      function* () {
        return [yield atomicLoad('flag'), yield load('data')]
      },
    )
    expect(found).toEqual(new Set(['0,0', '0,1', '1,1']))
  })
})

describe('store buffering', () => {
  const both = (first: typeof store, then: typeof load): Set<string> =>
    outcomes(
      function* () {
        yield first('x', 1)
        return [yield then('y')]
      },
      function* () {
        yield first('y', 1)
        return [yield then('x')]
      },
    )

  it('plain: both threads may miss the other', () => expect(both(store, load)).toContain('0,0'))
  it('an atomic store is no barrier for a plain load after it', () => expect(both(atomicStore, load)).toContain('0,0'))
  it('a plain store is none for an atomic load', () => expect(both(store, atomicLoad)).toContain('0,0'))
  it('with atomics on both sides one sees the other', () => expect(both(atomicStore, atomicLoad)).not.toContain('0,0'))

  it('an exchange is no barrier for a plain load after it: its store may come last', () => {
    const half = (own: string, other: string): Program =>
      function* () {
        yield exchange(own, () => 1)
        return [yield load(other)]
      }
    expect(outcomes(half('x', 'y'), half('y', 'x'))).toContain('0,0')
  })

  it('an exchange and an atomic load are one', () => {
    const half = (own: string, other: string): Program =>
      function* () {
        yield exchange(own, () => 1)
        return [yield atomicLoad(other)]
      }
    expect(outcomes(half('x', 'y'), half('y', 'x'))).not.toContain('0,0')
  })
})

describe('load buffering', () => {
  const half = (from: string, to: string, last: typeof store): Program =>
    function* () {
      const read = yield late(from)
      yield last(to, 1)
      return [yield result(read)]
    }

  it('a load may be executed after a plain store', () =>
    expect(outcomes(half('x', 'y', store), half('y', 'x', store))).toContain('1,1'))
  it('but not after an atomic one', () =>
    expect(outcomes(half('x', 'y', atomicStore), half('y', 'x', atomicStore))).not.toContain('1,1'))

  it('a load may be executed after an atomic load', () => {
    const found = outcomes(
      function* () {
        yield atomicStore('version', 1)
        yield store('data', 1)
      },
      function* () {
        const read = yield late('data')
        return [yield atomicLoad('version'), yield result(read)]
      },
    )
    expect(found).toContain('0,1')
  })
})

describe('one word', () => {
  it('has one order of values, which nobody sees backwards', () => {
    const found = outcomes(
      function* () {
        yield store('x', 1)
        yield store('x', 2)
      },
      function* () {
        return [yield load('x'), yield load('x')]
      },
    )
    for (const seen of found) expect(['0,0', '0,1', '0,2', '1,1', '1,2', '2,2']).toContain(seen)
  })

  it('a thread sees its own stores', () => {
    const found = outcomes(function* () {
      yield store('x', 1)
      return [yield load('x')]
    })
    expect(found).toEqual(new Set(['1']))
  })

  it('of two that compare and exchange one wins', () => {
    const take: Program = function* () {
      return [yield compareExchange('lock', 0, 7)]
    }
    expect(outcomes(take, take)).toEqual(new Set(['0,7', '7,0']))
  })
})

describe('a futex', () => {
  const waits: Program = function* () {
    if ((yield atomicLoad('word')) === 0) yield wait('word', 0)
  }

  it('wakes who waits', () => {
    const { violations } = explore([
      waits,
      function* () {
        yield atomicStore('word', 1)
        yield wake('word')
      },
    ])
    expect(violations).toEqual([])
  })

  it('that nobody wakes is found', () => {
    const { violations } = explore([
      waits,
      function* () {
        yield atomicStore('word', 1)
      },
    ])
    expect(violations).toEqual(['thread 0 sleeps for ever on word'])
  })
})

it('what a program throws is a violation, once', () => {
  const wrong: Program = function* () {
    if ((yield load('x')) === 1) throw new Error('one')
  }
  const sets: Program = function* () {
    yield store('x', 1)
  }
  expect(explore([wrong, sets]).violations).toEqual(['thread 0: one'])
})
