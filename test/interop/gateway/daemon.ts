/**
 * Brokers and servers of Debian, each started by the test that needs it: on a free port, in a folder of its own, ended by its process
 * number. A daemon that Debian has started for the machine is left alone.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** False if there is no such command; says so once. */
export function hasCommand(name: string, debianPackage: string): boolean {
  const path = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
  if (spawnSync('sh', ['-c', `command -v ${name}`], { env: path }).status === 0) return true
  console.warn(`skipped: ${name} is missing: apt-get install ${debianPackage}`)
  return false
}

export class Daemon {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'verbena-daemon-'))
  readonly #name: string
  readonly #port: number
  #arguments: readonly string[] = []
  #child: ChildProcess | undefined
  #env: Readonly<Record<string, string>> = {}
  #output = ''

  constructor(name: string, port: number) {
    this.#name = name
    this.#port = port
  }

  /** Writes a file of its folder; its path. */
  write(name: string, text: string): string {
    const path = join(this.folder, name)
    writeFileSync(path, text)
    return path
  }

  /** Starts it, or starts it again as before; until its port takes connections. */
  async start(parameters?: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#arguments = parameters ?? this.#arguments
    const path = `${process.env.PATH}:/usr/sbin:/sbin`
    this.#env = { ...this.#env, ...env }
    // A process group of its own: some daemons are started by a shell that stays.
    const child = spawn(this.#name, this.#arguments, {
      cwd: this.folder,
      env: { ...process.env, PATH: path, ...this.#env },
      detached: true,
    })
    this.#child = child
    child.stdout.on('data', (text) => (this.#output += text))
    child.stderr.on('data', (text) => (this.#output += text))
    while (!(await this.#accepts())) {
      if (child.exitCode !== null) throw new Error(`${this.#name} has ended:\n${this.#output}`)
      await sleep(20)
    }
  }

  async #accepts(): Promise<boolean> {
    const socket = connect(this.#port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return true
    } catch {
      return false
    } finally {
      socket.destroy()
    }
  }

  /** As by a power failure. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    process.kill(-child.pid!, 'SIGKILL')
    await ended
  }

  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
