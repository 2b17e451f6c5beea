/**
 * The front's own folder, with the files that programs read: below it are our parts of /sys and /dev, and programs get descriptors of the
 * files there. No other user can enter it. It is made when the first program accesses one of these paths.
 */
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { SysfsTree } from '../door.ts'
import { RunError } from './host.ts'

/** Folders that programs list even if nothing is served. */
const always = ['/dev/infiniband', '/sys/class/infiniband', '/sys/class/infiniband_verbs']

/** Returns the folder of a front; its name cannot be guessed. Descriptors are recognized by their paths, which contain no links. */
export function folderPath(name: string): string {
  for (const place of [tmpdir(), '/dev/shm'])
    try {
      accessSync(place, constants.W_OK | constants.X_OK)
      return join(realpathSync(place), `verbena-run-${name}`)
    } catch {
      // The next one.
    }
  throw new RunError(
    'EACCES',
    `no folder for temporary files: neither ${tmpdir()} nor /dev/shm can be written to. Set TMPDIR`,
  )
}

export class Folder {
  readonly path: string
  readonly #tree: SysfsTree
  readonly #devices: readonly string[]
  /** Folders that have been made. */
  readonly #made = new Set<string>()
  /** True once a path has been requested and all files have been made. */
  #isMade = false

  /** `path` must not exist yet. `devices`: paths of character devices, for which empty files are there. */
  constructor(path: string, tree: SysfsTree, devices: readonly string[]) {
    this.path = path
    this.#tree = tree
    this.#devices = devices
  }

  /** Returns the file that programs see as `path`. */
  real(path: string): string {
    if (!this.#isMade) this.#make()
    return `${this.path}${path}`
  }

  #make(): void {
    const { files, live, links } = this.#tree
    // One that could not be made whole goes first.
    rmSync(this.path, { recursive: true, force: true })
    this.#made.clear()
    mkdirSync(this.path, { mode: 0o700 })
    for (const folder of always) this.#makeFolder(folder)
    for (const [path, content] of files) this.#writeFile(path, content)
    for (const [path, content] of live) this.#writeFile(path, content())
    for (const [path, target] of links) {
      this.#makeFolder(dirname(path))
      symlinkSync(target, join(this.path, path))
    }
    for (const path of this.#devices) this.#writeFile(path, '')
    this.#isMade = true
  }

  /** Updates the content of a file before it is opened, if that changes. */
  refresh(path: string): void {
    const { live } = this.#tree
    if (live.size === 0) return
    let own: string
    try {
      own = realpathSync(this.real(path)).slice(this.path.length)
    } catch {
      // There is no such file: opening it returns that error.
      return
    }
    const content = live.get(own)
    if (content === undefined) return
    // In its place, so that who reads the one before sees no part of this one.
    const written = join(this.path, 'new')
    writeFileSync(written, content())
    chmodSync(written, 0o444)
    renameSync(written, join(this.path, own))
  }

  #makeFolder(path: string): void {
    if (this.#made.has(path)) return
    this.#made.add(path)
    mkdirSync(join(this.path, path), { recursive: true, mode: 0o755 })
  }

  #writeFile(path: string, content: string): void {
    this.#makeFolder(dirname(path))
    const file = join(this.path, path)
    writeFileSync(file, content)
    // Programs of other users, as root's may become, read them by descriptors.
    chmodSync(file, 0o444)
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
