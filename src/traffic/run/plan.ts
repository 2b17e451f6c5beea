/** The queue pairs that a configuration needs to each server. */
import { qpTypes, type TrafficConfig } from '../index.ts'
import type { LinkPlan, TrafficClass } from './link.ts'

/** One class for each type, DSCP and service level that some phase uses. */
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
  const writes = config.phases.some(({ verbs }) =>
    verbs.some(({ verb, weight }) => weight > 0 && (verb === 'write' || verb === 'write_with_imm')),
  )
  const marks = writes && flow === 'reply' && list.some(({ type }) => type === 'UC')
  return { classes: list, qps, mtu, depth, timeout, retries, rnrRetries, flow, marks }
}
