/** Allgather: the output of each rank gets the inputs of all ranks, by rank. */
import { Place, type Schedule, ScheduleBuilder, type Task } from './schedule.ts'

const { Input, Output, Scratch } = Place

/** Returns a ring: each rank passes on the part that it received last. */
export function ring({ rank, size, bytes }: Task): Schedule {
  const s = new ScheduleBuilder().copy(Input, 0, Output, rank * bytes, bytes)
  const left = (rank - 1 + size) % size
  for (let step = 0; step < size - 1; step++)
    s.next()
      .send((rank + 1) % size, Output, ((rank - step + size) % size) * bytes, bytes)
      .receive(left, Output, ((rank - step - 1 + size) % size) * bytes, bytes)
  return s.done()
}

/** Returns an exchange of all present parts between pairs at distance 1, 2, 4, … For a number of ranks that is a power of two. */
export function recursiveDoubling({ rank, size, bytes }: Task): Schedule {
  const s = new ScheduleBuilder().copy(Input, 0, Output, rank * bytes, bytes)
  for (let distance = 1; distance < size; distance *= 2) {
    const peer = rank ^ distance
    const block = distance * bytes
    s.send(peer, Output, Math.floor(rank / distance) * block, block)
      .receive(peer, Output, Math.floor(peer / distance) * block, block)
      .next()
  }
  return s.done()
}

/** Returns the same for any number of ranks: parts are kept in the order of their arrival and rotated at the end (Bruck et al. 1997). */
export function bruck({ rank, size, bytes }: Task): Schedule {
  const s = new ScheduleBuilder().copy(Input, 0, Scratch, 0, bytes)
  for (let distance = 1; distance < size; distance *= 2) {
    const length = Math.min(distance, size - distance) * bytes
    s.send((rank - distance + size) % size, Scratch, 0, length)
      .receive((rank + distance) % size, Scratch, distance * bytes, length)
      .next()
  }
  s.copy(Scratch, 0, Output, rank * bytes, (size - rank) * bytes)
  return s.copy(Scratch, (size - rank) * bytes, Output, 0, rank * bytes).done()
}

/** Returns a single round in which each rank sends to each other rank. */
export function linear({ rank, size, bytes }: Task): Schedule {
  const s = new ScheduleBuilder().copy(Input, 0, Output, rank * bytes, bytes)
  for (let i = 1; i < size; i++) s.send((rank + i) % size, Input, 0, bytes)
  for (let i = 1; i < size; i++) {
    const peer = (rank - i + size) % size
    s.receive(peer, Output, peer * bytes, bytes)
  }
  return s.done()
}
