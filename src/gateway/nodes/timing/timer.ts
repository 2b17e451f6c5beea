/**
 * Waiting for a moment. `timerfd` sleeps until then; a sleeping thread wakes some 50 µs late. `tsc` is busy until then: the time stamp
 * counter where it can be used, else CLOCK_MONOTONIC. `hybrid` sleeps while that is exact enough, and is then busy.
 */
import {
  clockMonotonicNs,
  closeFd,
  makeTimerFd,
  nativeAvailable,
  nowNs,
  sleepOnTimerFd,
  timeStampCounter,
} from '../../../memory/index.ts'

export const timerNames = ['timerfd', 'tsc', 'hybrid'] as const
export type TimerName = (typeof timerNames)[number]

/** Waits of one thread. */
export interface Timer {
  /** Description for users: "time stamp counter at 2.10 GHz", or the reason why it cannot be used. */
  readonly is: string
  /** Blocks until a moment, as exactly as it can. */
  until(ns: number): void
  /** Blocks until a moment without using the processor. */
  sleep(ns: number): void
  close(): void
}

/** Time by which a sleep of `hybrid` ends early, in order to be on time. */
const sleepSlackNs = 100_000

/** Nanoseconds of CLOCK_MONOTONIC, without garbage where the system can be called. */
export const monotonicNs: () => number = nativeAvailable ? clockMonotonicNs : nowNs

interface Sleeper {
  readonly is: string
  sleep(ns: number): void
  close(): void
}

interface Spinner {
  readonly is: string
  spin(ns: number): void
}

export function makeTimer(name: TimerName): Timer {
  if (name === 'timerfd') {
    const { is, sleep, close } = makeSleeper()
    return { is, until: sleep, sleep, close }
  }
  const { is: spins, spin } = makeSpinner()
  const { is: sleeps, sleep, close } = makeSleeper()
  if (name === 'tsc') return { is: spins, until: spin, sleep, close }
  const until = (ns: number): void => {
    const sleepUntilNs = ns - sleepSlackNs
    if (monotonicNs() < sleepUntilNs) sleep(sleepUntilNs)
    spin(ns)
  }
  return { is: `${sleeps}, then ${spins}`, until, sleep, close }
}

function makeSleeper(): Sleeper {
  if (!nativeAvailable) {
    const word = new Int32Array(new SharedArrayBuffer(4))
    const sleep = (ns: number): void => void Atomics.wait(word, 0, 0, Math.max(0, (ns - monotonicNs()) / 1e6))
    return { is: 'Atomics.wait', sleep, close: () => {} }
  }
  const fd = makeTimerFd()
  return { is: 'timerfd', sleep: (ns) => sleepOnTimerFd(fd, ns), close: () => closeFd(fd) }
}

function makeSpinner(): Spinner {
  const tsc = timeStampCounter()
  if (typeof tsc === 'string') {
    const spin = (ns: number): void => {
      while (monotonicNs() < ns);
    }
    return { is: `CLOCK_MONOTONIC (no time stamp counter: ${tsc})`, spin }
  }
  const spin = (ns: number): void => {
    // The frequency is known to some parts in 100,000, and a wait must not end too early.
    for (let left = ns - monotonicNs(); left > 0; left = ns - monotonicNs()) tsc.spin(left)
  }
  return { is: `time stamp counter at ${tsc.ghz.toFixed(2)} GHz`, spin }
}
