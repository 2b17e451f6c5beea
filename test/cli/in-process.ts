/**
 * Runs commands in this process: without the start of one, which takes longer than most commands. They are the built ones,
 * since threads start faster from JavaScript.
 */
import { Writable } from 'node:stream'
import type { run as Run } from '../../src/cli/run.ts'
import { runModule } from '../built.ts'
import type { Outcome } from './run.ts'

const { run } = (await import(/* @vite-ignore */ runModule)) as { run: typeof Run }

/** A command that runs. */
export interface Running {
  outcome: Promise<Outcome>
  /** As Ctrl-C or `kill`. */
  interrupt(signal?: 'SIGINT' | 'SIGTERM'): void
  /** Resolves with what matches when it has written that to either of its outputs. */
  says(what: RegExp): Promise<RegExpExecArray>
}

class Text extends Writable {
  text = ''
  readonly #onText: () => void

  constructor(onText: () => void) {
    super()
    this.#onText = onText
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString()
    this.#onText()
    done()
  }
}

export function begin(args: readonly string[]): Running {
  const interrupter = new AbortController()
  const waiting = new Set<() => void>()
  const look = (): void => {
    for (const check of waiting) check()
  }
  const stdout = new Text(look)
  const stderr = new Text(look)
  const outcome = run(args, { stdout, stderr, signal: interrupter.signal }).then((code) => ({
    ...{ code, stdout: stdout.text, stderr: stderr.text },
  }))
  return {
    outcome,
    interrupt: (signal = 'SIGINT') => interrupter.abort(signal),
    says: (what) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const found = what.exec(stdout.text) ?? what.exec(stderr.text)
          if (found === null) return
          waiting.delete(check)
          resolve(found)
        }
        waiting.add(check)
        check()
        outcome.then(({ stdout, stderr }) => reject(new Error(`it ended without ${what}: ${stdout}${stderr}`)), reject)
      }),
  }
}

export async function verbena(...args: string[]): Promise<Outcome> {
  return await begin(args).outcome
}
