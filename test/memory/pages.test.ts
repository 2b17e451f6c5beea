/** The allocator of pages against a simple model, also when the process that runs it is killed between any two stores. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Backing, granulePages, P, Pages, type PagesLayout, pageBytes } from '../../src/memory/pages.ts'
import { holds } from '../property.ts'

const heapPages = 6 * 1024
const first = 2 * granulePages
const end = first + heapPages
const layout: PagesLayout = { header: 0, pageTable: 16, granuleTable: 16 + end, first, end }
const tableWords = layout.granuleTable + end / granulePages

class Killed extends Error {}
class KilledInRelease extends Killed {}
class Full extends Error {}

/** The memory of a machine: which granules it has given, and which pages hold something. */
class Machine implements Backing {
  readonly i32: Int32Array
  readonly given: Uint8Array
  readonly dirty: Uint8Array
  calls = 0
  /** Granules that it can give. */
  budget = end
  /** The one who asks is killed in the middle of giving memory back. */
  killsInRelease = false

  constructor(from?: Machine) {
    this.i32 = from?.i32.slice() ?? new Int32Array(tableWords)
    this.given = from?.given.slice() ?? new Uint8Array(end / granulePages)
    this.dirty = from?.dirty.slice() ?? new Uint8Array(end)
    if (!from) Pages.format(this.i32, layout)
  }

  get givenGranules(): number {
    return this.given.reduce((sum, given) => sum + given, 0)
  }

  commit(byteOffset: number, lengthBytes: number): void {
    this.calls++
    const [from, to] = granules(byteOffset, lengthBytes)
    if (this.givenGranules + to - from > this.budget) throw new Full()
    this.given.fill(1, from, to)
  }

  release(byteOffset: number, lengthBytes: number): boolean {
    this.calls++
    const [from, to] = granules(byteOffset, lengthBytes)
    const until = this.killsInRelease ? Math.floor((from + to) / 2) : to
    this.given.fill(0, from, until)
    this.dirty.fill(0, from * granulePages, until * granulePages)
    if (this.killsInRelease) throw new KilledInRelease()
    return true
  }

  pages(): Pages {
    return new Pages(this.i32, layout, this)
  }

  /** Of a process that is killed at its store number `stores`. */
  mortalPages(stores: number): Pages {
    let left = stores
    const mortal = new Proxy(this.i32, {
      get: (words, key) => Reflect.get(words, key),
      set: (words, key, value) => {
        if (left-- === 0) throw new Killed()
        return Reflect.set(words, key, value)
      },
    })
    return new Pages(mortal, layout, this)
  }

  /** What an owner does with its pages, after it has cleared what it was told to. */
  use(at: number, pages: number, dirty: readonly number[]): void {
    for (let i = 0; i < dirty.length; i += 2) this.dirty.fill(0, dirty[i]!, dirty[i + 1]!)
    for (let page = at; page < at + pages; page++) {
      if (this.given[Math.floor(page / granulePages)] === 0) throw new Error(`page ${page} has no memory`)
      if (this.dirty[page] !== 0) throw new Error(`page ${page} is not zero`)
    }
    this.dirty.fill(1, at, at + pages)
  }
}

function granules(byteOffset: number, lengthBytes: number): [from: number, to: number] {
  const unit = granulePages * pageBytes
  expect([byteOffset % unit, lengthBytes % unit]).toEqual([0, 0])
  return [byteOffset / unit, (byteOffset + lengthBytes) / unit]
}

type Command = { take: number; owner: number } | { give: number } | { reap: number }
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      take: fc.oneof(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: heapPages }),
      ),
      owner: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ give: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ reap: fc.integer({ min: 1, max: 3 }) }) },
)

interface Run {
  readonly at: number
  readonly pages: number
  readonly owner: number
}

/** The first page of the lowest range that is large enough. */
function lowest(runs: readonly Run[], pages: number): number {
  let at = first
  for (const run of [...runs].sort((a, b) => a.at - b.at)) {
    if (run.at - at >= pages) break
    at = run.at + run.pages
  }
  return at + pages <= end ? at : -1
}

/** Carries one command out, and checks it against the runs that there are; the runs that there are then. */
function step(machine: Machine, pages: Pages, runs: readonly Run[], each: Command): Run[] {
  if ('take' in each) {
    const dirty: number[] = []
    const at = pages.allocate(each.take, each.owner, dirty)
    expect(at).toBe(lowest(runs, each.take))
    if (at < 0) return [...runs]
    machine.use(at, each.take, dirty)
    expect(pages.length(at)).toBe(each.take)
    return [...runs, { at, pages: each.take, owner: each.owner }]
  }
  if ('reap' in each) {
    pages.freeAllOf(each.reap)
    return runs.filter(({ owner }) => owner !== each.reap)
  }
  if (runs.length === 0) return []
  const gone = runs[each.give % runs.length]!
  expect(pages.free(gone.at)).toBe(gone.pages)
  expect(pages.length(gone.at)).toBe(0)
  return runs.filter((run) => run !== gone)
}

describe('pages', () => {
  it('are handed out low first, without overlap, with memory and zero; nothing is lost', () => {
    holds(
      fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
        const machine = new Machine()
        const pages = machine.pages()
        let runs: Run[] = []
        for (const each of commands) runs = step(machine, pages, runs, each)
        for (const { at, pages: length } of runs) expect(pages.length(at)).toBe(length)
        for (const run of runs) pages.free(run.at)
        // Twice is harmless.
        for (const run of runs) expect(pages.free(run.at)).toBe(0)
        // 4 MiB may stay, but not more.
        expect(machine.givenGranules).toBeLessThanOrEqual(1024 / granulePages + 1)
        step(machine, pages, [], { take: heapPages, owner: 1 })
      }),
      200,
    )
  })

  it('a process may be killed between any two stores: what it had is found, what others have stays', () => {
    let kills = 0
    holds(
      fc.property(fc.array(command, { maxLength: 20 }), command, fc.boolean(), (commands, last, inRelease) => {
        const machine = new Machine()
        let runs: Run[] = []
        for (const each of commands) runs = step(machine, machine.pages(), runs, each)
        // The one that is killed is owner 1, who frees only its own.
        const own = runs.filter(({ owner }) => owner === 1)
        const others = runs.filter(({ owner }) => owner !== 1)
        for (let stores = 0; ; stores++) {
          const after = new Machine(machine)
          after.killsInRelease = inRelease
          const pages = after.mortalPages(stores)
          let again = false
          try {
            if ('take' in last) {
              const dirty: number[] = []
              const at = pages.allocate(last.take, 1, dirty)
              if (at >= 0) after.use(at, last.take, dirty)
            } else if ('reap' in last || own.length === 0) pages.freeAllOf(1)
            else pages.free(own[last.give % own.length]!.at)
          } catch (error) {
            if (!(error instanceof Killed)) throw error
            again = !(error instanceof KilledInRelease)
            kills++
          }
          after.killsInRelease = false
          const survivor = after.pages()
          survivor.freeAllOf(1)
          for (const { at, pages: length } of others) expect(survivor.length(at)).toBe(length)
          let left: Run[] = others
          for (const each of commands) left = step(after, survivor, left, each)
          for (const { at } of left) survivor.free(at)
          step(after, survivor, [], { take: heapPages, owner: 2 })
          if (!again) break
        }
      }),
      12,
    )
    expect(kills).toBeGreaterThan(0)
  })

  it('the same memory allocated and freed again makes no system call, and takes no more than it did at first', () => {
    for (const length of [1, 16, 64, 300]) {
      const machine = new Machine()
      const pages = machine.pages()
      const turn = (): void => {
        const dirty: number[] = []
        const at = pages.allocate(length, 1, dirty)
        machine.use(at, length, dirty)
        pages.free(at)
      }
      for (let i = 0; i < 100; i++) turn()
      const { calls, givenGranules } = machine
      for (let i = 0; i < 5000; i++) turn()
      expect([machine.calls, machine.givenGranules]).toEqual([calls, givenGranules])
    }
  })

  it('where the machine has no memory left, the allocation fails and changes nothing', () => {
    const machine = new Machine()
    const pages = machine.pages()
    machine.budget = 40
    const kept = pages.allocate(30 * granulePages, 1, [])
    expect(() => pages.allocate(20 * granulePages, 1, [])).toThrow(Full)
    expect(machine.i32[layout.header + P.used]).toBe(30 * granulePages)
    expect(pages.allocate(10 * granulePages, 1, [])).toBe(kept + 30 * granulePages)
    expect(() => pages.allocate(1, 1, [])).toThrow(Full)
    pages.free(kept)
    expect(pages.allocate(30 * granulePages, 1, [])).toBe(kept)
  })
})
