/** The plan of a latency run: which combinations can be measured. */
import { checkPlan, combinations, type Limits, makePlan, type Plan } from '../bench-kit/index.ts'
import { UsageError } from '../kit/index.ts'
import { type LatencyLists, type LatencySettings, latencyOptions } from './settings.ts'

/** Returns the reason why a combination cannot be measured; null if it can. */
export function exclusion(s: LatencySettings, limits: Limits): string | null {
  if (s.service === 'UD' && s.op === 'write-imm') return 'UD carries no RDMA WRITE (--op write-imm needs RC or UC)'
  if (s.service === 'UD' && s.size > limits.mtu)
    return `a UD message is one packet, at most the MTU of ${limits.mtu} bytes (--size)`
  if (s.inline && s.size > limits.maxInlineData)
    return `--inline takes at most ${limits.maxInlineData} bytes here (--size)`
  if (s.stamp === 'send' && s.engine !== 'thread')
    return '--stamp send needs --engine thread: the poster engine reads the payload inside postSend, before another thread could rewrite it'
  return null
}

const maxSets = 100_000

/** Makes the plan of a latency run; throws a UsageError when nothing is left to measure. */
export function planLatency(lists: LatencyLists, limits: Limits, repeat: number, seed: number): Plan<LatencySettings> {
  const count = Object.values(lists).reduce((product, values) => product * values.length, repeat)
  if (count > maxSets)
    throw new UsageError('--repeat', `these lists make ${count} sets, more than ${maxSets}: shorten some`)
  const plan = makePlan(combinations<LatencySettings>(lists), (settings) => exclusion(settings, limits), repeat, seed)
  checkPlan(plan, latencyOptions, '--service')
  return plan
}
