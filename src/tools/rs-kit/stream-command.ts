/** The command of `rstream` and `riostream`. */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { addCommonOptions, UsageError } from '../kit/index.ts'
import { collect, runRsTool, testOptions } from './options.ts'
import { rstreamPort } from './stream.ts'
import { addStreamOptions, type StreamOptions, streamSettings } from './stream-options.ts'

export interface StreamProgram {
  name: string
  /** Module of its thread. */
  thread: URL
  description: string
  help: string
  /** Values of `-T`. */
  tests: readonly string[]
  /** Adds options that it has alone. */
  addOptions?(command: Command): void
}

export function configureStreams(command: Command, program: StreamProgram): void {
  command.description(program.description)
  addStreamOptions(command, rstreamPort)
  program.addOptions?.(command)
  command.option('-T <option>', 'options of the test, see below; may be repeated', collect)
  addCommonOptions(command)
    .addHelpText('after', program.help)
    .action(async (options: StreamOptions) => {
      const chosen = testOptions(options.T, program.tests)
      if (chosen.has('fork'))
        throw new UsageError('-T f', 'a Node.js program cannot fork: leave it out, -T s alone is TCP')
      const role = options.s === undefined ? 'server' : 'client'
      endWith(await runRsTool(program, streamSettings(options, chosen), role, options.json === true))
    })
}
