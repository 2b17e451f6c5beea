/** A comparison as text. */
import { print, table } from '../../cli/terminal/index.ts'
import { timeText } from '../../text/index.ts'
import type { Comparison, Quantiles } from './compare.ts'

export function printComparison(comparison: Comparison): void {
  const { connections, operations, received, spanNs, times, late } = comparison
  const count = ({ messages, bytes }: { messages: number; bytes: number }): string[] => [
    String(messages),
    String(bytes),
  ]
  print(
    table(
      ['operation', 'recorded', 'bytes', 'performed', 'bytes'],
      operations.map(({ op, recorded, performed }) => [op, ...count(recorded), ...count(performed)]),
    ),
  )
  print('')
  const text = ({ count: n, medianNs, p99Ns }: Quantiles): string[] =>
    n === 0 ? ['–', '–'] : [timeText(medianNs), timeText(p99Ns)]
  print(
    table(
      ['time', 'recorded 50 %', '99 %', 'performed 50 %', '99 %', 'KS distance'],
      times.map(({ what, recorded, performed, ks }) => [
        what,
        ...text(recorded),
        ...text(performed),
        ks === null ? '–' : ks.toFixed(3),
      ]),
    ),
  )
  print('')
  const [lateMedian, lateMost] = text(late)
  print(`connections    ${connections}`)
  print(`span           ${timeText(spanNs.performed)}, recorded ${timeText(spanNs.recorded)}`)
  print(`late           median ${lateMedian}, p99 ${lateMost}`)
  print(
    `received       ${received.messages} messages, ${received.bytes} bytes; ${received.writes} WRITEs seen in memory`,
  )
  const add = (name: string, n: number, what: string): void => {
    if (n > 0) print(`${name.padEnd(15)}${n} ${what}`)
  }
  add('wrong size', comparison.wrongSizes, 'messages arrived with another size')
  add('lost', comparison.lost, 'messages did not arrive')
  add('impatient', comparison.impatient, 'messages were sent without what they waited for')
  add('failed', comparison.failed, 'messages failed or were not sent')
  for (const failure of comparison.failures) print(`${''.padEnd(15)}${failure}`)
}
