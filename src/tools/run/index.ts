/** `verbena run`, whose supervisor is started before the command line is read. */
import type { Command } from 'commander'
import { startSupervisorEarly } from '../../run/programs/supervisor-thread.ts'

export function early([first]: readonly string[]): void {
  // Below another run there is a supervisor already.
  const isHelp = first === undefined || first === '--help' || first === '-h'
  if (!isHelp && process.env.VERBENA_RUN === undefined) startSupervisorEarly()
}

export async function configure(command: Command): Promise<void> {
  ;(await import('./command.ts')).configure(command)
}
