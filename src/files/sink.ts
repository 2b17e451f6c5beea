/** Files, pipes and standard output as sinks of capture writers. */
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import * as zlib from 'node:zlib'
import type { CaptureSink } from '../capture/index.ts'

/**
 * Returns a sink for a file; `-` is standard output. The data goes to a temporary file beside it, which replaces it when the sink
 * is closed: until then an older file of this name is complete, and may even be the one that is being read.
 */
export function fileSink(path: string): CaptureSink {
  if (path === '-') return descriptorSink(1)
  const old = statSync(path, { throwIfNoEntry: false })
  // A FIFO or a device has no contents that could be lost, and cannot be replaced.
  if (old !== undefined && !old.isFile()) return descriptorSink(openSync(path, 'w'), true)
  return replacingSink(old === undefined ? behindLinks(path) : realpathSync(path), old)
}

function descriptorSink(descriptor: number, ours = false): CaptureSink {
  const close = (): void => {
    if (ours) closeSync(descriptor)
  }
  return {
    write(bytes) {
      for (let at = 0; at < bytes.length; ) at += writeSome(descriptor, bytes, at)
    },
    close,
    abandon: close,
  }
}

function replacingSink(target: string, old: Stats | undefined): CaptureSink {
  if (old !== undefined) accessSync(target, constants.W_OK)
  // In a container the process id may be that of a killed process that left its file.
  const temporary = `${target}.${process.pid}-${randomBytes(4).toString('hex')}.part`
  const descriptor = openNew(temporary, target)
  if (old !== undefined) fchmodSync(descriptor, old.mode & 0o777)
  const file = descriptorSink(descriptor, true)
  const discard = (): void => rmSync(temporary, { force: true })
  let open = true
  const end = (): void => {
    open = false
    process.off('exit', discard)
    file.close!()
  }
  // The second Ctrl-C ends the process at once.
  process.on('exit', discard)
  return {
    write: file.write,
    close() {
      end()
      try {
        renameSync(temporary, target)
      } catch {
        // A file that is mounted by itself, as in containers, can be overwritten but not replaced.
        try {
          copyFileSync(temporary, target)
        } finally {
          discard()
        }
      }
    },
    abandon() {
      if (!open) return
      end()
      discard()
    },
  }
}

/** Opens the temporary file; an error contains the name of the file that the caller knows. */
function openNew(temporary: string, target: string): number {
  try {
    return openSync(temporary, 'wx')
  } catch (error) {
    throw Object.assign(error as Error, { message: (error as Error).message.replace(temporary, target), path: target })
  }
}

/** Returns the file that would be created: a symbolic link may point to one that does not exist. */
function behindLinks(path: string): string {
  const info = lstatSync(path, { throwIfNoEntry: false })
  return info?.isSymbolicLink() ? behindLinks(resolve(dirname(path), readlinkSync(path))) : path
}

/** True if the file or descriptor `source` is the file that `fileSink` would write, under any name. */
export function isSameFile(source: string, target: string): boolean {
  const from = source === '-' ? fstatSync(0) : statSync(source)
  const to = target === '-' ? fstatSync(1) : statSync(target, { throwIfNoEntry: false })
  return to !== undefined && from.isFile() && from.dev === to.dev && from.ino === to.ino
}

/** Writes some bytes and returns their number; a full pipe that Node has made non-blocking returns EAGAIN, and this returns 0. */
function writeSome(descriptor: number, bytes: Uint8Array, at: number): number {
  try {
    return writeSync(descriptor, bytes, at)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    Atomics.wait(pause, 0, 0, 1)
    return 0
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4))

/** Compresses each write as a gzip member of its own; together they are one valid gzip file. */
export function gzipSink(sink: CaptureSink): CaptureSink {
  return compressing(sink, (bytes) => zlib.gzipSync(bytes, { level: 6 }))
}

const { zstdCompressSync } = zlib as { zstdCompressSync?: (bytes: Uint8Array) => Uint8Array }

/** True if this Node.js has zstd: 22.15 and later, and 23.8 and later. */
export const canWriteZstd: boolean = zstdCompressSync !== undefined

/** Compresses each write as a zstd frame of its own; together they are one valid zstd file. Check `canWriteZstd` first. */
export function zstdSink(sink: CaptureSink): CaptureSink {
  return compressing(sink, zstdCompressSync!)
}

function compressing(sink: CaptureSink, compress: (bytes: Uint8Array) => Uint8Array): CaptureSink {
  return {
    write(bytes) {
      sink.write(compress(bytes))
    },
    close() {
      sink.close?.()
    },
    abandon() {
      sink.abandon?.()
    },
  }
}
