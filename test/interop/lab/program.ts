/** A program with a time limit, its output collected, ended by its own process id. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Outcome {
  /** Exit code; null when a signal ended it, as the time limit does. */
  code: number | null
  /** Both streams, in the order of arrival. */
  output: string
  stdout: string
}

export class Program {
  readonly name: string
  readonly child: ChildProcess
  readonly ended: Promise<Outcome>
  #output = ''
  #stdout = ''
  readonly #listeners = new Set<() => void>()

  constructor(command: string, args: readonly string[], timeLimitMs: number) {
    this.name = [command, ...args].join(' ')
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: timeLimitMs, killSignal: 'SIGKILL' })
    this.child.stdout?.on('data', (chunk: Buffer) => {
      this.#stdout += chunk.toString()
      this.#add(chunk)
    })
    this.child.stderr?.on('data', (chunk: Buffer) => this.#add(chunk))
    this.child.stdin?.on('error', () => {})
    this.ended = once(this.child, 'close').then(
      ([code]) => ({ code: code as number | null, output: this.#output, stdout: this.#stdout }),
      (error: Error) => ({ code: null, output: `${error.message}\n${this.#output}`, stdout: this.#stdout }),
    )
    void this.ended.then(() => this.#wake())
  }

  get output(): string {
    return this.#output
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null && this.child.pid !== undefined
  }

  /** Waits for `text` in the output, from a position on; fails when the program ends without it, or `timeLimitMs` passes. */
  async says(text: string, timeLimitMs: number, from = 0): Promise<void> {
    const until = performance.now() + timeLimitMs
    while (!this.#output.includes(text, from)) {
      const leftMs = until - performance.now()
      if (!this.running) throw new Error(`${this.name} ended without saying '${text}':\n${tail(this.#output)}`)
      if (leftMs <= 0) {
        throw new Error(`${this.name} did not say '${text}' within ${timeLimitMs} ms:\n${tail(this.#output)}`)
      }
      await this.#news(leftMs)
    }
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<Outcome> {
    if (this.running) this.child.kill(signal)
    return await this.ended
  }

  #add(chunk: Buffer): void {
    this.#output += chunk.toString()
    this.#wake()
  }

  #wake(): void {
    for (const wake of [...this.#listeners]) wake()
  }

  #news(timeLimitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#listeners.delete(done)
        resolve()
      }
      const timer = setTimeout(done, timeLimitMs)
      this.#listeners.add(done)
    })
  }
}

export function tail(text: string, lines = 12): string {
  return text.trimEnd().split('\n').slice(-lines).join('\n')
}

/** Runs a program to its end; throws unless it ended with code 0. */
export async function runProgram(command: string, args: readonly string[], timeLimitMs: number): Promise<string> {
  const program = new Program(command, args, timeLimitMs)
  const { code, output, stdout } = await program.ended
  if (code !== 0) throw new Error(`${program.name} ended with ${code ?? 'a signal'}:\n${tail(output)}`)
  return stdout
}
