/** Shared words of the threads of a run: the main thread stops it and reports lost servers, the data thread publishes its progress. */

/** Indices of 32-bit words; the servers' words follow. */
const Word = { stop: 0, servers: 16 } as const
const Stop = { run: 0, interrupted: 1 } as const
/** Indices of doubles after the words: the values of a live view. */
export const Live = { asked: 0, done: 1, bytes: 2, lost: 3, failed: 4, waiting: 5, ns: 6, count: 8 } as const

export class Control {
  readonly buffer: SharedArrayBuffer
  readonly words: Int32Array
  readonly live: Float64Array

  constructor(servers: number, buffer?: SharedArrayBuffer) {
    const words = Math.ceil((Word.servers + servers) / 16) * 16
    this.buffer = buffer ?? new SharedArrayBuffer(words * 4 + Live.count * 8)
    this.words = new Int32Array(this.buffer, 0, words)
    this.live = new Float64Array(this.buffer, words * 4, Live.count)
  }

  stop(): void {
    Atomics.store(this.words, Word.stop, Stop.interrupted)
  }

  get stopped(): boolean {
    return Atomics.load(this.words, Word.stop) !== Stop.run
  }

  /** Reports that the server is gone; called by the thread that holds the connection to it. */
  lose(server: number): void {
    Atomics.store(this.words, Word.servers + server, 1)
  }

  gone(server: number): boolean {
    return Atomics.load(this.words, Word.servers + server) !== 0
  }
}
