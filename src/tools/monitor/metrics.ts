/** `--metrics`: what a monitor tells Prometheus. */
import { note } from '../../cli/terminal/index.ts'
import type { MonitorMetrics } from '../../monitor/index.ts'
import { listenAddress, Scrapes, UsageError } from '../kit/index.ts'
import { noteIfInClear, tokenOfServer } from './secret.ts'

interface MetricsOptions {
  metrics?: string
  metricsTokenFile?: string
  collector?: string
}

/** Undefined if they are not asked for. */
export async function startMetrics(options: MetricsOptions, metrics: MonitorMetrics): Promise<Scrapes | undefined> {
  const { metrics: address, metricsTokenFile, collector } = options
  if (address === undefined) {
    if (metricsTokenFile !== undefined) throw new UsageError('--metrics', 'is needed for --metrics-token-file')
    return undefined
  }
  if (collector !== undefined) throw new UsageError('--metrics', 'windows go to the collector, which has /metrics')
  const { host, port } = listenAddress('--metrics', address)
  const token = tokenOfServer('--metrics-token-file', metricsTokenFile, host)
  const scrapes = await Scrapes.start({
    ...{ flag: '--metrics', host, port, text: () => metrics.text() },
    ...(token !== null && { token }),
  })
  noteIfInClear(false, host, 'put a proxy with TLS before it.')
  note(`Serving metrics at ${scrapes.url}`)
  return scrapes
}
