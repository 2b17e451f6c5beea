/** Choice of the servers to which requests go. */
import { Choice } from './choice.ts'
import type { Destinations, ServerAddress } from './config.ts'
import { RandomStream } from './random.ts'

const mostTries = 16

/** Draws the servers of one fan-out after the other: distinct ones, as long as there are any. */
export class DestinationPicker {
  readonly #random: RandomStream
  readonly #choice: Choice<number>
  readonly #used: Int32Array
  #fanout = 0
  #left = 0

  constructor(
    destinations: Destinations,
    servers: readonly ServerAddress[],
    seed: number,
    client: number,
    random: RandomStream,
  ) {
    this.#random = random
    this.#choice = new Choice(weights(destinations, servers, seed, client))
    this.#used = new Int32Array(servers.length)
  }

  /** Begins another fan-out. */
  begin(): void {
    this.#fanout++
    this.#left = this.#choice.values.length
  }

  /** Returns the index of the next server of this fan-out. */
  next(): number {
    const { values } = this.#choice
    if (this.#left === 0) this.begin()
    this.#left--
    for (let tries = 0; tries < mostTries; tries++) {
      const server = this.#choice.pick(this.#random)
      if (this.#used[server] !== this.#fanout) return this.#take(server)
    }
    // A small number is left: the first free one after a random one.
    const from = this.#random.below(values.length)
    for (let i = 0; ; i++) {
      const server = values[(from + i) % values.length]!
      if (this.#used[server] !== this.#fanout) return this.#take(server)
    }
  }

  #take(server: number): number {
    this.#used[server] = this.#fanout
    return server
  }
}

function weights(
  destinations: Destinations,
  servers: readonly ServerAddress[],
  seed: number,
  client: number,
): { value: number; weight: number }[] {
  const plain = servers.map(({ weight }, value) => ({ value, weight }))
  const shared = (share: number, hot: (server: number) => boolean): typeof plain => {
    const sum = (within: boolean): number =>
      plain.reduce((total, { value, weight }) => total + (hot(value) === within ? weight : 0), 0)
    const [inside, outside] = [sum(true), sum(false)]
    // Without any other server, all requests go there.
    const portion = outside === 0 ? 1 : inside === 0 ? 0 : share
    return plain.map(({ value, weight }) => ({
      value,
      weight: hot(value) ? (portion * weight) / inside : ((1 - portion) * weight) / outside,
    }))
  }
  switch (destinations.type) {
    case 'uniform':
    case 'incast':
      return plain
    case 'permutation': {
      // All clients draw the same permutation, so that no two of the first n have the same server.
      const order = new RandomStream(seed, 'permutation').permutation(servers.length)
      return [{ value: order[client % servers.length]!, weight: 1 }]
    }
    case 'hotspot':
      return shared(destinations.share, (server) => server === destinations.server)
    case 'rack':
      return shared(destinations.share, (server) => servers[server]!.rack === destinations.rack)
  }
}
