/**
 * Mutual authentication of the two ends of a connection. Rank 0 sends first; a listener that sends another greeting, or does not know the
 * key, is a stranger.
 *
 *     rank 0 ── Challenge: "verbena group 2", nonce ──▶ rank
 *     rank 0 ◀── Hello: nonce, proof, introduction ──── rank
 *     rank 0 ── Welcome: proof ──▶ rank                 or Refused, and the end of the connection
 */
import { GroupError } from './error.ts'
import { type Introduction, nameOf } from './group.ts'
import { Kind, type Link } from './link.ts'
import { makeNonce, nonceBytes, proofBytes, proofOf, sameProof } from './proof.ts'

/** Data that both ends have from another source. */
export interface Secret {
  key: Uint8Array
  job: string
  /** Port at which rank 0 listens; 0 if the ranks were given a single port, which may be mapped to another between them. */
  port: number
}

/** Returns the data to prove to a rank 0 that listens at one of these ports. */
export function secretAt(secret: Omit<Secret, 'port'>, ports: readonly number[], port: number): Secret {
  return { ...secret, port: ports.length > 1 ? port : 0 }
}

const greeting = Buffer.from('verbena group 2\n')

/** Milliseconds for which a stranger may hold a connection. */
export const handshakeMs = 5000

/**
 * Authenticates a rank at rank 0. Returns `stranger` if the connection ended or nothing arrived in time, and `refused` if the other end
 * does not know the key; the connection is closed in both cases.
 */
export async function admit(link: Link, secret: Secret): Promise<Introduction | 'stranger' | 'refused'> {
  const challenge = makeNonce()
  const heard = nextFrame(link, handshakeMs)
  link.send(Kind.Challenge, Buffer.concat([greeting, challenge]))
  const { kind, content } = await heard
  const nonce = content.subarray(0, nonceBytes)
  const proof = content.subarray(nonceBytes, nonceBytes + proofBytes)
  const said = content.subarray(nonceBytes + proofBytes)
  const expected = proofOf(secret.key, 'rank', secret.job, secret.port, challenge, nonce, said)
  const introduction = kind === Kind.Hello && sameProof(proof, expected) ? introductionOf(said) : null
  if (introduction === null) {
    link.send(Kind.Refused)
    await link.close()
    return kind === 0 ? 'stranger' : 'refused'
  }
  link.send(Kind.Welcome, proofOf(secret.key, 'rank 0', secret.job, secret.port, challenge, nonce, said))
  return introduction
}

/**
 * Result of an attempt at an address: rank 0, which has admitted this rank; another program; or an end that has refused this rank's proof.
 */
export type Found = 'ours' | 'stranger' | 'refused'

/** Introduces a rank to rank 0. Closes the connection of a stranger. */
export async function introduceTo(link: Link, secret: Secret, self: Introduction, timeoutMs: number): Promise<Found> {
  const challenge = await nextFrame(link, Math.min(handshakeMs, timeoutMs))
  const words = challenge.content.subarray(0, greeting.length)
  if (challenge.kind !== Kind.Challenge || !words.equals(greeting)) {
    link.destroy()
    return 'stranger'
  }
  const theirs = challenge.content.subarray(greeting.length)
  const [nonce, said] = [makeNonce(), Buffer.from(JSON.stringify(self))]
  const answer = nextFrame(link, Math.min(handshakeMs, timeoutMs), true)
  const { key, job, port } = secret
  link.send(Kind.Hello, Buffer.concat([nonce, proofOf(key, 'rank', job, port, theirs, nonce, said), said]))
  const { kind, content } = await answer
  if (kind === Kind.Welcome && sameProof(content, proofOf(key, 'rank 0', job, port, theirs, nonce, said))) return 'ours'
  link.destroy()
  return kind === Kind.Refused ? 'refused' : 'stranger'
}

/**
 * Returns the next frame; kind 0 if none arrives in time. Later frames wait for the caller, which sets `onFrame` in the same turn.
 * `looksAgain`: a frame that arrived while this thread was busy has arrived in time. (Not so at rank 0: a rank that has waited for it has
 * given up, and connects again.)
 */
function nextFrame(link: Link, timeoutMs: number, looksAgain = false): Promise<{ kind: number; content: Buffer }> {
  return new Promise((resolve) => {
    const settle = (kind: number, content: Buffer): void => {
      clearTimeout(timer)
      clearImmediate(look)
      link.pause()
      link.onFrame = () => {}
      link.onEnd = () => {}
      resolve({ kind, content })
    }
    const nothing = (): void => settle(0, Buffer.alloc(0))
    const late = (): void => {
      // Timers fire before sockets are read.
      if (looksAgain) look = setImmediate(nothing)
      else nothing()
    }
    // The socket, not the timer, keeps the process alive.
    const timer = setTimeout(late, timeoutMs).unref()
    let look: NodeJS.Immediate | undefined
    link.onFrame = settle
    link.onEnd = nothing
    link.resume()
  })
}

function introductionOf(said: Buffer): Introduction | null {
  try {
    const { rank, size, host, pid, settings } = JSON.parse(said.toString()) as Record<string, unknown>
    if (!Number.isSafeInteger(rank) || !Number.isSafeInteger(size) || !Number.isSafeInteger(pid)) return null
    if (typeof host !== 'string' || typeof settings !== 'string') return null
    return { rank: rank as number, size: size as number, pid: pid as number, host: host.slice(0, 255), settings }
  } catch {
    return null
  }
}

/** Returns the reason for which an introduction does not match rank 0's; null if it does. */
export function misfit(self: Introduction, other: Introduction, taken: Introduction | null): GroupError | null {
  if (other.size !== self.size)
    return new GroupError(
      'ERR_GROUP_DIFFERS',
      `${nameOf(other)} says that the group has ${other.size} ranks, and ${nameOf(self)} that it has ${self.size}`,
      other.rank,
    )
  if (!(other.rank >= 0 && other.rank < self.size))
    return new GroupError('ERR_GROUP_DIFFERS', `${nameOf(other)}: ranks of this group are 0 to ${self.size - 1}`)
  if (taken !== null)
    return new GroupError(
      'ERR_GROUP_TWICE',
      `rank ${other.rank} is there twice: process ${taken.pid} on ${taken.host} and process ${other.pid} on ${other.host}`,
      other.rank,
    )
  if (other.settings === self.settings) return null
  return new GroupError(
    'ERR_GROUP_DIFFERS',
    `${nameOf(other)} has other settings than ${nameOf(self)}: ${firstDifference(other.settings, self.settings)}`,
    other.rank,
  )
}

function firstDifference(theirs: string, ours: string): string {
  const [a, b] = [theirs, ours].map(parsed) as [Record<string, unknown>, Record<string, unknown>]
  for (const key of [...Object.keys(b), ...Object.keys(a)]) {
    const [there, here] = [a[key], b[key]].map((value) => JSON.stringify(value) ?? 'nothing')
    if (there !== here) return `${key} is ${there!.slice(0, 200)} there and ${here!.slice(0, 200)} here`
  }
  return 'their order'
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
