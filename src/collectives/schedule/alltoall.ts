/** Alltoall: part j of rank i's input becomes part i of rank j's output. */
import { Place, type Schedule, ScheduleBuilder, type Task } from './schedule.ts'

const { Input, Output, Scratch } = Place

/** Returns a single round in which each rank sends to each other rank. */
export function linear({ rank, size, bytes }: Task): Schedule {
  const s = new ScheduleBuilder().copy(Input, rank * bytes, Output, rank * bytes, bytes)
  for (let i = 1; i < size; i++) {
    const to = (rank + i) % size
    s.send(to, Input, to * bytes, bytes)
  }
  for (let i = 1; i < size; i++) {
    const from = (rank - i + size) % size
    s.receive(from, Output, from * bytes, bytes)
  }
  return s.done()
}

/** Returns an exchange with one peer after the other: at any time, each rank sends to one and receives from one. */
export function pairwise({ rank, size, bytes }: Task): Schedule {
  const s = new ScheduleBuilder().copy(Input, rank * bytes, Output, rank * bytes, bytes)
  for (let i = 1; i < size; i++) {
    const to = (rank + i) % size
    const from = (rank - i + size) % size
    s.send(to, Input, to * bytes, bytes)
      .receive(from, Output, from * bytes, bytes)
      .next()
  }
  return s.done()
}

/**
 * Returns a schedule of ⌈log2 size⌉ messages for each rank: a part whose distance has bit k set moves 2^k ranks in step k (Bruck et al.
 * 1997). For small parts.
 */
export function bruck({ rank, size, bytes }: Task): Schedule {
  const s = new ScheduleBuilder()
  const all = size * bytes
  const half = Math.floor(size / 2) * bytes
  // Scratch: the parts by the distance that they have to move, then the data that a step sends, then the data that it receives.
  s.copy(Input, rank * bytes, Scratch, 0, (size - rank) * bytes)
  s.copy(Input, 0, Scratch, (size - rank) * bytes, rank * bytes)
  for (let bit = 1; bit < size; bit *= 2) {
    const moving = Array.from({ length: size }, (_, i) => i).filter((i) => (i & bit) !== 0)
    for (const [k, i] of moving.entries()) s.copy(Scratch, i * bytes, Scratch, all + k * bytes, bytes)
    s.send((rank + bit) % size, Scratch, all, moving.length * bytes)
    s.receive((rank - bit + size) % size, Scratch, all + half, moving.length * bytes).next()
    for (const [k, i] of moving.entries()) s.copy(Scratch, all + half + k * bytes, Scratch, i * bytes, bytes)
  }
  for (let i = 0; i < size; i++) s.copy(Scratch, i * bytes, Output, ((rank - i + size) % size) * bytes, bytes)
  return s.done()
}
