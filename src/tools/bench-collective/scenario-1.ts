/**
 * Scenario 1: rank 0 sends 1 to MAXPOSTS messages to rank 1 in a step; measures the time of single calls, and the time until the messages
 * are complete.
 */
import { nowNs } from '../../memory/index.ts'
import { isReliable, Looks, type SetRun, stateOf, type Tally } from './scenario.ts'

export async function sendPosts(run: SetRun): Promise<Tally> {
  const { end, waiter, settings, warmUp, before } = run
  const { size, repetitions, transport, measure } = settings
  const posts = settings.posts!
  const { lanes, memory, gate } = end
  const looks = new Looks(run)
  const values = new Float64Array(repetitions)
  for (let repetition = -warmUp; repetition < repetitions; repetition++) {
    const state = stateOf(before + warmUp + repetition)
    memory.send[size - 1] = state
    lanes.requests[0]!.immData = state
    looks.begin(state, posts, 0)
    await gate.open(1)
    const t0 = nowNs()
    if (transport === 'multicast') for (let i = 0; i < posts; i++) lanes.postGroup()
    else for (let i = 0; i < posts; i++) lanes.post(0)
    const t1 = nowNs()
    if (measure === 'MEA_POLL_CQ_CPU_OVERHEAD') for (let i = 0; i < posts; i++) looks.sent += lanes.sent(1)
    const t2 = nowNs()
    if (!waiter.spin(looks.allSent)) await waiter.patiently(looks.allSent, 'the completion of a message')
    const t3 = nowNs()
    if (repetition < 0) continue
    if (measure === 'MEA_POST_SR_CPU_OVERHEAD') values[repetition] = (t1 - t0) / posts
    else values[repetition] = measure === 'MEA_POLL_CQ_CPU_OVERHEAD' ? (t2 - t1) / posts : t3 - t1
  }
  const measured = measure !== 'MEA_POST_RR_CPU_OVERHEAD'
  return { values: measured ? values : new Float64Array(0), sent: repetitions * posts, received: 0 }
}

export async function receivePosts(run: SetRun): Promise<Tally> {
  const { end, waiter, settings, warmUp, before, lostNs } = run
  const { mode, repetitions } = settings
  const posts = settings.posts!
  const { lanes, gate } = end
  const looks = new Looks(run)
  const values = new Float64Array(repetitions)
  const receives = mode === 'SEND' || mode === 'WRITE_IMM'
  let received = 0
  for (let repetition = -warmUp; repetition < repetitions; repetition++) {
    looks.begin(stateOf(before + warmUp + repetition), 0, posts)
    looks.clear(0)
    const t0 = nowNs()
    const posted = receives ? lanes.receive(0, posts) : 0
    const t1 = nowNs()
    await gate.pass()
    if (receives && !waiter.spin(looks.allArrived, isReliable(settings) ? undefined : lostNs) && isReliable(settings))
      await waiter.patiently(looks.allArrived, 'a message')
    if (repetition < 0) continue
    values[repetition] = posted > 0 ? (t1 - t0) / posted : Number.NaN
    // Without receive requests this rank does not see the messages; rank 0 has their completions.
    received += receives ? looks.arrived : posts
  }
  const measured = settings.measure === 'MEA_POST_RR_CPU_OVERHEAD'
  return { values: measured ? values : new Float64Array(0), sent: 0, received }
}
