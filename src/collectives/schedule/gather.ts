/** Scatter: each rank gets its part of the root's input. Gather: the root's output gets the input of each rank, by rank. */
import {
  absolute,
  children,
  Place,
  parent,
  relative,
  type Schedule,
  ScheduleBuilder,
  subtree,
  type Task,
} from './schedule.ts'

const { Input, Output, Scratch } = Place

export function scatterLinear(task: Task): Schedule {
  const { rank, size, root, bytes } = task
  const s = new ScheduleBuilder()
  if (rank !== root) return s.receive(root, Output, 0, bytes).done()
  s.copy(Input, rank * bytes, Output, 0, bytes)
  for (let i = 1; i < size; i++) {
    const peer = absolute(task, i)
    s.send(peer, Input, peer * bytes, bytes)
  }
  return s.done()
}

/** Returns a binomial tree from the root down, each message with the parts of the whole subtree. */
export function scatterBinomial(task: Task): Schedule {
  const { size, root, bytes } = task
  const s = new ScheduleBuilder()
  const me = relative(task)
  const held = subtree(me, size)
  // The parts of a subtree follow one another when they are in the order of relative numbers.
  let place: Place = Scratch
  if (me === 0 && root === 0) place = Input
  else if (me === 0) {
    s.copy(Input, root * bytes, Scratch, 0, (size - root) * bytes)
    s.copy(Input, 0, Scratch, (size - root) * bytes, root * bytes)
  } else if (held === 1) return s.receive(absolute(task, parent(me)), Output, 0, bytes).done()
  else s.receive(absolute(task, parent(me)), Scratch, 0, held * bytes).next()
  s.copy(place, 0, Output, 0, bytes)
  for (const child of children(me, size))
    s.send(absolute(task, child), place, (child - me) * bytes, subtree(child, size) * bytes)
  return s.done()
}

export function gatherLinear(task: Task): Schedule {
  const { rank, size, root, bytes } = task
  const s = new ScheduleBuilder()
  if (rank !== root) return s.send(root, Input, 0, bytes).done()
  s.copy(Input, 0, Output, rank * bytes, bytes)
  for (let i = 1; i < size; i++) {
    const peer = absolute(task, i)
    s.receive(peer, Output, peer * bytes, bytes)
  }
  return s.done()
}

/** Returns a binomial tree up to the root, each message with the parts of the whole subtree. */
export function gatherBinomial(task: Task): Schedule {
  const { size, root, bytes } = task
  const s = new ScheduleBuilder()
  const me = relative(task)
  const held = subtree(me, size)
  if (me !== 0 && held === 1) return s.send(absolute(task, parent(me)), Input, 0, bytes).done()
  const place: Place = me === 0 && root === 0 ? Output : Scratch
  s.copy(Input, 0, place, 0, bytes)
  for (const child of children(me, size))
    s.receive(absolute(task, child), place, (child - me) * bytes, subtree(child, size) * bytes)
  s.next()
  if (me !== 0) s.send(absolute(task, parent(me)), Scratch, 0, held * bytes)
  else if (root !== 0) {
    s.copy(Scratch, 0, Output, root * bytes, (size - root) * bytes)
    s.copy(Scratch, (size - root) * bytes, Output, 0, root * bytes)
  }
  return s.done()
}
