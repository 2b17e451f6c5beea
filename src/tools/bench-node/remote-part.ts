/** A part of a run in a process of its own. */
import { type ChildProcess, fork } from 'node:child_process'
import { GatewayError } from '../../gateway/index.ts'
import { entryModule } from '../../memory/index.ts'
import type { Log, Part, PartOptions, PartStatus } from './part.ts'
import type { FromPart, ToPart } from './part-messages.ts'

/** Time that a process gets to write everything and end. */
const endMs = 10_000

export class RemotePart implements Part {
  status: PartStatus = { nodes: [], paths: [], failures: [], cpuUs: 0 }
  readonly #process: ChildProcess
  readonly #exit: Promise<void>

  private constructor(child: ChildProcess, log: Log) {
    this.#process = child
    this.#exit = new Promise((resolve) => {
      child.on('exit', () => resolve())
      child.on('error', () => resolve())
    })
    child.on('message', (message: FromPart) => {
      if (message.kind === 'log') log(message.line)
      else if (message.kind !== 'failed') this.status = message.status
    })
    child.on('exit', (code, signal) => {
      if (code !== 0)
        this.status = { ...this.status, failures: [`the process has ended (${signal ?? `exit code ${code}`})`] }
    })
  }

  /** Starts the process. Throws a `GatewayError` if a node cannot start. */
  static async start(options: PartOptions, log: Log): Promise<RemotePart> {
    // Without the modules that this process was started to preload.
    const child = fork(entryModule(import.meta.url, './part-process'), [], {
      ...{ execArgv: [], env: { ...process.env, NODE_OPTIONS: '' } },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const part = new RemotePart(child, log)
    const started = new Promise<void>((resolve, reject) => {
      const fail = (why: string): void => reject(new GatewayError('ERR_GATEWAY_NODE', why))
      child.on('message', (message: FromPart) => {
        if (message.kind === 'started') resolve()
        else if (message.kind === 'failed') fail(message.message)
      })
      child.on('error', (error) => fail(error.message))
      child.on('exit', () => fail(part.status.failures[0] ?? 'the process has ended'))
    })
    part.#say({ kind: 'start', ...options })
    try {
      await started
    } catch (error) {
      await part.stop()
      throw error
    }
    return part
  }

  ask(): void {
    this.#say({ kind: 'ask' })
  }

  release(): void {
    this.#say({ kind: 'release' })
  }

  async stop(): Promise<void> {
    this.#say({ kind: 'stop' })
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), endMs)
    await this.#exit
    clearTimeout(timer)
  }

  #say(message: ToPart): void {
    // A process that has ended receives no messages.
    if (this.#process.connected) this.#process.send(message, () => {})
  }
}
