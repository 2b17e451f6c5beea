/**
 * Which paths of programs are ours, and what stands for them in the front's own folder. The kernel has the rest, which is nearly all:
 * so most paths are turned away by a look at their characters.
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

/** Without `.`, empty parts and `..`, as text: links are not looked at, of which there is none above these folders. */
export function normalPath(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** Whether a normal path is one of ours or below one. */
export function isOurs(path: string): boolean {
  return folders.some((folder) => path === folder || (path.startsWith(folder) && path[folder.length] === '/'))
}

/** Whether a path is the parent of a folder of ours, as `ls -a` shows it: the front's own folder has one, the host may not even have the folder. */
function isParent(path: string): boolean {
  return path.endsWith('/..') && isOurs(normalPath(path.slice(0, -2)))
}

export class Paths {
  readonly #folder: string

  /** `folder`: what stands for the root; a normal path. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * The normal path of ours that a program means, null for any other; a slash at its end, which only folders may have, stays. `tid` is the thread that asks, `directory` what a relative
   * path is relative to: a descriptor of its, or −100 (AT_FDCWD).
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
    // No such descriptor: the kernel says so.
    return null
  }
}
