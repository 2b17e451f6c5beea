/** Messages between two ends of a program over TCP: a JSON document on each line, with a `type`. */
import { EndError, quoted, type Wire } from './wire.ts'

/** Message of every program with the reason why an end gives up. */
export interface ErrorMessage {
  type: 'error'
  message: string
}

/** Schema of zod's form: undefined `data` for a text that is not a valid message. */
export interface MessageSchema<M> {
  safeParse(value: unknown): { success: true; data: M } | { success: false }
}

export async function sayMessage(wire: Wire, said: { type: string }): Promise<void> {
  await wire.write(`${JSON.stringify(said)}\n`)
}

/**
 * Returns the next message. Throws EndError: PEER_TEXT for an invalid one, PEER_FAILED for an error of the peer, and those of
 * `wire.readLine`. `what` is the awaited message, `whose` the program that has these messages, both for errors.
 */
export async function receiveMessage<M extends { type: string } | ErrorMessage>(
  wire: Wire,
  schema: MessageSchema<M>,
  timeoutMs: number,
  what: string,
  whose: string,
): Promise<Exclude<M, ErrorMessage>> {
  const line = await wire.readLine(timeoutMs, what)
  const parsed = schema.safeParse(jsonOrNull(line))
  if (!parsed.success)
    throw new EndError('PEER_TEXT', `the peer sent ${quoted(Buffer.from(line))}, which is not ${whose}`)
  const { data } = parsed
  if (data.type === 'error') throw new EndError('PEER_FAILED', `the peer says: ${(data as ErrorMessage).message}`)
  return data as Exclude<M, ErrorMessage>
}

/** Returns the next message as `receiveMessage` does; it must be of one of these types. */
export async function expectMessage<M extends { type: string } | ErrorMessage, T extends M['type']>(
  wire: Wire,
  schema: MessageSchema<M>,
  timeoutMs: number,
  types: readonly T[],
  whose: string,
): Promise<Extract<M, { type: T }>> {
  const received = await receiveMessage(wire, schema, timeoutMs, types.map((type) => `'${type}'`).join(' or '), whose)
  if (!types.includes(received.type as T))
    throw new EndError('PEER_TEXT', `the peer said '${received.type}' where '${types.join(' or ')}' was due`)
  return received as unknown as Extract<M, { type: T }>
}

/** Parses a line. Its texts are made plain, so that any text of a peer may be shown. */
function jsonOrNull(line: string): unknown {
  try {
    return JSON.parse(line, (_key, value: unknown) => (typeof value === 'string' ? plainText(value) : value))
  } catch {
    return null
  }
}

/** Returns control characters (C0, C1, line separators, directions of writing) as escapes: they would command a terminal or forge lines. */
function plainText(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (one) => {
    const code = one.charCodeAt(0).toString(16)
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u${code}`
  })
}
