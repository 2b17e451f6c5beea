/** Runs one command line, in this process: `verbena` itself does it, and so may a test or another program. */
import { CommanderError } from 'commander'
import { buildProgram, fullName, namedCommand } from './program.ts'
import { currentRun, describeFailure, exitCodes, type Io, printFailure, runWith } from './terminal/index.ts'

/**
 * Returns the exit code (see `exitCodes`). Output goes to `io`, whose `signal` interrupts the command as Ctrl-C does; without `io` they are
 * the process's. Environment variables are those of the process in any case. Does not throw.
 */
export async function run(argv: readonly string[], io?: Io): Promise<number> {
  return io === undefined ? await execute(argv) : await runWith(io, argv, () => execute(argv))
}

async function execute(argv: readonly string[]): Promise<number> {
  const { io } = currentRun()
  const words = argv.filter((word) => !word.startsWith('-'))
  const asked = words[0] === 'help' ? words[1] : words[0]
  try {
    const program = await buildProgram(
      io,
      (name, { alias }) => asked === name || (asked !== undefined && asked === alias),
      asked === undefined ? [] : argv.slice(argv.indexOf(asked) + 1),
    )
    try {
      if (argv.length === 0) program.outputHelp()
      else await program.parseAsync([...argv], { from: 'user' })
      return currentRun().exitCode
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error
      // Commander has printed its message already.
      if (error.exitCode === 0) return exitCodes.done
      if (error.code !== 'commander.help') {
        const name = fullName(namedCommand(program, argv))
        io.stderr.write(`\nRun \`verbena ${name === '' ? '' : `${name} `}--help\` to see what there is.\n`)
      }
      return exitCodes.usage
    }
  } catch (error) {
    const { message, exitCode } = describeFailure(error)
    printFailure(message)
    return exitCode
  }
}
