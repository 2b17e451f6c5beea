/** `verbena collective tune` */
import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { printJson } from '../../cli/terminal/index.ts'
import { tune } from '../../collectives/tune.ts'
import { type AlgorithmSet, loadResults } from '../../report/index.ts'
import { UsageError } from '../kit/index.ts'
import { changed, gain, measurementsOf, settingsOf, showTuning } from './show.ts'

const help = `
The table selects an algorithm by collective, number of ranks and bytes. The default rules change only where another algorithm was
faster beyond the noise: by at least 3 %, and with intervals of the medians that do not overlap. With several results of the same settings
the median of their medians counts, and the interval that contains all of their intervals. Between two sizes the table changes at their
geometric mean; a measurement with n ranks applies to more than half as many ranks, or to more than the next smaller number that was
measured, up to n.

A program takes the table by its name in VERBENA_TABLE, or gives its content to createCommunicator as \`table\`. It must be the same at all ranks.

Examples:
  verbena collective tune results/2026-01-31-120000-collective-algorithms
  verbena collective tune results/monday results/tuesday -o cluster.json`

interface Options {
  output: string
  json?: boolean
}

export function configure(command: Command): void {
  command
    .description('Make a table of rules that select algorithms, from results of verbena collective measure.')
    .argument('<results...>', 'folders that `verbena collective measure` wrote')
    .option('-o, --output <file>', 'file of the table', 'table.json')
    .option('--json', 'print the changes as one JSON document and nothing else')
    .addHelpText('after', help)
    .action(run)
}

function run(dirs: string[], { output, json }: Options): void {
  const sets = dirs.flatMap(setsIn)
  const devices = new Set(sets.map((set) => settingsOf(set).device.split(':')[0]!))
  if (devices.size > 1)
    throw new UsageError('results', `these are of ${[...devices].join(' and ')}: make a table for each kind of device`)
  const { table, decisions } = tune(measurementsOf(sets))
  writeFileSync(output, `${JSON.stringify(table, null, 2)}\n`)
  if (json === true) {
    const changes = decisions.filter(changed).map((decision) => ({ ...decision, gain: gain(decision) }))
    printJson({ table: output, points: decisions.length, changes, unit: 'ns' })
  } else showTuning(decisions, output)
}

function setsIn(dir: string): AlgorithmSet[] {
  const { results } = loadResults(dir)
  if (results.tool !== 'algorithms')
    throw new UsageError('results', `${dir} has results of bench ${results.tool}, not of collective measure`)
  if (results.sets.length === 0) throw new UsageError('results', `nothing was measured in ${dir}`)
  return results.sets.filter(({ time }) => time.count > 0)
}
