/** Destination of a capture writer's bytes. */

export interface CaptureSink {
  /** Consumes the bytes before it returns: the writer reuses their memory. */
  write(bytes: Uint8Array): void
  close?(): void
  /** Restores the previous state after a failure, if the sink can; called instead of `close`. */
  abandon?(): void
}

/** Collects small writes in one buffer. */
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
