/** The command of a benchmark: two tables of options, those that are lists of settings and those that are one number, and where results go. */
import type { Command } from 'commander'
import { parseInteger, parseNumber, UsageError } from '../kit/index.ts'
import type { GivenOptions, SettingOption } from './option.ts'
import type { Plan } from './product.ts'
import { datedDirectory } from './results-dir.ts'
import { addSettings, tellLeftOut } from './setting-options.ts'

/** An option with one number. */
export interface NumberOption {
  flag: string
  argument: string
  description: string
  /** Value without the option. */
  fallback: number
  /** Description of that value in the help, where it is not the number; empty for none. */
  without?: string
  min: number
  max: number
  /** True if it need not be a whole number. */
  fraction?: boolean
}

type Numbers = Readonly<Record<string, NumberOption>>
export type NumbersOf<N extends Numbers> = { readonly [K in keyof N]: number }

export const repeatOption: NumberOption = {
  ...{ flag: '--repeat', argument: '<times>', description: 'repetitions of every combination' },
  ...{ fallback: 1, min: 1, max: 10_000 },
}

export const seedOption: NumberOption = {
  ...{ flag: '--seed', argument: '<number>', description: 'for the order of the sets' },
  ...{ fallback: 1, min: 0, max: 0xffffffff },
}

/** Options of where results go. */
export interface OutputOptions {
  json: boolean
  outDir: string
}

export interface BenchCommand<N extends Numbers, O> {
  /** Name of the folder of results. */
  name: string
  description: string
  settings: object
  numbers: N
  /** Adds the options that no table has. */
  others?(command: Command): void
  /** True if every rank runs the command, of which rank 0 alone prints and saves. */
  ranks?: boolean
  help: string
  /** Called with the options as given, the numbers, and where results go. */
  run(options: O & GivenOptions, numbers: NumbersOf<N>, output: OutputOptions): Promise<void>
}

/** Makes the command of a benchmark. */
export function configureBench<N extends Numbers, O>(command: Command, bench: BenchCommand<N, O>): void {
  const { name, numbers, ranks = false } = bench
  command.description(bench.description)
  addSettings(command, bench.settings)
  for (const { flag, argument, description, fallback, without = String(fallback) } of Object.values(numbers))
    command.option(`${flag} ${argument}`, without === '' ? description : `${description} (default: ${without})`)
  bench.others?.(command)
  command
    .option(
      '--out <dir>',
      `where ${ranks ? 'rank 0 keeps the results' : 'results are kept'} (default: a dated folder under results/)`,
    )
    .option('--json', `${ranks ? 'rank 0 prints' : 'print'} one JSON document on stdout and nothing else`)
    .addHelpText('after', bench.help)
    .exitOverride()
    .action(async (options: O & GivenOptions & { out?: string; json?: boolean }) => {
      const given = options as Record<string, unknown>
      const values = Object.entries(numbers).map(([key, { flag, fallback, min, max, fraction }]) => {
        const text = given[key] as string | undefined
        return [key, (fraction ? parseNumber : parseInteger)(flag, text, fallback, min, max)] as const
      })
      const output = { json: options.json === true, outDir: options.out ?? datedDirectory(name) }
      await bench.run(options, Object.fromEntries(values) as NumbersOf<N>, output)
    })
}

/** Says what a plan leaves out. @throws UsageError when nothing is left to measure; it names the option that the first reason does. */
export function checkPlan<S>({ sets, leftOut }: Plan<S>, options: object, usual: string): void {
  if (sets.length === 0) {
    const reasons = leftOut.map(({ reason }) => reason)
    const flags = (Object.values(options) as SettingOption<unknown>[]).map(({ flag }) => flag)
    const option = flags.find((flag) => reasons[0]?.includes(flag)) ?? usual
    throw new UsageError(option, `nothing is left to measure: ${reasons.join('; ')}`)
  }
  tellLeftOut(leftOut)
}
