/** Scenario 2: rank 0 sends a message to each of the first i other ranks, which answer with one of the same size. */
import { nowNs } from '../../memory/index.ts'
import { isReliable, Looks, type SetRun, stateOf, type Tally } from './scenario.ts'

export async function sendToAll(run: SetRun): Promise<Tally> {
  const { end, waiter, settings, warmUp, before, lostNs } = run
  const { mode, size, repetitions, transport, measure, processes } = settings
  const { lanes, memory, gate } = end
  const looks = new Looks(run)
  const { allSent, allArrived } = looks
  const values = new Float64Array(repetitions)
  const reliable = isReliable(settings)
  const multicast = transport === 'multicast'
  const completes = measure === 'MEA_SENDCOMPLETE_TIME'
  let received = 0
  for (let repetition = -warmUp; repetition < repetitions; repetition++) {
    const state = stateOf(before + warmUp + repetition)
    memory.send[size - 1] = state
    looks.begin(state, multicast ? 1 : processes, processes)
    looks.clear(processes)
    if (mode !== 'WRITE') {
      if (lanes.datagrams) lanes.receive(0, processes)
      else for (let lane = 0; lane < processes; lane++) lanes.receive(lane, 1)
      for (let lane = 0; lane < processes; lane++) lanes.requests[lane]!.immData = state
    }
    await gate.open(processes)
    const t0 = nowNs()
    if (multicast) lanes.postGroup()
    else for (let lane = 0; lane < processes; lane++) lanes.post(lane)
    const t1 = completes ? nowNs() : 0
    if (!waiter.spin(allSent)) await waiter.patiently(allSent, 'the completion of a message')
    const t2 = completes ? nowNs() : 0
    let there = waiter.spin(allArrived, reliable ? undefined : lostNs)
    if (!there && reliable) {
      await waiter.patiently(allArrived, 'an answer')
      there = true
    }
    const t3 = nowNs()
    if (repetition < 0) continue
    received += looks.arrived
    values[repetition] = completes ? t2 - t1 : there ? (t3 - t0) / processes : Number.NaN
  }
  return { values, sent: repetitions * processes, received }
}

export async function answer(run: SetRun): Promise<Tally> {
  const { end, waiter, settings, warmUp, before, lostNs } = run
  const { mode, size, repetitions } = settings
  const { lanes, memory, gate } = end
  const looks = new Looks(run)
  const { allSent, allArrived } = looks
  const reliable = isReliable(settings)
  let received = 0
  for (let repetition = -warmUp; repetition < repetitions; repetition++) {
    const state = stateOf(before + warmUp + repetition)
    memory.send[size - 1] = state
    lanes.requests[0]!.immData = state
    looks.begin(state, 1, 1)
    looks.clear(1)
    if (mode !== 'WRITE') lanes.receive(0, 1)
    await gate.pass()
    let there = waiter.spin(allArrived, reliable ? undefined : lostNs)
    if (!there && reliable) {
      await waiter.patiently(allArrived, 'the message of rank 0')
      there = true
    }
    if (!there) continue
    lanes.post(0)
    if (!waiter.spin(allSent)) await waiter.patiently(allSent, 'the completion of an answer')
    if (repetition >= 0) received++
  }
  return { values: new Float64Array(0), sent: received, received }
}
