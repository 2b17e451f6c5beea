/**
 * Files of /sys and /proc, of this host or recorded from another one. Devices come and go while they are read, and a recorded
 * tree may hold anything: whatever cannot be read is absent, and what should have been there is counted as a problem.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs'
import { basename, join } from 'node:path'

export interface TreeProblem {
  /** Below the root. */
  readonly path: string
  readonly what: string
}

const longestFile = 1 << 16
const mostListed = 1000

export class Tree {
  /** False for a recorded one: there is nothing behind it to ask. */
  readonly live: boolean
  readonly #root: string
  /** Where /sys is below the root. */
  readonly #sys: string
  readonly #problems: TreeProblem[] = []
  #problemCount = 0

  /**
   * `root` has `sys` and `proc`, as / does; or it is a copy of /sys alone, as what other programs call --sysfs-root.
   * Without it: this host.
   */
  constructor(root?: string) {
    this.live = root === undefined
    this.#root = root ?? '/'
    this.#sys = root !== undefined && !existsSync(join(root, 'sys')) && existsSync(join(root, 'class')) ? '' : 'sys'
  }

  /** The first thousand; `problemCount` has all. */
  get problems(): readonly TreeProblem[] {
    return this.#problems
  }

  get problemCount(): number {
    return this.#problemCount
  }

  /** Where a path that begins with `sys/` or another name below the root is. */
  pathOf(path: string): string {
    return join(this.#root, path.replace(/^sys(?=\/|$)/, this.#sys))
  }

  problem(path: string, what: string): void {
    this.#problemCount++
    if (this.#problems.length < mostListed) this.#problems.push({ path, what })
  }

  exists(path: string): boolean {
    return existsSync(this.pathOf(path))
  }

  /** Names in a folder, in the order of numbers and letters; none if there is no such folder. */
  list(path: string): string[] {
    try {
      return readdirSync(this.pathOf(path)).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.problem(path, reasonOf(error))
      return []
    }
  }

  /** Those names in a folder that are folders, or links to some. */
  folders(path: string): string[] {
    return this.list(path).filter(
      (name) => statSync(this.pathOf(`${path}/${name}`), { throwIfNoEntry: false })?.isDirectory() === true,
    )
  }

  /** The text of a file without white space at its ends; undefined if there is none. */
  optional(path: string): string | undefined {
    try {
      return this.#read(path)
    } catch (error) {
      // Drivers answer like this for what they do not have.
      const { code } = error as NodeJS.ErrnoException
      const absent = ['ENOENT', 'ENOTDIR', 'EINVAL', 'EOPNOTSUPP', 'ENOTSUP', 'ENODEV']
      if (!absent.includes(code ?? '')) this.problem(path, reasonOf(error))
      return undefined
    }
  }

  /** The text of a file that was listed: if it has gone, that is a problem. */
  text(path: string): string | undefined {
    try {
      return this.#read(path)
    } catch (error) {
      this.problem(path, reasonOf(error))
      return undefined
    }
  }

  /** A counter that was listed. Undefined, and a problem, if it is no whole number of 64 bits; `N/A` is no problem. */
  counter(path: string): bigint | undefined {
    const text = this.text(path)
    if (text === undefined || /^N\/A\b/.test(text)) return undefined
    if (/^\d{1,20}$/.test(text)) {
      const value = BigInt(text)
      if (value < 2n ** 64n) return value
    }
    this.problem(path, `is no counter: '${quotable(text)}'`)
    return undefined
  }

  /** A number that may be absent; `least` and `most` say what is believed. */
  number(path: string, least = 0, most: number = Number.MAX_SAFE_INTEGER): number | undefined {
    const text = this.optional(path)
    if (text === undefined || text === '') return undefined
    const value = /^-?\d{1,16}$/.test(text)
      ? Number(text)
      : /^0x[0-9a-f]{1,12}$/i.test(text)
        ? Number(text)
        : Number.NaN
    if (value >= least && value <= most) return value
    this.problem(path, `is no number from ${least} to ${most}: '${quotable(text)}'`)
    return undefined
  }

  /** The name of what a link points to; undefined if it is none. */
  linked(path: string): string | undefined {
    try {
      return basename(readlinkSync(this.pathOf(path)))
    } catch {
      return undefined
    }
  }

  #read(path: string): string {
    // A recorded tree may have a FIFO in the place of a file.
    const descriptor = openSync(this.pathOf(path), constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!fstatSync(descriptor).isFile()) throw new Error('is no file')
      const bytes = new Uint8Array(longestFile)
      const count = readSync(descriptor, bytes, 0, longestFile, 0)
      return new TextDecoder().decode(bytes.subarray(0, count)).trim()
    } finally {
      closeSync(descriptor)
    }
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'has gone'
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read by this account'
  return code === undefined ? message : `cannot be read (${code})`
}

/** What came instead, short and without anything that a terminal would take for more than text. */
function quotable(text: string): string {
  const plain = text.replace(/[^\x20-\x7e]/g, '?')
  return plain.length > 40 ? `${plain.slice(0, 40)}…` : plain
}
