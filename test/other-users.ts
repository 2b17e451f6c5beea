/** Processes of other users, which tests start as root. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export class Other {
  readonly #child: ChildProcess
  #said = ''
  readonly #ended: Promise<unknown>

  constructor(child: ChildProcess) {
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (this.#said += data))
    child.on('message', (message) => (this.#said += JSON.stringify(message)))
    this.#ended = once(child, 'exit')
  }

  /** What it said first; fails if it ends without. */
  async hears(): Promise<string> {
    const message = once(this.#child, 'message')
    await Promise.race([message, this.#ended])
    if (this.#child.exitCode !== null) throw new Error(`it ended: ${this.#said}`)
    return this.#said
  }

  /** All that it said until its end. */
  async ends(): Promise<string> {
    await this.#ended
    return this.#said
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }
}

/** What comes before a command that runs as a user with one group. */
export const asUser = (uid: number, gid: number): readonly string[] => [
  'setpriv',
  `--reuid=${uid}`,
  `--regid=${gid}`,
  '--clear-groups',
]

/** Why no test can start a process of another user here; `undefined` if it can. */
export function noOtherUsers(): string | undefined {
  if (process.geteuid?.() !== 0) return 'only root can start processes of other users'
  const checkout = fileURLToPath(new URL('../package.json', import.meta.url))
  const [command, ...args] = asUser(65_534, 65_534)
  const { status, error } = spawnSync(command!, [...args, 'test', '-r', checkout])
  if (error !== undefined) return 'needs setpriv'
  return status === 0 ? undefined : 'other users cannot read this checkout (chmod a+x the folders above it)'
}

/** Starts Node as a user with one group. */
export function startAs(uid: number, gid: number, args: readonly string[], environment: NodeJS.ProcessEnv): Other {
  const [command, ...who] = asUser(uid, gid)
  const env = { ...process.env, ...environment }
  return new Other(
    spawn(command!, [...who, process.execPath, ...args], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] }),
  )
}
