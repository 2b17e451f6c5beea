/**
 * View of a collector on its agents: takes each of their windows once, merges those of one time, and reports agents that lag or are gone.
 * Time is an argument.
 *
 * Clocks differ. A window is merged unless it is further in the future than agents can lag: relative to the collector's clock, or if that
 * is behind, to the time that most agents have reached. Without that limit, one clock that is ahead would make all other agents late
 * forever.
 */
import { planDifference, type WindowPlan } from './config.ts'
import { MonitorError } from './error.ts'
import { Merger } from './merger.ts'
import { Sequences } from './sequences.ts'
import type { Part, Window } from './window.ts'

export interface AgentState {
  name: string
  /** State of the agent. `lags`: other agents are more than three windows ahead. `vanished`: no window came for longer than `vanishMs`. */
  state: 'here' | 'lags' | 'vanished'
  /** Milliseconds since 1970 of the last window's end, and of its arrival. */
  lastMs: number
  heardMs: number
  windows: number
  /** Number of windows that came again. */
  repeated: number
  /** Number of windows that have not come, though later ones did. */
  missing: number
  /** Seconds by which its last window ends in the future, if that is too far for it to be merged; otherwise 0. */
  aheadSeconds: number
}

export interface AgentsOptions {
  plan: WindowPlan
  onWindow(window: Window): void
  /** Time without a window after which an agent has vanished (default ten windows, at least ten seconds). */
  vanishMs?: number
}

/** State with the run, which is not for other agents: a process that knows the run of an agent can send windows in its place. */
export interface RunState extends AgentState {
  run: string
}

interface Agent extends RunState {
  sequences: Sequences
  /** Index of its last window that was merged, and of its last window. */
  lastIndex: number
  seenIndex: number
  /** Time of its last window on the monotonic clock. */
  heardAtMs: number
}

const mostAgents = 4096
const lagWindows = 3
/** Maximum number of windows that wait for an agent that lags; windows of an agent that is ahead must leave room for them. */
const mostWaiting = 8
const mostAheadWindows = 3

export class Agents {
  readonly #plan: WindowPlan
  readonly #onWindow: (window: Window) => void
  readonly #merger: Merger
  readonly #agents = new Map<string, Agent>()
  readonly #vanishMs: number
  /** Sequence numbers of runs that are known from saved windows. */
  readonly #before = new Map<string, Sequences>()

  constructor({ plan, onWindow, vanishMs }: AgentsOptions) {
    this.#plan = plan
    this.#onWindow = onWindow
    this.#vanishMs = vanishMs ?? Math.max(10_000, 10 * plan.windowMs)
    // An agent's first window arrives after those of the same time from other agents.
    this.#merger = new Merger({ onWindow, hold: 1, mostWaiting })
  }

  /** Restores a window that was taken before a restart. */
  restore({ run, sequence }: Part): void {
    const sequences = this.#before.get(run) ?? new Sequences()
    sequences.add(sequence)
    this.#remember(run, sequences)
  }

  /** Remembers a run; of the runs before, those that sent a window most recently are kept. */
  #remember(run: string, sequences: Sequences): void {
    this.#before.delete(run)
    this.#before.set(run, sequences)
    if (this.#before.size > mostAgents) this.#before.delete(this.#before.keys().next().value!)
  }

  /** True if a part is new. */
  isNew({ run, sequence }: Part): boolean {
    return !(this.#agents.get(run)?.sequences ?? this.#before.get(run))?.has(sequence)
  }

  /** Throws ERR_MONITOR_MISMATCH, with a text for the agent, for a window that `add` would not take. Changes nothing. */
  check({ plan, parts, span }: Pick<Window, 'plan' | 'parts' | 'span'>): void {
    const difference = planDifference(this.#plan, plan)
    if (difference !== undefined) throw refusal(`windows of this agent cannot be merged: ${difference}`)
    const [part] = parts
    if (part === undefined || parts.length > 1 || span !== 1)
      throw refusal(`a window of an agent has one part and one time, and not ${parts.length} and ${span}`)
    if (this.#agents.has(part.run) || this.#agents.size < mostAgents || this.#gone() !== undefined) return
    throw refusal(`there are ${mostAgents} agents already: no more are taken`)
  }

  /**
   * Takes a window of one agent. Returns false if it was there before. `clockMs` is the time of a monotonic clock, by which agents that
   * send no windows are detected. Throws ERR_MONITOR_MISMATCH.
   */
  add(window: Window, nowMs: number, clockMs: number = nowMs): boolean {
    this.check(window)
    const part = window.parts[0]!
    const agent = this.#agentOf(part)
    agent.heardMs = nowMs
    agent.heardAtMs = clockMs
    if (!agent.sequences.add(part.sequence)) {
      agent.repeated++
      return false
    }
    const endMs = window.startMs + this.#plan.windowMs
    agent.lastMs = Math.max(agent.lastMs, endMs)
    agent.seenIndex = window.index
    agent.aheadSeconds = this.#aheadSeconds(endMs, nowMs)
    if (agent.aheadSeconds > 0) {
      this.#merger.leave(part.run)
      window.late = true
      this.#onWindow(window)
      return true
    }
    this.#merger.join(part.run)
    agent.lastIndex = Math.max(agent.lastIndex, window.index)
    this.#merger.add(part.run, window)
    return true
  }

  /** Returns the seconds by which a window ends in the future, if that is too far; otherwise 0. */
  #aheadSeconds(endMs: number, nowMs: number): number {
    const mostMs = mostAheadWindows * this.#plan.windowMs
    if (endMs - nowMs <= mostMs) return 0
    const here = [...this.#agents.values()].filter(({ state }) => state === 'here')
    const reached = here.map(({ seenIndex }) => seenIndex).sort((a, b) => a - b)[(here.length - 1) >> 1]!
    const aheadMs = endMs - Math.max(nowMs, (reached + 1) * this.#plan.windowMs)
    return aheadMs > mostMs ? aheadMs / 1000 : 0
  }

  /** Stops waiting for agents that sent no window for too long; to be called at intervals, with the time of the monotonic clock. */
  tick(clockMs: number): void {
    for (const agent of this.#agents.values())
      if (clockMs - agent.heardAtMs > this.#vanishMs && agent.state !== 'vanished') {
        agent.state = 'vanished'
        this.#merger.leave(agent.run)
      }
  }

  /** Hands on all windows that wait. */
  flush(): void {
    this.#merger.flush()
  }

  states(): RunState[] {
    const newest = Math.max(0, ...[...this.#agents.values()].map(({ lastIndex }) => lastIndex))
    return [...this.#agents.values()].map(({ sequences, lastIndex, seenIndex: _, heardAtMs: __, ...state }) => ({
      ...state,
      ...{ windows: sequences.count, missing: sequences.missing },
      state: state.state === 'here' && newest - lastIndex > lagWindows ? 'lags' : state.state,
    }))
  }

  #agentOf({ agent: name, run }: Part): Agent {
    const known = this.#agents.get(run)
    if (known !== undefined) {
      known.state = 'here'
      return known
    }
    if (this.#agents.size >= mostAgents) this.#forgetOne()
    const agent: Agent = {
      ...{ name, run, state: 'here', lastMs: 0, heardMs: 0, windows: 0, repeated: 0, missing: 0, aheadSeconds: 0 },
      ...{ sequences: this.#before.get(run) ?? new Sequences(), lastIndex: 0, seenIndex: 0, heardAtMs: 0 },
    }
    this.#before.delete(run)
    this.#agents.set(run, agent)
    return agent
  }

  #gone(): Agent | undefined {
    for (const agent of this.#agents.values()) if (agent.state === 'vanished') return agent
    return undefined
  }

  #forgetOne(): void {
    const gone = this.#gone()
    if (gone === undefined) return
    this.#agents.delete(gone.run)
    this.#remember(gone.run, gone.sequences)
  }
}

function refusal(text: string): MonitorError {
  return new MonitorError('ERR_MONITOR_MISMATCH', text)
}
