/** Barriers: no rank leaves before every rank has arrived. */
import { Place, type Schedule, ScheduleBuilder, type Task } from './schedule.ts'

/** Returns ⌈log2 size⌉ rounds in which each rank notifies the rank at distance 1, 2, 4, … (Hensgen, Finkel, Manber 1988). */
export function dissemination({ rank, size }: Task): Schedule {
  const s = new ScheduleBuilder()
  for (let distance = 1; distance < size; distance *= 2)
    s.next()
      .send((rank + distance) % size, Place.Output, 0, 0)
      .receive((rank - distance + size) % size, Place.Output, 0, 0)
  return s.done()
}

/** Returns a barrier at which all ranks notify rank 0, which answers all. */
export function linear({ rank, size }: Task): Schedule {
  const s = new ScheduleBuilder()
  if (rank !== 0) return s.send(0, Place.Output, 0, 0).next().receive(0, Place.Output, 0, 0).done()
  for (let peer = 1; peer < size; peer++) s.receive(peer, Place.Output, 0, 0)
  s.next()
  for (let peer = 1; peer < size; peer++) s.send(peer, Place.Output, 0, 0)
  return s.done()
}
