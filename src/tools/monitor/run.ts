/** The destination of the windows of `verbena monitor watch`, and their configuration. */
import { note } from '../../cli/terminal/index.ts'
import type { AgentClient } from '../../monitor/host/index.ts'
import type { MonitorConfig, Observer, Window } from '../../monitor/index.ts'
import { parseNumber, UsageError } from '../kit/index.ts'
import type { ReadOptions } from '../trace-kit/index.ts'
import { type AgentOptions, connect } from './agent.ts'
import { type ConfigOptions, configFrom } from './config.ts'
import { Output, type OutputOptions } from './output.ts'

export interface WatchCommandOptions extends ReadOptions, ConfigOptions, OutputOptions, AgentOptions {
  interface?: string
  tap?: boolean
  duration?: string
  workers?: string
  metrics?: string
  metricsTokenFile?: string
  metricsNoToken?: boolean
}

/** Milliseconds that an agent at its end waits for its collector. */
const closeMs = 10_000

/** Destination of windows: the output, or a collector, which then determines their configuration. */
export class Run {
  readonly options: WatchCommandOptions
  readonly output: Output
  /** Milliseconds after which the watching ends. */
  readonly durationMs: number
  config: MonitorConfig
  #client: AgentClient | undefined
  #lost = 0
  /** Number of changes of the plan. */
  plans = 0

  /** `hasEnd`: the source ends by itself, as a file does. */
  constructor(options: WatchCommandOptions, hasEnd: boolean) {
    this.options = options
    this.durationMs = parseNumber('--duration', options.duration, Number.POSITIVE_INFINITY, 0.001, 2e6) * 1000
    this.output = new Output(options, hasEnd)
    // Windows that are added to a file must have the configuration of those in it.
    this.config = configFrom(options, options.collector === undefined ? options.save : undefined)
  }

  /** Connects to the collector, if there is one. `canWait`: sources wait while windows do, so that none has to be dropped. */
  async connect(canWait: boolean): Promise<void> {
    if (this.options.collector === undefined) return
    if (this.options.page !== undefined)
      throw new UsageError('--page', 'windows go to the collector: give it the option, too, and not the agent')
    const { client, config } = await connect(this.options, this.config, canWait, (changed) => {
      this.config = changed
      this.plans++
    })
    this.#client = client
    this.config = config
    note(`Windows of ${config.windowMs / 1000} s go to ${this.options.collector}.`)
  }

  window(window: Window): void {
    if (this.#client === undefined) this.output.window(window)
    else this.#client.send(window)
  }

  /** True if a source that can wait should wait. */
  get isBehind(): boolean {
    return (this.#client?.waiting ?? 0) > 16
  }

  /**
   * Returns a function for the current observer of a source: a new one when the collector's plan has changed. The next window reports how
   * many were lost meanwhile, including the last window of the old plan.
   */
  following(make: () => Observer): () => Observer {
    let observer = make()
    let { plans } = this
    return () => {
      if (plans !== this.plans) {
        plans = this.plans
        observer.finish()
        observer = make()
      }
      const lost = this.#client?.lost ?? 0
      observer.add('unsent', lost - this.#lost)
      this.#lost = lost
      return observer
    }
  }

  /** Closes the run; returns true if windows could not be delivered. */
  async close(): Promise<boolean> {
    const unsent = ((await this.#client?.close(closeMs)) ?? 0) + (this.#client?.lost ?? 0)
    if (unsent > 0) note(`${unsent} windows could not be delivered to the collector.`)
    await this.output.close()
    return unsent > 0
  }
}
