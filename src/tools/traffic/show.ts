/** The results of a client as text. */
import { note, paint, print, printFailure, table } from '../../cli/terminal/index.ts'
import type { TrafficSet } from '../../report/index.ts'
import { rateText, timeText, whole } from '../../text/index.ts'
import type { Figures, Generated } from '../../traffic/index.ts'

/** Returns the document that `--json` prints: all but distributions, which are in the saved results. */
export function documentOf({ id: _id, settings, fct: _fct, generated, error, ...figures }: TrafficSet): object {
  const distanceIn = (of: Generated | null): object | null => (of === null ? null : { ks: of.ks, limit: of.limit })
  return {
    ...{ settings, ...figures },
    generated: { sizes: distanceIn(generated.sizes), gaps: distanceIn(generated.gaps) },
    interrupted: error === 'interrupted',
  }
}

export function show(run: TrafficSet, outDir: string): void {
  const { asked, reached, all } = run
  print(`${whole(asked.requests)} requests in ${run.seconds.toFixed(2)} s`)
  print(`asked    ${whole(asked.perSecond)} requests/s, ${rateText(asked.bitsPerSecond)}`)
  print(`reached  ${whole(reached.perSecond)} requests/s, ${rateText(reached.bitsPerSecond)}`)
  if (all.lost > 0) print(`lost     ${whole(all.lost)} (UC, UD)`)
  if (all.failed > 0) print(`failed   ${whole(all.failed)}`)
  print(`sent at most ${timeText(run.latestNs)} late\n`)
  const groups = [
    ['size', run.sizes],
    ['verb', run.verbs],
    ['type', run.types],
    ['server', run.servers],
  ] as const
  for (const [name, figures] of groups) {
    const rows = Object.entries(figures)
    // A single group has the figures of the first table.
    if (name !== 'size' && rows.length < 2) continue
    print(grouped(name, rows))
    print('')
  }
  for (const [server, why] of Object.entries({ ...run.unreachable, ...run.failures })) printFailure(`${server}: ${why}`)
  if (run.error === 'interrupted') note('Interrupted: requests that were outstanding are not counted.')
  print(`Results: ${outDir}`)
  print(paint('dim', `Report:  verbena report ${outDir}`))
}

function grouped(name: string, rows: readonly [string, Figures][]): string {
  const head = [name, 'done', 'lost', 'failed', 'FCT p50', 'p99', 'p99.9', 'max', 'slowdown p50', 'p99']
  return table(
    head,
    rows.map(([key, { done, lost, failed, fct, slowdown }]) => [
      ...[key, done, lost, failed],
      ...(fct === null ? ['–', '–', '–', '–'] : [fct.p50, fct.p99, fct.p999, fct.max].map(timeText)),
      ...(slowdown === null ? ['–', '–'] : [slowdown.p50.toFixed(2), slowdown.p99.toFixed(2)]),
    ]),
  )
}
