/**
 * The collector's view of its agents: takes their windows once each, merges those of one time, and says who lags or is gone. Time is
 * an argument.
 */
import { planDifference, type WindowPlan } from './config.ts'
import { MonitorError } from './error.ts'
import { Merger } from './merger.ts'
import { Sequences } from './sequences.ts'
import type { Part, Window } from './window.ts'

export interface AgentState {
  name: string
  run: string
  /** `lags`: others are more than three windows ahead. `vanished`: nothing came for longer than it may. */
  state: 'here' | 'lags' | 'vanished'
  /** Milliseconds since 1970 of the last window's end, and of its arrival. */
  lastMs: number
  heardMs: number
  windows: number
  /** Windows that came again. */
  repeated: number
  /** Windows that have not come, though later ones did. */
  missing: number
  /** Its clock is so many seconds before that of the collector, as far as a window that ends in the future shows it; else 0. */
  aheadSeconds: number
}

export interface AgentsOptions {
  plan: WindowPlan
  onWindow(window: Window): void
  /** Nothing for so long: vanished (default ten windows, ten seconds at least). */
  vanishMs?: number
}

interface Agent extends AgentState {
  sequences: Sequences
  lastIndex: number
}

const mostAgents = 4096
const lagWindows = 3
/** A window that ends later than that is of a clock that is wrong. */
const mostAheadMs = 60_000

export class Agents {
  readonly #plan: WindowPlan
  readonly #onWindow: (window: Window) => void
  readonly #merger: Merger
  readonly #agents = new Map<string, Agent>()
  readonly #vanishMs: number
  /** Of runs that are known from saved windows. */
  readonly #before = new Map<string, Sequences>()

  constructor({ plan, onWindow, vanishMs }: AgentsOptions) {
    this.#plan = plan
    this.#onWindow = onWindow
    this.#vanishMs = vanishMs ?? Math.max(10_000, 10 * plan.windowMs)
    // An agent's first window comes when others have sent theirs of the same time.
    this.#merger = new Merger({ onWindow, hold: 1 })
  }

  /** A window that was taken before a restart. */
  restore({ run, sequence }: Part): void {
    let sequences = this.#before.get(run)
    if (sequences === undefined) {
      if (this.#before.size >= mostAgents) this.#before.delete(this.#before.keys().next().value!)
      sequences = new Sequences()
      this.#before.set(run, sequences)
    }
    sequences.add(sequence)
  }

  /** Whether a part is new. */
  isNew({ run, sequence }: Part): boolean {
    return !(this.#agents.get(run)?.sequences ?? this.#before.get(run))?.has(sequence)
  }

  /** Throws ERR_MONITOR_MISMATCH if the plan is another one, in words for the agent. */
  check(plan: WindowPlan): void {
    const difference = planDifference(this.#plan, plan)
    if (difference !== undefined)
      throw new MonitorError('ERR_MONITOR_MISMATCH', `windows of this agent cannot be merged: ${difference}`)
  }

  /** Takes a window of one agent. False if it was there before. Throws ERR_MONITOR_MISMATCH. */
  add(window: Window, nowMs: number): boolean {
    this.check(window.plan)
    const [part, ...others] = window.parts
    if (part === undefined || others.length > 0)
      throw new MonitorError(
        'ERR_MONITOR_MISMATCH',
        `a window of an agent has one part, and not ${window.parts.length}`,
      )
    const agent = this.#agentOf(part)
    agent.heardMs = nowMs
    if (!agent.sequences.add(part.sequence)) {
      agent.repeated++
      return false
    }
    agent.windows++
    const endMs = window.startMs + window.span * this.#plan.windowMs
    agent.lastMs = Math.max(agent.lastMs, endMs)
    agent.missing = Math.max(0, part.sequence + 1 - agent.windows)
    agent.aheadSeconds = endMs > nowMs + mostAheadMs ? Math.round((endMs - nowMs) / 1000) : 0
    if (agent.aheadSeconds > 0) {
      // The others would be late for ever.
      window.late = true
      this.#onWindow(window)
      return true
    }
    this.#merger.join(part.run)
    agent.lastIndex = Math.max(agent.lastIndex, window.index)
    this.#merger.add(part.run, window)
    return true
  }

  /** To be called now and then: agents that sent nothing for too long are not waited for. */
  tick(nowMs: number): void {
    for (const agent of this.#agents.values())
      if (nowMs - agent.heardMs > this.#vanishMs && agent.state !== 'vanished') {
        agent.state = 'vanished'
        this.#merger.leave(agent.run)
      }
  }

  /** Hands on what waits. */
  flush(): void {
    this.#merger.flush()
  }

  states(): AgentState[] {
    const newest = Math.max(0, ...[...this.#agents.values()].map(({ lastIndex }) => lastIndex))
    return [...this.#agents.values()].map(({ sequences: _, lastIndex, ...state }) => ({
      ...state,
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
      ...{ sequences: this.#before.get(run) ?? new Sequences(), lastIndex: 0 },
    }
    agent.windows = agent.sequences.next
    this.#before.delete(run)
    this.#agents.set(run, agent)
    return agent
  }

  #forgetOne(): void {
    const gone = [...this.#agents.values()].find(({ state }) => state === 'vanished')
    if (gone === undefined)
      throw new MonitorError('ERR_MONITOR_MISMATCH', `there are ${mostAgents} agents already: no more are taken`)
    this.#agents.delete(gone.run)
  }
}
