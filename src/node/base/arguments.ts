/** `net.createConnection`, `connect` and `listen` take their arguments in the same many ways; this uses Node's own function. */
import net from 'node:net'

export type Normalized = [Record<string, unknown>, (() => void) | null]

export const normalizeArguments: (args: unknown[]) => Normalized = (
  net as unknown as { _normalizeArgs(args: unknown[]): Normalized }
)._normalizeArgs

/** Symbol with which Node marks arguments that it has read. */
const [mark] = Object.getOwnPropertySymbols(normalizeArguments([]))

/** Reads arguments; those that were read before come as the one argument. */
export function readArguments(args: unknown[]): Normalized {
  const first = args[0]
  const read = Array.isArray(first) && (mark === undefined || mark in first)
  return read ? (first as unknown as Normalized) : normalizeArguments(args)
}
