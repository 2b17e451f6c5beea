/**
 * Counters for other processes. A device lives in the memory of its process; so the thread that drives it writes its counters to a file
 * of the process, at most once a second and only if they have changed:
 *
 *     $XDG_RUNTIME_DIR/verbena/counters-PID.json       or verbena-UID in the folder for temporary files
 *
 * The file goes with the process; the next reader removes that of a killed one.
 */
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { threadStartTime } from '../../memory/index.ts'

export interface PublishedDevice {
  name: string
  counters: Record<string, number>
}

/** Counters that one process has published. */
export interface PublishedCounters {
  pid: number
  /** Command line of the process. */
  command: string
  /** Time at which they were written: milliseconds since 1970. */
  updatedMs: number
  devices: PublishedDevice[]
}

interface Stored extends PublishedCounters {
  /** Start time of the process: distinguishes it from a later one with the same pid. */
  startTime: number
}

const intervalMs = 1000
const pattern = /^counters-(\d+)\.json$/

function folder(): string {
  const runtime = process.env.XDG_RUNTIME_DIR
  return runtime ? join(runtime, 'verbena') : join(tmpdir(), `verbena-${process.getuid?.() ?? 'user'}`)
}

/** Makes the folder, for this user alone; false if another user owns it or can write to it. */
function ownFolder(path: string): boolean {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    const facts = lstatSync(path)
    const own = facts.uid === (process.geteuid?.() ?? facts.uid)
    return facts.isDirectory() && own && (facts.mode & 0o022) === 0
  } catch {
    return false
  }
}

function fileOf(pid: number): string {
  return join(folder(), `counters-${pid}.json`)
}

/** Writer of the file, in the thread that drives devices. */
export class Publisher {
  readonly #command: string
  #usable: boolean | null = null
  #nextMs = 0
  /** Flag: a call of `tick` came too early to write. */
  #owes = false
  #last = ''

  constructor(command: string) {
    this.#command = command
  }

  /** Publishes if it is time; `collect` is called then. `nowMs` is any monotonic clock. */
  tick(nowMs: number, collect: () => PublishedDevice[]): void {
    this.#owes = nowMs < this.#nextMs
    if (this.#owes) return
    this.#nextMs = nowMs + intervalMs
    const devices = collect()
    const text = JSON.stringify(devices)
    if (text === this.#last) return
    this.#last = text
    this.#usable ??= ownFolder(folder())
    if (!this.#usable) return
    const { pid } = process
    const stored: Stored = {
      pid,
      startTime: threadStartTime(pid, pid),
      command: this.#command,
      updatedMs: Date.now(),
      devices,
    }
    try {
      // A reader sees all of it or the previous file.
      writeFileSync(`${fileOf(pid)}.new`, JSON.stringify(stored), { mode: 0o600 })
      renameSync(`${fileOf(pid)}.new`, fileOf(pid))
    } catch {
      this.#usable = false
    }
  }

  /** Time at which `tick` is to be called again even if nothing happens. */
  get dueMs(): number {
    return this.#owes ? this.#nextMs : Number.POSITIVE_INFINITY
  }

  /** Makes the next call of `tick` publish at once. */
  hurry(): void {
    this.#nextMs = 0
  }
}

export function unpublish(): void {
  rmSync(fileOf(process.pid), { force: true })
}

/** Returns the counters that the running processes of this user have published, by process id. */
export function publishedCounters(): PublishedCounters[] {
  const path = folder()
  if (!ownFolder(path)) return []
  const found: PublishedCounters[] = []
  for (const name of readdirSync(path)) {
    const pid = Number(pattern.exec(name)?.[1] ?? 0)
    if (pid === 0) continue
    try {
      const { startTime, ...told } = JSON.parse(readFileSync(join(path, name), 'utf8')) as Stored
      if (threadStartTime(pid, pid) === startTime) found.push(told)
      else rmSync(join(path, name), { force: true })
    } catch {
      // It was removed while it was read, or is not a file of Verbena's.
    }
  }
  return found.sort((a, b) => a.pid - b.pid)
}
