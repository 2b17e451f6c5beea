/**
 * What ends programs whose supervisor was killed: without one each of their opens fails (ENOSYS), which few programs understand. A small
 * shell waits for the end of a pipe from this process. It is no child of ours, which waits for all of those, and detached,
 * so that no terminal reaches it. It knows the programs by a mark that all have which the launcher has started, whatever
 * they do about their environment. One that has ended and whose parent does not ask for it, as in a container, has the mark and takes signals
 * for ever: it is not waited for.
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
   * Starts one for programs with this mark (`withMark`). `folder` is removed, too. Must have resolved before this
   * process adopts descendants. Where there is no shell, nobody watches.
   */
  static start(mark: number, folder: string): Promise<Guardian> {
    return new Promise((resolve) => {
      const child = spawn('/bin/sh', ['-c', script, 'guardian', markedLine(mark), folder], {
        detached: true,
        stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
      })
      const pipe = child.stdio[3] as Writable | null
      // It may be killed itself.
      pipe?.on('error', () => {})
      child.on('error', () => resolve(new Guardian(null)))
      child.on('exit', () => resolve(new Guardian(pipe)))
    })
  }

  /** The supervisor has failed: the programs that are left are to end. */
  release(): void {
    this.#pipe?.end()
  }

  /** All programs have ended. */
  dismiss(): void {
    this.#pipe?.end('done\n')
  }
}
