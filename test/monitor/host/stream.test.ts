/** Windows of what comes through a pipe. */
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { PcapWriter } from '../../../src/capture/index.ts'
import { streamSource } from '../../../src/files/index.ts'
import { watchCapture } from '../../../src/monitor/host/index.ts'
import { monitorConfig, Observer } from '../../../src/monitor/index.ts'
import { WireOpcode } from '../../../src/wire/index.ts'
import { roceFrame } from '../../trace/packets.ts'

function capture(atMs: number): Uint8Array {
  const chunks: Uint8Array[] = []
  const writer = new PcapWriter({ write: (bytes) => void chunks.push(bytes.slice()) })
  const frame = roceFrame({ opcode: WireOpcode.RcSendOnly, source: '10.0.0.1', destination: '10.0.0.2', payload: 8 })
  const seconds = Math.floor(atMs / 1000)
  writer.packet(frame, 0, frame.length, seconds, (atMs - seconds * 1000) * 1e6, frame.length)
  writer.close()
  return Buffer.concat(chunks)
}

/** Ticks come to `ticked`, windows to `windows`. */
function watch(atMs: number, settleMs?: number): { ticked: Promise<void>; windows: number[]; end(): Promise<unknown> } {
  const windows: number[] = []
  const stream = new PassThrough()
  let tick = (): void => {}
  const ticked = new Promise<void>((resolve) => {
    tick = resolve
  })
  class Ticked extends Observer {
    override tick(nowMs: number): void {
      super.tick(nowMs)
      tick()
    }
  }
  const observer = new Ticked({
    ...{ config: monitorConfig({ windowSeconds: 3600, memoryBytes: 2 ** 20 }), agent: 'a', run: 'r' },
    onWindow: (window) => windows.push(window.count('packets')),
  })
  const done = watchCapture(streamSource(stream), () => observer, {
    ...{ signal: new AbortController().signal, trace: {}, ...(settleMs !== undefined && { settleMs }) },
  })
  stream.write(capture(atMs))
  return {
    ...{ ticked, windows },
    end: async () => {
      stream.end()
      return await done
    },
  }
}

describe('a pipe', () => {
  it('whose packets are of now has windows that end with the clock', async () => {
    const { ticked, windows, end } = watch(Date.now())
    await ticked
    await end()
    // Ended by the end, or by the clock if an hour has just begun.
    expect(windows.reduce((sum, count) => sum + count, 0)).toBe(1)
  })

  it('whose packets are old ends them with its packets, unless it is said to be live', async () => {
    const old = watch(1_700_000_000_000)
    const live = watch(1_700_000_000_000, 200)
    // Both have had the same time to do it.
    await live.ticked
    await Promise.all([old.end(), live.end()])
    expect([old.windows, live.windows]).toEqual([[1], [1, 0]])
  })
})
