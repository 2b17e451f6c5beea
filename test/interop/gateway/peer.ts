/** Another program that is talked to in lines. */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { until } from '../../gateway/nodes/running.ts'

/** Debian's, and not one of another installation that comes first in the PATH: it has the modules of Debian's packages. */
export const python = '/usr/bin/python3'

/** False if Python has no such module; says so once. */
export function hasModule(module: string, debianPackage: string): boolean {
  if (spawnSync(python, ['-c', `import ${module}`]).status === 0) return true
  console.warn(`skipped: ${debianPackage} is missing: apt-get install ${debianPackage}`)
  return false
}

export class Peer {
  /** What it has printed. */
  readonly lines: string[] = []
  readonly #child: ChildProcessByStdio<Writable, Readable, null>

  constructor(command: string, ...parameters: string[]) {
    this.#child = spawn(command, parameters, { stdio: ['pipe', 'pipe', 'inherit'] })
    let text = ''
    this.#child.stdout.on('data', (part) => {
      const lines = (text + part).split('\n')
      text = lines.pop()!
      this.lines.push(...lines)
    })
    // It may have ended before it has read all.
    this.#child.stdin.on('error', () => {})
  }

  /** It has printed "ready". */
  async ready(): Promise<void> {
    await until(() => this.lines[0] === 'ready')
  }

  write(text: string | Uint8Array): void {
    this.#child.stdin.write(text)
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}
