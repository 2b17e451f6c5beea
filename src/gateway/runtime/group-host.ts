/** A group as the main thread sees it: its thread, the reports of that thread, and commands to it. */
import type { Worker } from 'node:worker_threads'
import { entryModule, startThread } from '../../memory/index.ts'
import type { Signal } from '../index.ts'
import type { AnyPoolShare } from '../nodes/index.ts'
import { Command, Control, newControl } from './control.ts'
import { Counts, NodeCount, PathCount } from './counts.ts'
import type { GroupData, GroupMessage, NodeReport } from './messages.ts'
import type { PlannedGroup } from './plan.ts'
import { Watch } from './watch.ts'

export interface GroupHostOptions {
  pool: AnyPoolShare
  epochNs: number
  /** Statistics of all nodes of the gateway, by name. */
  statistics: Readonly<Record<string, SharedArrayBuffer>>
  shared(node: string): unknown
  /** True if viewers may watch. */
  watched: boolean
  onMessage(message: GroupMessage): void
}

export class GroupHost {
  readonly plan: PlannedGroup
  /** True if all sources that are not mirrors have ended. */
  ended = false
  stopped = false
  /** Promise that is fulfilled when all nodes have started; false: one has not, and everything is stopped. */
  readonly ready: Promise<boolean>
  /** Promise that is fulfilled when everything is written and closed, or the thread has died. */
  readonly done: Promise<void>
  readonly #control: Int32Array = newControl()
  readonly #counts: Counts
  readonly #worker: Worker
  readonly #reports = new Map<string, NodeReport>()
  readonly #watches: ReadonlyMap<string, Watch>

  constructor(plan: PlannedGroup, { pool, epochNs, statistics, shared, watched, onMessage }: GroupHostOptions) {
    this.plan = plan
    this.#watches = new Map(watched ? plan.nodes.map(({ config, seen }) => [config.name, new Watch(seen.length)]) : [])
    this.#counts = new Counts(plan.nodes.length + plan.paths.length)
    const data: GroupData = {
      nodes: plan.nodes.map((node) => ({
        ...node,
        shared: shared(node.config.name),
        watch: this.#watches.get(node.config.name)?.buffer ?? null,
      })),
      paths: plan.paths,
      pool,
      control: this.#control.buffer as SharedArrayBuffer,
      counts: this.#counts.buffer,
      epochNs,
      statistics,
      affinity: plan.affinity,
    }
    this.#worker = startThread(entryModule(import.meta.url, './group-thread'), { workerData: data })
    let isReady = (_: boolean): void => {}
    this.ready = new Promise((resolve) => {
      isReady = resolve
    })
    this.done = new Promise((resolve) => {
      const finish = (): void => {
        this.ended = true
        this.stopped = true
        isReady(false)
        resolve()
      }
      this.#worker.on('message', (message: GroupMessage) => {
        if (message.kind === 'ready') isReady(true)
        else if (message.kind === 'ended') this.ended = true
        else if (message.kind === 'report' || message.kind === 'stopped')
          for (const report of message.nodes) this.#reports.set(report.name, report)
        onMessage(message)
      })
      this.#worker.on('error', (error) => {
        onMessage({ kind: 'failed', node: '', message: error.stack ?? error.message })
        finish()
      })
      this.#worker.on('exit', finish)
    })
  }

  /** Makes the group read and write; without effect if it does so already, or stops. */
  run(): void {
    Atomics.compareExchange(this.#control, Control.command, Command.hold, Command.run)
    this.#worker.postMessage(null)
  }

  /** Makes its nodes give up waiting to start. */
  hurry(): void {
    Atomics.store(this.#control, Control.stopping, 1)
  }

  /** Makes the group read what is left in mirrors, write everything, and stop. */
  stop(): void {
    this.#command(Command.drain)
  }

  /** Makes hooks do their periodic work, and nodes report. */
  tick(): void {
    Atomics.add(this.#control, Control.tick, 1)
    this.#worker.postMessage(null)
  }

  node(name: string): { report: NodeReport | undefined; counts: { [name in keyof typeof NodeCount]: number } } {
    const set = this.plan.nodes.findIndex(({ config }) => config.name === name)
    return { report: this.#reports.get(name), counts: this.#counts.read(set, NodeCount) }
  }

  /** Returns the watch of a node here, the signals that it sees, and whether the node is read. */
  seen(name: string): { watch: Watch; signals: readonly Signal[]; reads: boolean } | undefined {
    const watch = this.#watches.get(name)
    const node = this.plan.nodes.find(({ config }) => config.name === name)
    return watch && node && { watch, signals: node.seen, reads: node.directions.in }
  }

  path(index: number): { [name in keyof typeof PathCount]: number } {
    return this.#counts.read(this.plan.nodes.length + index, PathCount)
  }

  #command(command: number): void {
    Atomics.store(this.#control, Control.command, command)
    this.#worker.postMessage(null)
  }
}
