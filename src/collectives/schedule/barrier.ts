/** Barriers: nobody leaves before everybody has come. */
import { Place, type Schedule, ScheduleBuilder, type Task } from './schedule.ts'

/** Each rank tells the one 1, 2, 4, … further (Hensgen, Finkel, Manber 1988): ⌈log2 size⌉ rounds. */
export function dissemination({ rank, size }: Task): Schedule {
  const s = new ScheduleBuilder()
  for (let distance = 1; distance < size; distance *= 2)
    s.next()
      .send((rank + distance) % size, Place.Output, 0, 0)
      .receive((rank - distance + size) % size, Place.Output, 0, 0)
  return s.done()
}

/** All tell rank 0, which answers all. */
export function linear({ rank, size }: Task): Schedule {
  const s = new ScheduleBuilder()
  if (rank !== 0) return s.send(0, Place.Output, 0, 0).next().receive(0, Place.Output, 0, 0).done()
  for (let peer = 1; peer < size; peer++) s.receive(peer, Place.Output, 0, 0)
  s.next()
  for (let peer = 1; peer < size; peer++) s.send(peer, Place.Output, 0, 0)
  return s.done()
}
