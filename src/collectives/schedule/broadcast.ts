/** Broadcasts: the root's output is copied to the output of every rank. */
import {
  absolute,
  children,
  Place,
  parent,
  partOf,
  relative,
  type Schedule,
  ScheduleBuilder,
  subtree,
  type Task,
} from './schedule.ts'

const { Output } = Place

/** Returns a round in which the root sends to each rank. */
export function linear(task: Task): Schedule {
  const s = new ScheduleBuilder()
  if (task.rank !== task.root) return s.receive(task.root, Output, 0, task.bytes).done()
  for (let i = 1; i < task.size; i++) s.send(absolute(task, i), Output, 0, task.bytes)
  return s.done()
}

/** Returns a round in which the root sends once, to all: the device and the network copy it. */
export function multicast(task: Task): Schedule {
  const s = new ScheduleBuilder()
  return task.size === 1 ? s.done() : s.multicast(task.root, Output, 0, task.bytes).done()
}

/** Returns a binomial tree from the root down: ⌈log2 size⌉ steps. */
export function binomial(task: Task): Schedule {
  const s = new ScheduleBuilder()
  const me = relative(task)
  if (me !== 0) s.receive(absolute(task, parent(me)), Output, 0, task.bytes).next()
  for (const child of children(me, task.size)) s.send(absolute(task, child), Output, 0, task.bytes)
  return s.done()
}

/** Bytes of a segment of the chain. */
const segmentBytes = 65_536

/** Returns a chain from rank to rank in segments, so that all links are busy at once. */
export function chain(task: Task): Schedule {
  const s = new ScheduleBuilder()
  const me = relative(task)
  const segments = Math.max(1, Math.ceil(task.bytes / segmentBytes))
  const lengthOf = (i: number): number => Math.min(segmentBytes, task.bytes - i * segmentBytes)
  for (let i = 0; i <= segments; i++) {
    s.next()
    if (me > 0 && i < segments) s.receive(absolute(task, me - 1), Output, i * segmentBytes, lengthOf(i))
    if (me + 1 < task.size && i > 0) s.send(absolute(task, me + 1), Output, (i - 1) * segmentBytes, lengthOf(i - 1))
  }
  return s.done()
}

/**
 * Returns a binomial scatter of as many parts as there are ranks, then a ring that gives all parts to all (van de Geijn, as in
 * Thakur, Rabenseifner, Gropp 2005): each rank sends and receives about twice the data, whatever the number of ranks.
 */
export function scatterAllgather(task: Task): Schedule {
  const s = new ScheduleBuilder()
  const { size } = task
  const me = relative(task)
  const part = (i: number): number => partOf({ ...task, elementBytes: 1 }, i)
  if (me !== 0) {
    const from = part(me)
    s.receive(absolute(task, parent(me)), Output, from, part(me + subtree(me, size)) - from).next()
  }
  for (const child of children(me, size)) {
    const from = part(child)
    s.send(absolute(task, child), Output, from, part(child + subtree(child, size)) - from)
  }
  for (let step = 0; step < size - 1; step++) {
    const out = (me - step + size) % size
    const into = (me - step - 1 + size) % size
    s.next()
      .send(absolute(task, me + 1), Output, part(out), part(out + 1) - part(out))
      .receive(absolute(task, me - 1), Output, part(into), part(into + 1) - part(into))
  }
  return s.done()
}
