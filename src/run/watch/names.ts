/** Names of programs. */
import { readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'

/** The name of the file that a process executes. */
export function programName(pid: number): string {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, '')
  } catch {
    // The name of another user's program may not be readable; the kernel's short name may.
  }
  try {
    return readFileSync(`/proc/${pid}/comm`, 'latin1').trim()
  } catch {
    return 'process'
  }
}
