/**
 * Lines on a descriptor. They are written at once, by the thread that serves the programs, so that a program's last action is there even if
 * it never does anything again.
 */
import { writeSync } from 'node:fs'

/** Time between attempts in milliseconds, if the reader does not read from a pipe that does not block. */
const fullPipeMs = 5

export class Output {
  readonly #fd: number
  #broken = false

  constructor(fd: number) {
    this.#fd = fd
  }

  readonly line = (text: string): void => {
    const bytes = Buffer.from(`${text}\n`)
    for (let at = 0; at < bytes.length && !this.#broken; )
      try {
        at += writeSync(this.#fd, bytes, at)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === 'EAGAIN') Atomics.wait(never, 0, 0, fullPipeMs)
        // The reader has closed the stream, or the disk is full: programs go on.
        else this.#broken = true
      }
  }
}

const never = new Int32Array(new SharedArrayBuffer(4))
