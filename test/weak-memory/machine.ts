/**
 * A machine with weak memory, and all that a few threads can do on it: every execution of small programs is tried. It is what
 * the ARMv8 architecture permits (multi-copy atomic: all threads see one order of stores), where JavaScript's atomics become
 * load-acquire and store-release:
 *
 *     store          becomes visible some time later, before or after the thread's other stores to other words
 *     atomic store   after everything that the thread did before; what it does later may come first
 *     load           may have been executed early: any value that the word has had since the thread's last acquire
 *     atomic load    the value now, after the thread's atomic stores; later loads come after it, earlier ones need not have
 *     exchange       all that came before is done; as a pair of exclusive load and store, between which later loads may come
 *     wait, wake     a futex: a system call, before which everything is done
 *
 * A program is a generator that yields operations and is given what they load. `late` begins a load whose value is used later, by
 * `result`: an earlier load that need not be done before an acquire.
 */

export type Operation =
  | { readonly kind: 'load' | 'atomicLoad' | 'late' | 'wake'; readonly word: string }
  | { readonly kind: 'store' | 'atomicStore' | 'wait'; readonly word: string; readonly value: number }
  | { readonly kind: 'exchange'; readonly word: string; readonly next: (value: number) => number }
  | { readonly kind: 'result'; readonly of: number }

/** The numbers that it returns, if it does, are for `Options.finally`. */
export type Program = () => Generator<Operation, unknown, number>

export const load = (word: string): Operation => ({ kind: 'load', word })
export const store = (word: string, value: number): Operation => ({ kind: 'store', word, value })
export const atomicLoad = (word: string): Operation => ({ kind: 'atomicLoad', word })
export const atomicStore = (word: string, value: number): Operation => ({ kind: 'atomicStore', word, value })
/** Gives the value that the word had: Atomics.exchange, add, compareExchange. */
export const exchange = (word: string, next: (value: number) => number): Operation => ({ kind: 'exchange', word, next })
export const compareExchange = (word: string, expected: number, value: number): Operation =>
  exchange(word, (had) => (had === expected ? value : had))
/** Begins a load; gives a handle for `result`. */
export const late = (word: string): Operation => ({ kind: 'late', word })
export const result = (of: number): Operation => ({ kind: 'result', of })
/** Blocks while the word is `value`, until somebody wakes it; gives 1 if it has slept. */
export const wait = (word: string, value: number): Operation => ({ kind: 'wait', word, value })
export const wake = (word: string): Operation => ({ kind: 'wake', word })

/** A store that is not visible yet. `atomic`: all before it comes first. `loads`: how many late loads were begun before. */
interface Pending {
  readonly word: string
  readonly value: number
  readonly atomic: boolean
  readonly loads: number
}

interface LateLoad {
  readonly word: string
  /** The time from which on it may be executed. */
  readonly from: number
  value: number | null
}

interface Thread {
  /** What the program was given so far: it says all about where the program is. */
  readonly given: number[]
  readonly pending: Pending[]
  readonly late: LateLoad[]
  /** No load is executed before this time: that of the last acquire. */
  floor: number
  /** The time from which on a word may be read, because a later value was read before. */
  readonly seen: Record<string, number>
  /** The first half of an exchange is done, at this time. */
  exclusive: number | null
  asleep: string | null
}

/** Each word has had these values, each from a time on. */
type Memory = Record<string, [time: number, value: number][]>

interface State {
  time: number
  memory: Memory
  threads: Thread[]
}

export interface Outcome {
  /** Executions that are different in something. */
  readonly states: number
  /** What ended all wrong: an error of a program, a thread that sleeps for ever, or what `finally` says. */
  readonly violations: readonly string[]
}

export interface Options {
  /** Words that are not 0 at the start. */
  readonly words?: Readonly<Record<string, number>>
  /** Looks at the words, and what the programs returned, when all threads have ended; throws if they are wrong. */
  readonly finally?: (words: (word: string) => number, returned: readonly (readonly number[])[]) => void
}

/** Tries all executions of some threads. */
export function explore(programs: readonly Program[], options: Options = {}): Outcome {
  const memory: Memory = {}
  for (const [word, value] of Object.entries(options.words ?? {})) memory[word] = [[0, value]]
  const thread = (): Thread => ({ given: [], pending: [], late: [], floor: 0, seen: {}, exclusive: null, asleep: null })
  const stack: State[] = [{ time: 0, memory, threads: programs.map(thread) }]
  const known = new Set<string>()
  const violations = new Set<string>()
  while (stack.length > 0) {
    const state = stack.pop()!
    const key = keyOf(state)
    if (known.has(key)) continue
    known.add(key)
    let moves = 0
    for (let t = 0; t < programs.length; t++) {
      for (const next of commits(state, t)) {
        stack.push(next)
        moves++
      }
      try {
        for (const next of steps(state, t, programs[t]!)) {
          stack.push(next)
          moves++
        }
      } catch (error) {
        violations.add(`thread ${t}: ${(error as Error).message}`)
      }
    }
    if (moves > 0) continue
    const asleep = state.threads.findIndex((thread) => thread.asleep !== null)
    if (asleep >= 0) violations.add(`thread ${asleep} sleeps for ever on ${state.threads[asleep]!.asleep}`)
    const ends = state.threads.map(({ given }, t) => ended(programs[t]!, given))
    if (asleep >= 0 || ends.includes(undefined)) continue
    try {
      options.finally?.((word) => now(state, word), ends as number[][])
    } catch (error) {
      violations.add(`at the end: ${(error as Error).message}`)
    }
  }
  return { states: known.size, violations: [...violations] }
}

/** Times are only compared: two states in which the same came in the same order are one. */
function keyOf(state: State): string {
  return JSON.stringify([state.memory, state.threads])
}

/** A copy of which the memory and the thread `t` may be changed. */
function copyOf(state: State, t: number): State {
  const { given, pending, late, floor, seen, exclusive, asleep } = state.threads[t]!
  const own = { given: [...given], pending: [...pending], late: late.map((each) => ({ ...each })) }
  const threads = state.threads.with(t, { ...own, floor, seen: { ...seen }, exclusive, asleep })
  return { time: state.time, memory: { ...state.memory }, threads }
}

/** The numbers that a program has returned; undefined if it has not ended. */
function ended(program: Program, given: readonly number[]): readonly number[] | undefined {
  try {
    const { done, value } = at(program, given)
    return done === true ? ((value ?? []) as number[]) : undefined
  } catch {
    return undefined
  }
}

/** Where a program is after it was given these values. */
function at(program: Program, given: readonly number[]): IteratorResult<Operation, unknown> {
  const run = program()
  let step = run.next()
  for (const value of given) step = run.next(value)
  return step
}

function now(state: State, word: string): number {
  return state.memory[word]?.at(-1)?.[1] ?? 0
}

function write(state: State, t: number, word: string, value: number): void {
  state.memory[word] = [...(state.memory[word] ?? [[0, 0]]), [++state.time, value]]
  state.threads[t]!.seen[word] = state.time
}

/** What becomes visible next of the stores of a thread. */
function* commits(state: State, t: number): Generator<State> {
  const { pending, late } = state.threads[t]!
  for (const [at, store] of pending.entries()) {
    const before = pending.slice(0, at)
    if (store.atomic ? before.length > 0 : before.some(({ word }) => word === store.word)) continue
    if (store.atomic && late.slice(0, store.loads).some(({ value }) => value === null)) {
      // Its loads come first.
      yield* executions(state, t, store.loads)
      continue
    }
    const next = copyOf(state, t)
    next.threads[t]!.pending.splice(at, 1)
    write(next, t, store.word, store.value)
    yield next
  }
}

/** Executes the first of the late loads below `count` that has not been. */
function* executions(state: State, t: number, count: number): Generator<State> {
  const { late } = state.threads[t]!
  const at = late.findIndex(({ value }, index) => value === null && index < count)
  for (const [value] of readable(state, t, late[at]!.word, late[at]!.from)) {
    const next = copyOf(state, t)
    next.threads[t]!.late[at]!.value = value
    yield next
  }
}

/** The values that a load may give if it was executed at `from` or later, each with the time of its store. */
function* readable(state: State, t: number, word: string, from: number): Generator<[value: number, time: number]> {
  const { pending, seen } = state.threads[t]!
  const own = pending.findLast((store) => store.word === word)
  if (own !== undefined) {
    yield [own.value, -1]
    return
  }
  const history = state.memory[word] ?? [[0, 0]]
  const earliest = Math.max(from, seen[word] ?? 0)
  for (const [index, [time, value]] of history.entries()) {
    const until = history[index + 1]?.[0] ?? Number.POSITIVE_INFINITY
    if (until > earliest) yield [value, time]
  }
}

/** What a thread may do next; nothing if it has ended, sleeps, or has to wait for its own stores. */
function* steps(state: State, t: number, program: Program): Generator<State> {
  const thread = state.threads[t]!
  if (thread.asleep !== null) return
  const step = at(program, thread.given)
  if (step.done === true) return
  const operation = step.value
  /** The state after it gave `value`. */
  const after = (value: number, change?: (next: State, own: Thread) => void): State => {
    const next = copyOf(state, t)
    const own = next.threads[t]!
    change?.(next, own)
    own.given.push(value)
    own.exclusive = null
    return next
  }
  const idle = thread.pending.length === 0 && thread.late.every(({ value }) => value !== null)
  switch (operation.kind) {
    case 'store':
    case 'atomicStore':
      if (thread.late.some(({ word, value }) => word === operation.word && value === null))
        throw new Error('a store behind a late load of the same word: the machine does not know this case')
      yield after(0, (_, own) => {
        const { word, value } = operation
        own.pending.push({ word, value, atomic: operation.kind === 'atomicStore', loads: own.late.length })
      })
      return
    case 'load':
      for (const [value, time] of readable(state, t, operation.word, thread.floor))
        yield after(value, (_, own) => {
          if (time >= 0) own.seen[operation.word] = Math.max(own.seen[operation.word] ?? 0, time)
        })
      return
    case 'atomicLoad':
      if (thread.pending.some(({ atomic, word }) => atomic || word === operation.word)) return
      yield after(now(state, operation.word), (next, own) => {
        own.floor = next.time
      })
      return
    case 'late':
      yield after(thread.late.length, (_, own) => {
        own.late.push({ word: operation.word, from: own.floor, value: null })
      })
      return
    case 'result': {
      const { value, word, from } = thread.late[operation.of]!
      if (value !== null) yield after(value)
      else
        for (const [read] of readable(state, t, word, from))
          yield after(read, (_, own) => {
            own.late[operation.of]!.value = read
          })
      return
    }
    case 'exchange': {
      if (!idle) {
        if (thread.pending.length === 0) yield* executions(state, t, thread.late.length)
        return
      }
      if (thread.exclusive === null) {
        const next = copyOf(state, t)
        next.threads[t]!.exclusive = state.time
        yield next
        return
      }
      const had = now(state, operation.word)
      const value = operation.next(had)
      const lastTime = state.memory[operation.word]?.at(-1)?.[0] ?? 0
      // The store fails if the word has changed since the load, and both are done again.
      const read = lastTime > thread.exclusive ? state.time : thread.exclusive
      yield after(had, (next, own) => {
        own.floor = Math.max(own.floor, read)
        if (value !== had) write(next, t, operation.word, value)
      })
      return
    }
    case 'wait':
      if (!idle) return
      if (now(state, operation.word) !== operation.value)
        yield after(0, (next, own) => {
          own.floor = next.time
        })
      else
        yield after(1, (next, own) => {
          own.floor = next.time
          own.asleep = operation.word
        })
      return
    case 'wake':
      if (!idle) return
      yield after(0, (next, own) => {
        own.floor = next.time
        for (const [index, each] of next.threads.entries())
          if (each.asleep === operation.word) next.threads[index] = { ...each, asleep: null, floor: next.time }
      })
  }
}
