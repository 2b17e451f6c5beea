/**
 * Files of /sys and /proc, of this host or recorded from another one. Devices come and go while they are read, and a recorded
 * tree may contain anything: files that cannot be read are absent, and expected ones are counted as problems.
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
  /** Path below the root. */
  readonly path: string
  readonly what: string
}

const longestFile = 1 << 16
const mostListed = 1000

export class Tree {
  /** False for a recorded tree, which has no live system that could be queried. */
  readonly live: boolean
  readonly #root: string
  /** Path of /sys below the root. */
  readonly #sys: string
  readonly #problems: TreeProblem[] = []
  #problemCount = 0

  /**
   * Opens `root`, which has `sys` and `proc`, as / does; or is a copy of /sys alone, which other programs call --sysfs-root.
   * Without it: this host.
   */
  constructor(root?: string) {
    this.live = root === undefined
    this.#root = root ?? '/'
    this.#sys = root !== undefined && !existsSync(join(root, 'sys')) && existsSync(join(root, 'class')) ? '' : 'sys'
  }

  /** First thousand problems; `problemCount` counts all. */
  get problems(): readonly TreeProblem[] {
    return this.#problems
  }

  get problemCount(): number {
    return this.#problemCount
  }

  /** Returns the file path of a path that begins with `sys/` or another name below the root. */
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

  /** Returns the names in a folder, in the order of numbers and letters; empty if there is no such folder. */
  list(path: string): string[] {
    try {
      return readdirSync(this.pathOf(path)).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.problem(path, reasonOf(error))
      return []
    }
  }

  /** Returns the names in a folder that are folders, or links to folders. */
  folders(path: string): string[] {
    return this.list(path).filter(
      (name) => statSync(this.pathOf(`${path}/${name}`), { throwIfNoEntry: false })?.isDirectory() === true,
    )
  }

  /** Returns the text of a file without white space at its ends; undefined if there is no such file. */
  optional(path: string): string | undefined {
    try {
      return this.#read(path)
    } catch (error) {
      // Drivers return this error for what they do not have.
      const { code } = error as NodeJS.ErrnoException
      const absent = ['ENOENT', 'ENOTDIR', 'EINVAL', 'EOPNOTSUPP', 'ENOTSUP', 'ENODEV']
      if (!absent.includes(code ?? '')) this.problem(path, reasonOf(error))
      return undefined
    }
  }

  /** Returns the text of a file that was listed: if it has disappeared, that is a problem. */
  text(path: string): string | undefined {
    try {
      return this.#read(path)
    } catch (error) {
      this.problem(path, reasonOf(error))
      return undefined
    }
  }

  /** Returns a counter that was listed. Undefined, and a problem, if it is not an integer of 64 bits; `N/A` is not a problem. */
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

  /** Returns a number that may be absent; values outside `least` to `most` are not accepted. */
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

  /** Returns the name of a link's target; undefined if it is not a link. */
  linked(path: string): string | undefined {
    try {
      return basename(readlinkSync(this.pathOf(path)))
    } catch {
      return undefined
    }
  }

  #read(path: string): string {
    // A recorded tree may have a FIFO in place of a file.
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

/** Returns unexpected text in a short form without characters that a terminal would interpret. */
function quotable(text: string): string {
  const plain = text.replace(/[^\x20-\x7e]/g, '?')
  return plain.length > 40 ? `${plain.slice(0, 40)}…` : plain
}
