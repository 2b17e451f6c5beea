/** Metrics of a gateway in the text format of Prometheus, version 0.0.4. */
import { MetricsText } from '../../counters/index.ts'
import type { GatewayControl } from './control.ts'

const quantiles = [0.1, 0.5, 0.9, 0.99, 0.999]

export function metricsOf(control: GatewayControl, version: string): string {
  const { gateway, config } = control
  const text = new MetricsText()
  text.family('verbena_gateway_info', 'gauge', 'Version and UUID of this gateway; always 1.')
  text.value({ version, uuid: config.uuid }, 1)
  text.family('verbena_gateway_up', 'gauge', '1 while paths run.')
  text.value({}, gateway.state === 'started' ? 1 : 0)
  const { capacity, available } = gateway.pool
  text.family('verbena_gateway_pool_samples', 'gauge', 'Samples that there is memory for, and those that nobody holds.')
  text.value({ state: 'all' }, capacity)
  text.value({ state: 'free' }, available)
  const nodes = gateway.nodes()
  text.family('verbena_gateway_node_state', 'gauge', 'The state of each node; always 1.')
  for (const { name, type } of nodes) text.value({ node: name, type, state: control.stateOf(name) }, 1)
  text.family(
    'verbena_gateway_node_events_total',
    'counter',
    'Samples read, written, lost, …, by node, since its thread started.',
  )
  for (const { name, counts } of nodes)
    for (const [event, count] of Object.entries(counts)) text.value({ node: name, event }, count)
  text.family(
    'verbena_gateway_path_events_total',
    'counter',
    'Samples received, sent, skipped, …, by path, since its thread started.',
  )
  for (const { uuid, counts } of gateway.paths())
    for (const [event, count] of Object.entries(counts)) text.value({ path: uuid, event }, count)
  const watched = nodes.flatMap(({ name }) => {
    const delays = gateway.watch(name)?.watch.delays()
    return delays === undefined ? [] : [{ node: name, delays }]
  })
  text.family(
    'verbena_gateway_delay_seconds',
    'summary',
    'From the time of origin to that of receipt of samples that passed the node.',
  )
  for (const { node, delays } of watched) {
    for (const quantile of quantiles)
      text.value(
        { node, quantile: String(quantile) },
        delays.count === 0 ? Number.NaN : delays.quantileSeconds(quantile),
      )
    text.value({ node }, delays.sumSeconds, '_sum')
    text.value({ node }, delays.count, '_count')
  }
  text.family('verbena_gateway_delay_max_seconds', 'gauge', 'The longest of these delays.')
  for (const { node, delays } of watched) text.value({ node }, delays.maxSeconds)
  return text.toString()
}
