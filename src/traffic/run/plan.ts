/** Queue pairs that a configuration needs to each server. */
import { qpTypes, type TrafficConfig, TrafficError } from '../index.ts'
import type { LinkPlan, TrafficClass } from './link.ts'

/**
 * Maximum number of combinations of type, DSCP and service level that have queue pairs of their own, and of queue pairs of all of them to
 * one server.
 */
export const mostClasses = 512
export const mostChannels = 4096

/** Returns a plan with one class for each type, DSCP and service level that a phase uses. Throws a `TrafficError` if there are too many. */
export function planOf(config: TrafficConfig): LinkPlan {
  const classes = new Map<string, TrafficClass>()
  for (const phase of config.phases) {
    const used = <T>(entries: readonly { value: T; weight: number }[]): T[] =>
      entries.filter(({ weight }) => weight > 0).map(({ value }) => value)
    for (const type of qpTypes.filter((name) => used(phase.types).includes(name)))
      for (const dscp of used(phase.dscps))
        for (const serviceLevel of used(phase.serviceLevels))
          classes.set(`${type} ${dscp} ${serviceLevel}`, { type, dscp, serviceLevel })
  }
  const { qps, mtu, depth, timeout, retries, rnrRetries, flow } = config
  const list = [...classes.values()]
  if (list.length > mostClasses || list.length * qps > mostChannels)
    throw new TrafficError(
      'ERR_TRAFFIC_CONFIGURATION',
      `qps: ${list.length} combinations of type, DSCP and service level with ${qps} queue pairs each are more than two ends agree on: at most ${mostClasses} combinations, and ${mostChannels} queue pairs`,
    )
  const writes = config.phases.some(({ verbs }) =>
    verbs.some(({ verb, weight }) => weight > 0 && (verb === 'write' || verb === 'write_with_imm')),
  )
  const marks = writes && flow === 'reply' && list.some(({ type }) => type === 'UC')
  return { classes: list, qps, mtu, depth, timeout, retries, rnrRetries, flow, marks }
}
