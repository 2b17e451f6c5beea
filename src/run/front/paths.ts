/**
 * Paths of programs that are ours, and their counterparts in the front's own folder. The kernel handles all others, nearly all paths: so
 * most are ruled out by a check of their characters.
 */
import { readlinkSync } from 'node:fs'

/** Each path of ours has one of these, or is short and relative to a folder that does. */
const characteristic = /infiniband|rdma_cm|uverbs|umad|issm/

const folders = [
  '/dev/infiniband',
  '/sys/class/infiniband',
  '/sys/class/infiniband_verbs',
  '/sys/class/infiniband_mad',
  '/sys/class/misc/rdma_cm',
  '/sys/devices/virtual/infiniband',
  '/sys/devices/virtual/infiniband_verbs',
  '/sys/devices/virtual/infiniband_mad',
  '/sys/devices/virtual/misc/rdma_cm',
] as const

/** Returns a path without `.`, empty parts and `..`, as text: links are not resolved; there are none above these folders. */
export function normalPath(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** True if a normal path is one of ours or below one. */
export function isOurs(path: string): boolean {
  return folders.some((folder) => path === folder || (path.startsWith(folder) && path[folder.length] === '/'))
}

/**
 * True if a path is the parent of a folder of ours, as `ls -a` shows it: the front's own folder has one, the host may not even have the
 * folder.
 */
function isParent(path: string): boolean {
  return path.endsWith('/..') && isOurs(normalPath(path.slice(0, -2)))
}

export class Paths {
  readonly #folder: string

  /** `folder`: the folder that stands for the root; a normal path. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * Returns the normal path of ours that a program means, null for any other; a slash at its end, which only folders may have, is kept.
   * `tid` is the calling thread, `directory` the base of a relative path: one of its descriptors, or −100 (AT_FDCWD).
   */
  meant(path: string, tid: number, directory: number): string | null {
    if (!characteristic.test(path)) return null
    let whole = path
    if (!path.startsWith('/')) {
      const base = baseOf(tid, directory)
      if (base === null) return null
      whole = `${base}/${path}`
    }
    let normal = normalPath(whole)
    // A descriptor of a folder of ours is one of the front's own.
    if (normal.startsWith(`${this.#folder}/`)) normal = normal.slice(this.#folder.length)
    if (!isOurs(normal)) return isParent(whole) ? normal : null
    return /\/\.{0,2}$/.test(path) ? `${normal}/` : normal
  }
}

function baseOf(tid: number, directory: number): string | null {
  try {
    return readlinkSync(directory === -100 ? `/proc/${tid}/cwd` : `/proc/${tid}/fd/${directory}`)
  } catch {
    // No such descriptor: the kernel returns that error.
    return null
  }
}
