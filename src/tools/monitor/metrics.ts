/** `--metrics`: the metrics of a monitor for Prometheus. */
import { note } from '../../cli/terminal/index.ts'
import type { MonitorMetrics } from '../../monitor/index.ts'
import type { Served } from '../../web/serve/index.ts'
import { listenAddress, scrapesText, serverToken, serveScrapes, UsageError } from '../kit/index.ts'
import { noteIfInClear } from './secret.ts'

interface MetricsOptions {
  metrics?: string
  metricsTokenFile?: string
  metricsNoToken?: boolean
  collector?: string
}

/** Serves the metrics; undefined if they are not requested. */
export async function startMetrics(options: MetricsOptions, metrics: MonitorMetrics): Promise<Served | undefined> {
  const { metrics: address, metricsTokenFile: file, metricsNoToken, collector } = options
  const flags = { file: '--metrics-token-file', none: '--metrics-no-token' }
  if (address === undefined) {
    if (file !== undefined) throw new UsageError('--metrics', `is needed for ${flags.file}`)
    if (metricsNoToken) throw new UsageError('--metrics', `is needed for ${flags.none}`)
    return undefined
  }
  if (collector !== undefined) throw new UsageError('--metrics', 'windows go to the collector, which has /metrics')
  const { host, port } = listenAddress('--metrics', address)
  const given = serverToken({ flags, file, isOpen: metricsNoToken === true })
  const { token } = given
  const scrapes = await serveScrapes({ flag: '--metrics', host, port, token, text: () => metrics.text() })
  noteIfInClear(false, host, 'put a proxy with TLS before it.')
  note(scrapesText('metrics', scrapes.url, given, flags.file))
  return scrapes
}
