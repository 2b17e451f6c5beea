/** The log of connections, if it is enabled: one line each on standard error. */
import { writeSync } from 'node:fs'

let enabled = false

export function enableLog(on: boolean): void {
  enabled = on
}

/** Writes a line at once and not through `process.stderr`, which may be a socket itself. */
export function print(text: string): void {
  try {
    writeSync(2, `verbena: ${text}\n`)
  } catch {
    // Standard error is closed.
  }
}

export function log(text: () => string): void {
  if (enabled) print(text())
}

const said = new Set<string>()

/** Prints a warning once, even without a log. */
export function printOnce(text: string): void {
  if (said.has(text)) return
  said.add(text)
  print(text)
}

export function where(address: string | null, port: number): string {
  return address?.includes(':') ? `[${address}]:${port}` : `${address ?? '*'}:${port}`
}

/** Returns the message of an error with its cause, in one line. */
export function inWords(error: Error | undefined): string {
  const cause = error?.cause instanceof Error ? `: ${error.cause.message}` : ''
  // Node's message about a module that it does not find goes on in other lines.
  return `${error?.message ?? 'it failed'}${cause}`.split('\n', 1)[0]!
}
