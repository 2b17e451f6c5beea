/**
 * Scenario 2 with RDMA READ: rank 0 reads a message from each of the first i other ranks, and then lets each of them read one from it. A
 * rank that is read from cannot detect when that is over, so rank 0 notifies all ranks by a multicast, which reaches them at the same
 * time. Each rank measures its own part.
 */
import { nowNs } from '../../memory/index.ts'
import { Looks, type SetRun, stateOf, type Tally } from './scenario.ts'

/** Time limit of waiting for the multicast, before which rank 0 may read for long. */
const longestReadMs = 2000

export async function readFromAll(run: SetRun): Promise<Tally> {
  const { end, waiter, settings, warmUp, before } = run
  const { repetitions, processes } = settings
  const { lanes, sync, memory, gate } = end
  const looks = new Looks(run)
  const syncSent = (): boolean => sync!.sent() > 0
  const values = new Float64Array(repetitions)
  for (let repetition = -warmUp; repetition < repetitions; repetition++) {
    // The multicast message is this first byte.
    memory.send[0] = stateOf(before + warmUp + repetition)
    looks.begin(0, processes, 0)
    await gate.open(processes)
    const t0 = nowNs()
    for (let lane = 0; lane < processes; lane++) lanes.post(lane)
    if (!waiter.spin(looks.allSent)) await waiter.patiently(looks.allSent, 'what rank 0 reads')
    const t1 = nowNs()
    if (repetition >= 0) values[repetition] = t1 - t0
    if (sync === null) continue
    sync.postGroup()
    if (!waiter.spin(syncSent)) await waiter.patiently(syncSent, 'the completion of the multicast')
  }
  return { values, sent: sync === null ? 0 : repetitions * processes, received: 0 }
}

export async function readFromOne(run: SetRun): Promise<Tally> {
  const { end, waiter, settings, warmUp, before } = run
  const { repetitions } = settings
  const { lanes, sync, gate } = end
  const looks = new Looks(run)
  const values = new Float64Array(repetitions)
  let state = 0
  let received = 0
  const started = (): boolean => sync!.arrived('SEND', 1, state) > 0
  for (let repetition = -warmUp; repetition < repetitions; repetition++) {
    state = stateOf(before + warmUp + repetition)
    looks.begin(0, 1, 0)
    if (sync !== null) {
      while (sync.arrived('SEND', 1, 0) > 0);
      sync.receive(0, 1)
    }
    await gate.pass()
    if (repetition >= 0) values[repetition] = Number.NaN
    if (sync === null) continue
    if (!waiter.spin(started) && !(await waiter.within(started, longestReadMs))) continue
    const t0 = nowNs()
    lanes.post(0)
    if (!waiter.spin(looks.allSent)) await waiter.patiently(looks.allSent, 'what is read from rank 0')
    const t1 = nowNs()
    if (repetition < 0) continue
    values[repetition] = t1 - t0
    received++
  }
  return { values, sent: 0, received }
}

/** Returns RDMART_RTT, RDMART_1N or RDMART_N1 of each repetition: from the time of rank 0 and the longest time of another rank. */
export function readTimes(
  measure: string,
  processes: number,
  own: Float64Array,
  others: readonly Float64Array[],
): Float64Array {
  return own.map((oneToAll, repetition) => {
    const allToOne = others.reduce((most, values) => Math.max(most, values[repetition]!), 0)
    const parts = measure === 'RDMART_1N' ? oneToAll : measure === 'RDMART_N1' ? allToOne : oneToAll + allToOne
    return parts / processes
  })
}
