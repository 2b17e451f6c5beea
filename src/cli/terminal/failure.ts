/**
 * Message and exit code of a failure, for the person at the terminal and the program that checks the exit code. Errors are known by their
 * names, so that this file, which every command loads, loads nothing.
 */
import { exitCodes } from './exit-codes.ts'

export function describeFailure(error: unknown): { message: string; exitCode: number } {
  if (!(error instanceof Error)) return { message: String(error), exitCode: exitCodes.failed }
  const { code, verb } = error as Error & { code?: unknown; verb?: unknown }
  if (error.name === 'UsageError' || error.name === 'ReportError' || error.name === 'TrafficError')
    return { message: error.message, exitCode: exitCodes.usage }
  // An adapter that was named does not exist.
  if (error.name === 'VerbsError' && verb === 'openDevice' && (code === 'ENODEV' || code === 'EINVAL'))
    return { message: error.message, exitCode: exitCodes.usage }
  // The text of an error of the system or the verbs is enough; anything else is a defect, and its place helps.
  return {
    message: typeof code === 'string' ? error.message : (error.stack ?? error.message),
    exitCode: exitCodes.failed,
  }
}
