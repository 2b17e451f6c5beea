/** What two ends of a program say to each other over TCP: a JSON document on each line, with a `type`. */
import { EndError, quoted, type Wire } from './wire.ts'

/** Every program has this one: why an end gives up. */
export interface ErrorMessage {
  type: 'error'
  message: string
}

/** As zod's types have it: undefined `data` for what is none of the messages. */
export interface MessageSchema<M> {
  safeParse(value: unknown): { success: true; data: M } | { success: false }
}

export async function sayMessage(wire: Wire, said: { type: string }): Promise<void> {
  await wire.write(`${JSON.stringify(said)}\n`)
}

/**
 * The next message. Throws EndError: PEER_TEXT for what is none, PEER_FAILED for an error of the peer, and those of `wire.readLine`.
 * `what` is waited for, `whose` the program that has these messages, both for errors.
 */
export async function hearMessage<M extends { type: string } | ErrorMessage>(
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

/** As `hearMessage`, and it must be of one of these types. */
export async function expectMessage<M extends { type: string } | ErrorMessage, T extends M['type']>(
  wire: Wire,
  schema: MessageSchema<M>,
  timeoutMs: number,
  types: readonly T[],
  whose: string,
): Promise<Extract<M, { type: T }>> {
  const heard = await hearMessage(wire, schema, timeoutMs, types.map((type) => `'${type}'`).join(' or '), whose)
  if (!types.includes(heard.type as T))
    throw new EndError('PEER_TEXT', `the peer said '${heard.type}' where '${types.join(' or ')}' was due`)
  return heard as unknown as Extract<M, { type: T }>
}

/** Its texts are plain: whatever a peer says may be shown. */
function jsonOrNull(line: string): unknown {
  try {
    return JSON.parse(line, (_key, value: unknown) => (typeof value === 'string' ? plainText(value) : value))
  } catch {
    return null
  }
}

/** Control characters (C0, C1, line separators, directions of writing) as escapes: they would command a terminal or forge lines. */
function plainText(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (one) => {
    const code = one.charCodeAt(0).toString(16)
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u${code}`
  })
}
