/**
 * Ends a run that goes no further. A worker that blocks in the kernel hears no time limit of a test: it would last for ever, and a run
 * that is ended from outside says nothing. Where no test has ended for longer than any may take, this says which ones run, and kills the
 * processes of the workers. Vitest takes that for errors, and goes on with the other files.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'

/** How much longer than the time limit of a test. */
const graceMs = 120_000
/** What is told of each thread of such a process. */
const told = ['comm', 'wchan', 'syscall']

export default class StuckReporter implements Reporter {
  readonly #running = new Map<TestModule, TestCase | null>()
  #timer: NodeJS.Timeout | undefined

  onInit({ config, projects }: Vitest): void {
    const limits = [config, ...projects.map((project) => project.config)].map((of) =>
      Math.max(of.testTimeout, of.hookTimeout),
    )
    const afterMs = Number(process.env.VERBENA_STUCK_MS) || Math.max(...limits) + graceMs
    this.#timer = setTimeout(() => this.#end(), afterMs).unref()
  }

  onTestModuleStart(module: TestModule): void {
    this.#running.set(module, null)
    this.#timer?.refresh()
  }

  onTestCaseReady(test: TestCase): void {
    this.#running.set(test.module, test)
  }

  onTestCaseResult(test: TestCase): void {
    this.#running.set(test.module, null)
    this.#timer?.refresh()
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module)
    this.#timer?.refresh()
  }

  onTestRunEnd(): void {
    clearTimeout(this.#timer)
  }

  #end(): void {
    console.error('nothing goes on any more: the workers are ended. What they were doing:')
    for (const [module, test] of this.#running)
      console.error(`  ${relative(process.cwd(), module.moduleId)} > ${test?.fullName ?? '(between tests)'}`)
    for (const pid of children()) {
      for (const line of threads(pid)) console.error(`  ${line}`)
      // It may have ended meanwhile.
      orElse(() => process.kill(pid, 'SIGKILL'), true)
    }
    this.#timer?.refresh()
  }
}

/** Processes that this one has started, where the kernel tells. */
function children(): number[] {
  return listed('/proc/self/task').flatMap((task) =>
    textOf(`/proc/self/task/${task}/children`).split(' ').filter(Boolean).map(Number),
  )
}

/** What each thread of a process does, a line each. */
function threads(pid: number): string[] {
  return listed(`/proc/${pid}/task`).map((task) => {
    const what = told.map((file) => textOf(`/proc/${pid}/task/${task}/${file}`).trim())
    return [`process ${pid}, thread ${task}:`, ...what].join(' ')
  })
}

// Processes and threads end meanwhile.
const listed = (folder: string): string[] => orElse(() => readdirSync(folder), [])
const textOf = (path: string): string => orElse(() => readFileSync(path, 'utf8'), '')

function orElse<T>(run: () => T, other: T): T {
  try {
    return run()
  } catch {
    return other
  }
}
