/** Unmodified RDMA programs: each is started so that Verbena answers its requests to the kernel about adapters. */
import { type Ended, launch } from '../front/index.ts'
import type { WatchSettings } from '../watch/index.ts'
import type { RunAdapter, RunMiddleware, RunSettings } from './adapters.ts'
import { takeSupervisor } from './supervisor-thread.ts'

export { type Ended, endDescendants, isServed, launchServed, RunError, runVariable } from '../front/index.ts'
export type { WatchSettings } from '../watch/index.ts'
export type { RunAdapter, RunMiddleware } from './adapters.ts'

export interface RunOptions {
  readonly program: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly adapters: readonly RunAdapter[]
  readonly middleware?: RunMiddleware
  /** Reports on standard error which files programs open and which calls fail. */
  readonly verbose: boolean
  /** Flag: doorbells have errnos, for the time of a system call that stops; needed by old libraries. */
  readonly strict?: boolean
  /** Reports about programs; null for none. */
  readonly watch: WatchSettings | null
  /** Flag: this process ends as soon as all programs have, see `LaunchOptions`. */
  readonly leavesThreads?: boolean
  readonly onStarted?: (pid: number) => void
  readonly onWarning: (text: string) => void
}

/**
 * Runs a program with these adapters; resolves when it and all of its descendants have ended. This process must have no other children.
 * Throws `RunError`, and what `openDevice` throws.
 */
export async function runProgram({ adapters, middleware = {}, watch, ...options }: RunOptions): Promise<Ended> {
  const settings: RunSettings = { adapters, middleware, watch, strict: options.strict ?? false }
  return await launch({ ...options, settings, supervisor: takeSupervisor })
}
