/** Schedules of the collectives, one for each rank, as data. */
export { algorithms, algorithmsOf, type Collective, collectives, scheduleOf } from './algorithms.ts'
export {
  type Multicasting,
  Place,
  type Round,
  type Schedule,
  type Task,
  type Transfer,
} from './schedule.ts'
