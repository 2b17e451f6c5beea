/** The queries of the Grafana dashboard, as Grafana would send them. */
import { readFileSync } from 'node:fs'

interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[]
  templating: { list: { type: string; query: string }[] }
}

const file = new URL('../../examples/monitor/grafana-dashboard.json', import.meta.url)
const dashboard = JSON.parse(readFileSync(file, 'utf8')) as Dashboard

/** With values for its variables. `rate` is the time of `$__rate_interval`. */
export function panelQueries(by: string, rate: string): { title: string; query: string }[] {
  return dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({
      title,
      query: expr.replaceAll('$__rate_interval', rate).replaceAll('$instance', '.*').replaceAll('$by', by),
    })),
  )
}

/** Names of metrics in all of its queries, those of its variables included. */
export function dashboardMetrics(): string[] {
  const variables = dashboard.templating.list.filter(({ type }) => type === 'query').map(({ query }) => query)
  const texts = [...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)), ...variables]
  return [...new Set(texts.flatMap((text) => text.match(/\b[a-z_]+_[a-z_]+(?=[{,[])/g) ?? []))].filter(
    (name) => !name.startsWith('label_'),
  )
}
