/**
 * Collective operations as the messages that one rank sends (S bytes, N ranks):
 *
 *     ring-all-reduce       2(N − 1) steps, each S/N to the next rank
 *     ring-all-gather       N − 1 such steps; ring-reduce-scatter the same
 *     halving-doubling      log2 N steps of S/2, S/4, … to the rank at distance 1, 2, …, then the same sizes back up
 *     all-to-all            one step: S/N to each other rank, nearest first
 *     moe                   two steps, dispatch and combine: S among the other ranks by a Zipf law whose order is drawn each time
 *
 * A step waits for the one before. S/N is cut so that the sum is exact; halves are rounded up.
 */
import type { Collective, CollectiveName } from './config.ts'
import type { RandomStream } from './random.ts'

export interface CollectiveMessage {
  step: number
  /** Rank that receives it. */
  to: number
  bytes: number
}

/** Returns the messages of one iteration. `random` is used by moe only. */
export function messagesOf(collective: Collective, ranks: number, random: RandomStream): CollectiveMessage[] {
  const { name, bytes, rank } = collective
  const next = (rank + 1) % ranks
  const messages: CollectiveMessage[] = []
  const ring = (steps: number): void => {
    // In step s rank r passes on chunk r − s.
    for (let step = 0; step < steps; step++)
      messages.push({ step, to: next, bytes: chunk(bytes, ranks, (((rank - step) % ranks) + ranks) % ranks) })
  }
  switch (name) {
    case 'ring-all-reduce':
      ring(2 * (ranks - 1))
      break
    case 'ring-all-gather':
    case 'ring-reduce-scatter':
      ring(ranks - 1)
      break
    case 'halving-doubling': {
      const rounds = Math.log2(ranks)
      const sizes = Array.from({ length: rounds }, (_, i) => Math.ceil(bytes / 2 ** (i + 1)))
      for (let i = 0; i < rounds; i++) messages.push({ step: i, to: rank ^ (1 << i), bytes: sizes[i]! })
      for (let i = rounds - 1; i >= 0; i--)
        messages.push({ step: 2 * rounds - 1 - i, to: rank ^ (1 << i), bytes: sizes[i]! })
      break
    }
    case 'all-to-all':
      for (let i = 1; i < ranks; i++)
        messages.push({ step: 0, to: (rank + i) % ranks, bytes: chunk(bytes, ranks, (rank + i) % ranks) })
      break
    case 'moe': {
      const parts = skewed(collective, ranks, random)
      for (const step of [0, 1])
        for (let i = 1; i < ranks; i++) messages.push({ step, to: (rank + i) % ranks, bytes: parts[i - 1]! })
    }
  }
  return messages.flatMap((message) => inChannels(message, collective.channels)).filter((message) => message.bytes > 0)
}

/** Returns the reason why a collective cannot run among so many ranks; undefined if it can. */
export function impossible(name: CollectiveName, ranks: number): string | undefined {
  if (ranks < 2) return `a collective needs at least two ranks, and there ${ranks === 1 ? 'is one server' : 'are none'}`
  if (name === 'halving-doubling' && !Number.isInteger(Math.log2(ranks)))
    return `halving-doubling needs a power of two of ranks, not ${ranks}`
  return undefined
}

function inChannels({ step, to, bytes }: CollectiveMessage, channels: number): CollectiveMessage[] {
  return Array.from({ length: channels }, (_, i) => ({ step, to, bytes: chunk(bytes, channels, i) }))
}

/** Returns the i-th of n parts of a size; they differ by at most one byte. */
function chunk(bytes: number, parts: number, i: number): number {
  return Math.floor((bytes * (i + 1)) / parts) - Math.floor((bytes * i) / parts)
}

function skewed({ bytes, skew }: Collective, ranks: number, random: RandomStream): number[] {
  const weights = random.permutation(ranks - 1).map((place) => (place + 1) ** -skew)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let weighed = 0
  let given = 0
  return weights.map((weight, i) => {
    weighed += weight
    const upTo = i === weights.length - 1 ? bytes : Math.floor((bytes * weighed) / total)
    const part = upTo - given
    given = upTo
    return part
  })
}
