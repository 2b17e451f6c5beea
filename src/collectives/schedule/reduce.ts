/** Reductions: the output of the root (reduce) or of every rank (allreduce) is the combination of all inputs. */
import { binomial as broadcastBinomial } from './broadcast.ts'
import {
  absolute,
  children,
  Place,
  parent,
  partOf,
  relative,
  type Schedule,
  ScheduleBuilder,
  type Task,
} from './schedule.ts'

const { Input, Output, Scratch } = Place

/** Returns a schedule in which the root combines the inputs in the order of relative numbers. */
export function reduceLinear(task: Task): Schedule {
  const { rank, size, root, bytes } = task
  const s = new ScheduleBuilder()
  if (rank !== root) return s.send(root, Input, 0, bytes).done()
  if (size === 1) return s.copy(Input, 0, Output, 0, bytes).done()
  for (let i = 1; i < size; i++) s.combine(absolute(task, i), Output, 0, bytes, i === 1 ? Input : Output)
  return s.done()
}

/** Returns a binomial tree up to the root. */
export function reduceBinomial(task: Task): Schedule {
  const { size, bytes } = task
  const s = new ScheduleBuilder()
  const me = relative(task)
  const below = children(me, size)
  if (me !== 0 && below.length === 0) return s.send(absolute(task, parent(me)), Input, 0, bytes).done()
  const place = me === 0 ? Output : Scratch
  if (below.length === 0) s.copy(Input, 0, place, 0, bytes)
  // The smallest subtree is ready first.
  for (const [i, child] of below.reverse().entries())
    s.combine(absolute(task, child), place, 0, bytes, i === 0 ? Input : place)
  if (me !== 0) s.next().send(absolute(task, parent(me)), place, 0, bytes)
  return s.done()
}

/**
 * Appends a ring in which each part passes all ranks once and is combined with the input of each: rank i then has part i + 1 of the result
 * in `place`, and no valid data in its other parts.
 */
function ringReduceScatter(s: ScheduleBuilder, task: Task, place: Place): void {
  const { rank, size } = task
  for (let step = 0; step < size - 1; step++) {
    const out = (rank - step + size) % size
    const into = (rank - step - 1 + size) % size
    const from = step === 0 ? Input : place
    s.next()
      .send((rank + 1) % size, from, partOf(task, out), partOf(task, out + 1) - partOf(task, out))
      .combine((rank - 1 + size) % size, place, partOf(task, into), partOf(task, into + 1) - partOf(task, into), Input)
  }
}

/** Returns a ring that combines parts, which the root then gathers. For long messages. */
export function reduceRing(task: Task): Schedule {
  const { rank, size, root, bytes } = task
  const place = rank === root ? Output : Scratch
  const s = new ScheduleBuilder()
  if (size === 1) return s.copy(Input, 0, place, 0, bytes).done()
  ringReduceScatter(s, task, place)
  s.next()
  const partAt = (holder: number): [number, number] => {
    const part = (holder + 1) % size
    return [partOf(task, part), partOf(task, part + 1) - partOf(task, part)]
  }
  if (rank !== root) s.send(root, place, ...partAt(rank))
  else for (let peer = 0; peer < size; peer++) if (peer !== root) s.receive(peer, place, ...partAt(peer))
  return s.done()
}

/** Returns a reduction to rank 0 and a broadcast from there, both along a binomial tree. */
export function allreduceTree(task: Task): Schedule {
  const at0 = { ...task, root: 0 }
  const up = reduceBinomial(at0)
  const down = broadcastBinomial(at0)
  return { rounds: [...up.rounds, ...down.rounds], scratchBytes: Math.max(up.scratchBytes, down.scratchBytes) }
}

/** Returns a ring that combines parts, then one that distributes all parts to all ranks: the least data on each link. */
export function allreduceRing(task: Task): Schedule {
  const { rank, size, bytes } = task
  const s = new ScheduleBuilder()
  if (size === 1) return s.copy(Input, 0, Output, 0, bytes).done()
  ringReduceScatter(s, task, Output)
  for (let step = 0; step < size - 1; step++) {
    const out = (rank + 1 - step + size) % size
    const into = (rank - step + size) % size
    s.next()
      .send((rank + 1) % size, Output, partOf(task, out), partOf(task, out + 1) - partOf(task, out))
      .receive((rank - 1 + size) % size, Output, partOf(task, into), partOf(task, into + 1) - partOf(task, into))
  }
  return s.done()
}

/**
 * Returns steps among a power of two of ranks, for any number of ranks: of the first ranks, the even ones give their input to their
 * neighbour and get the result from it. `steps` gets the number of this rank among the ranks that take part, the count of these, the rank
 * of each of them, and the place of this rank's initial contribution to the result.
 */
function folded(
  task: Task,
  steps: (s: ScheduleBuilder, me: number, count: number, rankOf: (me: number) => number, first: Place) => void,
): Schedule {
  const { rank, size, bytes } = task
  let count = 1
  while (count * 2 <= size) count *= 2
  const extra = size - count
  const s = new ScheduleBuilder()
  if (rank < 2 * extra && rank % 2 === 0)
    return s
      .send(rank + 1, Input, 0, bytes)
      .next()
      .receive(rank + 1, Output, 0, bytes)
      .done()
  if (size === 1) return s.copy(Input, 0, Output, 0, bytes).done()
  const partner = rank < 2 * extra ? rank - 1 : -1
  if (partner >= 0) s.combine(partner, Output, 0, bytes, Input).next()
  const me = partner >= 0 ? (rank - 1) / 2 : rank - extra
  const first = partner >= 0 ? Output : Input
  steps(s, me, count, (other) => (other < extra ? 2 * other + 1 : other + extra), first)
  if (partner >= 0) s.next().send(partner, Output, 0, bytes)
  return s.done()
}

/** Returns exchanges and combinations of all data by pairs at distance 1, 2, 4, …: ⌈log2 size⌉ steps. For short messages. */
export function allreduceRecursiveDoubling(task: Task): Schedule {
  return folded(task, (s, me, count, rankOf, first) => {
    for (let distance = 1; distance < count; distance *= 2) {
      const peer = rankOf(me ^ distance)
      const from = distance === 1 ? first : Output
      s.next().send(peer, from, 0, task.bytes).combine(peer, Output, 0, task.bytes, from)
    }
  })
}

/**
 * Returns a schedule in which pairs exchange and combine halves, quarters, … and then return the parts in the reverse order (Rabenseifner
 * 2004).
 */
export function allreduceHalvingDoubling(task: Task): Schedule {
  const elements = task.bytes / task.elementBytes
  const at = (element: number): number => element * task.elementBytes
  return folded(task, (s, me, count, rankOf, first) => {
    let [from, to] = [0, elements]
    const way: { peer: number; mine: [number, number]; theirs: [number, number] }[] = []
    for (let distance = count / 2; distance >= 1; distance /= 2) {
      const peer = rankOf(me ^ distance)
      const middle = from + Math.floor((to - from) / 2)
      const lower: [number, number] = [from, middle]
      const upper: [number, number] = [middle, to]
      const [mine, theirs] = (me & distance) === 0 ? [lower, upper] : [upper, lower]
      const place = distance === count / 2 ? first : Output
      s.next()
        .send(peer, place, at(theirs[0]), at(theirs[1] - theirs[0]))
        .combine(peer, Output, at(mine[0]), at(mine[1] - mine[0]), place)
      way.push({ peer, mine, theirs })
      ;[from, to] = mine
    }
    for (const { peer, mine, theirs } of way.reverse())
      s.next()
        .send(peer, Output, at(mine[0]), at(mine[1] - mine[0]))
        .receive(peer, Output, at(theirs[0]), at(theirs[1] - theirs[0]))
  })
}
