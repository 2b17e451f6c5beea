/** Where a writer of captures puts its bytes. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

export interface CaptureSink {
  /** Takes the bytes before it returns: the writer uses their memory again. */
  write(bytes: Uint8Array): void
  close?(): void
}

/** A file, made new; `-` is standard output. */
export function fileSink(path: string): CaptureSink {
  const descriptor = path === '-' ? 1 : openSync(path, 'w')
  return {
    write(bytes) {
      for (let at = 0; at < bytes.length; ) at += writeSome(descriptor, bytes, at)
    },
    close() {
      if (path !== '-') closeSync(descriptor)
    },
  }
}

/** A pipe that is full says EAGAIN where Node has made it non-blocking. */
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
  return {
    write(bytes) {
      sink.write(gzipSync(bytes, { level: 6 }))
    },
    close() {
      sink.close?.()
    },
  }
}

/** Collects small writes into one piece of memory. */
export class SinkBuffer {
  bytes: Uint8Array
  view: DataView
  at = 0
  readonly sink: CaptureSink

  constructor(sink: CaptureSink, size: number = 1 << 18) {
    this.sink = sink
    this.bytes = new Uint8Array(size)
    this.view = new DataView(this.bytes.buffer)
  }

  /** Makes room for `count` bytes at `at`. */
  reserve(count: number): void {
    if (this.bytes.length - this.at >= count) return
    this.flush()
    if (this.bytes.length >= count) return
    this.bytes = new Uint8Array(count)
    this.view = new DataView(this.bytes.buffer)
  }

  flush(): void {
    if (this.at > 0) this.sink.write(this.bytes.subarray(0, this.at))
    this.at = 0
  }
}
