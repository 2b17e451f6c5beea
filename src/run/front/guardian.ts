/**
 * Ends programs whose supervisor was killed: without it each of their opens fails (ENOSYS), which few programs handle. A small shell waits
 * for the end of a pipe from this process. It is not a child of ours, since this process waits for all its children, and it is detached, so
 * that no signal of a terminal reaches it. It recognizes the programs by a mark that all processes started by the launcher carry, whatever
 * they do to their environment. A process that has ended and whose parent does not wait for it, as in a container, keeps the mark and
 * accepts signals for ever: the guardian does not wait for it.
 */
import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { markedLine } from '../../memory/index.ts'

const script = `
(
  IFS= read -r word
  [ "$word" = done ] && exit
  any=
  while :; do
    found=
    for folder in /proc/[0-9]*; do
      if grep -qs "^$1" "$folder/limits"; then
        ended=
        grep -qs '^State:.Z' "$folder/status" && ended=1
        kill -KILL "\${folder#/proc/}" 2>/dev/null && [ -z "$ended" ] && found=1 any=1
      fi
    done
    [ -z "$found" ] && break
  done
  rm -rf "$2"
  [ -n "$any" ] && echo 'verbena run: the supervisor was killed: what it served has been ended' >&2
) <&3 3<&- &`

export class Guardian {
  readonly #pipe: Writable | null

  private constructor(pipe: Writable | null) {
    this.#pipe = pipe
  }

  /**
   * Starts a guardian for programs with this mark (`withMark`), which also removes `folder`. Must have resolved before this process adopts
   * descendants. If there is no shell, no process guards the programs.
   */
  static start(mark: number, folder: string): Promise<Guardian> {
    return new Promise((resolve) => {
      const child = spawn('/bin/sh', ['-c', script, 'guardian', markedLine(mark), folder], {
        detached: true,
        stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
      })
      const pipe = child.stdio[3] as Writable | null
      // The guardian may have been killed itself.
      pipe?.on('error', () => {})
      child.on('error', () => resolve(new Guardian(null)))
      child.on('exit', () => resolve(new Guardian(pipe)))
    })
  }

  /** Ends the remaining programs: the supervisor has failed. */
  release(): void {
    this.#pipe?.end()
  }

  /** Dismisses the guardian: all programs have ended. */
  dismiss(): void {
    this.#pipe?.end('done\n')
  }
}
