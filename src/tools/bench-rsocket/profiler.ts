/** A CPU profile of this thread, by the sampler of V8, limited to the samples between two times. */
import { Session } from 'node:inspector'

/** Profile in the format of the Chrome DevTools protocol (`Profiler.Profile`), which other programs can show. Times are microseconds. */
export interface CpuProfile {
  nodes: ProfileNode[]
  startTime: number
  endTime: number
  samples: number[]
  timeDeltas: number[]
}

export interface ProfileNode {
  id: number
  callFrame: { functionName: string; url: string; lineNumber: number; columnNumber: number; scriptId: string }
  hitCount?: number
  children?: number[]
  positionTicks?: { line: number; ticks: number }[]
}

const samplingIntervalUs = 200

/** CPU profiler, which starts with its creation. */
export class Profiler {
  readonly #session = new Session()
  #open = true

  constructor() {
    this.#session.connect()
    this.#post('Profiler.enable')
    this.#post('Profiler.setSamplingInterval', { interval: samplingIntervalUs })
    this.#post('Profiler.start')
  }

  /** Returns the samples between two times of CLOCK_MONOTONIC, which is V8's clock, too. */
  stop(fromNs: number, toNs: number): CpuProfile {
    const { profile } = this.#post('Profiler.stop') as { profile: CpuProfile }
    this.close()
    return between(profile, fromNs / 1000, toNs / 1000)
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#session.disconnect()
  }

  /** Posts a command; in its own thread a session answers before `post` returns. */
  #post(method: string, params: object = {}): unknown {
    let answer: unknown
    this.#session.post(method, params, (error, result) => {
      if (error) throw new Error(`${method}: ${error.message}`)
      answer = result
    })
    return answer
  }
}

/** Cuts off the samples before and after. */
export function between(profile: CpuProfile, fromUs: number, toUs: number): CpuProfile {
  const samples: number[] = []
  const timeDeltas: number[] = []
  let at = profile.startTime
  let first = 0
  let last = 0
  for (const [i, sample] of profile.samples.entries()) {
    const before = at
    at += profile.timeDeltas[i]!
    if (at < fromUs || at > toUs) continue
    if (samples.length === 0) first = before
    samples.push(sample)
    timeDeltas.push(at - (last || before))
    last = at
  }
  return { ...profile, samples, timeDeltas, startTime: first || fromUs, endTime: last || toUs }
}
