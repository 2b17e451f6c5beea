/**
 * Commands in processes of their own, without the start of a process for each: a host runs one command at a time, and when
 * that has ended the next. What is started looks like a child process.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { PassThrough, type Readable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { runModule } from '../built.ts'

/** What tests need of a process, of one that is started for a command or of a host. */
export interface Program extends EventEmitter {
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  kill(signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void
}

interface Told {
  stdout?: string
  stderr?: string
  code?: number
}

const idle: ChildProcess[] = []

function takeHost(): ChildProcess {
  for (let host = idle.pop(); host !== undefined; host = idle.pop()) {
    if (!host.connected) continue
    host.ref()
    host.channel?.ref()
    return host
  }
  const module = fileURLToPath(new URL('./host.mjs', import.meta.url))
  return fork(module, [pathToFileURL(runModule).href], { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

/** It does not keep this process alive, and ends with it. */
function giveBack(host: ChildProcess): void {
  host.unref()
  host.channel?.unref()
  idle.push(host)
}

class Hosted extends EventEmitter implements Program {
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  readonly #host = takeHost()

  constructor(argv: readonly string[]) {
    super()
    const onMessage = ({ stdout, stderr, code }: Told): void => {
      if (stdout !== undefined) this.stdout.write(stdout)
      if (stderr !== undefined) this.stderr.write(stderr)
      if (code === undefined) return
      this.#host.off('message', onMessage)
      this.#host.off('exit', onExit)
      giveBack(this.#host)
      this.#end(code)
    }
    const onExit = (code: number | null): void => this.#end(code)
    this.#host.on('message', onMessage)
    this.#host.once('exit', onExit)
    this.#host.send({ argv })
  }

  kill(signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void {
    if (signal === 'SIGKILL') this.#host.kill(signal)
    else this.#host.send({ signal })
  }

  #end(code: number | null): void {
    this.stdout.end()
    this.stderr.end()
    // When all that it wrote has been read, as with a process.
    setImmediate(() => this.emit('close', code))
  }
}

export function startHosted(argv: readonly string[]): Program {
  return new Hosted(argv)
}
