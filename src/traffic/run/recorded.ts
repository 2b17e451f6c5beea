/** Run of a client as plain data. */
import { serverText, sharedConfiguration, type TrafficConfig, type TrafficRecord } from '../index.ts'
import type { ClientRun } from './client-loop.ts'
import type { Link } from './link.ts'
import type { Tally } from './tally.ts'

/**
 * Returns the record of a run. `links`: to the servers of the configuration; null for one that was not there, whose reason the caller
 * knows.
 */
export function recordOf(
  config: TrafficConfig,
  run: ClientRun,
  tally: Tally,
  links: readonly (Link | null)[],
): TrafficRecord {
  const servers = config.servers.map(serverText)
  return {
    configuration: sharedConfiguration(config),
    clients: [config.client],
    requests: run.asked,
    bytes: run.askedBytes,
    askedNs: run.askedNs,
    doneNs: run.doneNs,
    latestNs: run.latestNs,
    cells: tally.toPlain(servers),
    ...run.drawn.toPlain(),
    series: run.series.toPlain(),
    failures: Object.fromEntries(
      links.flatMap((link, i) => (link !== null && link.failure !== '' ? [[servers[i]!, link.failure]] : [])),
    ),
    unreachable: {},
  }
}
