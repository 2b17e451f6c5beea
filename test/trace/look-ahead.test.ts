/** The reading that knows what is ahead: how far it goes, and that it ends. */
import { expect, it } from 'vitest'
import type { CaptureSource } from '../../src/capture/index.ts'
import { fileSource } from '../../src/files/index.ts'
import { parseFilter, type Row, showCapture } from '../../src/trace/index.ts'

const capture = (name: string) => fileSource(new URL(`../captures/${name}.pcap`, import.meta.url).pathname)

/** A source whose readings are counted: how many packets each has handed out, and how many have ended. */
function counted(source: CaptureSource) {
  const read: number[] = []
  const seen = { ended: 0 }
  const wrapped: CaptureSource = {
    repeatable: true,
    async read(onPacket, options) {
      const reading = read.push(0) - 1
      const parser = await source.read((packet, from) => {
        read[reading]!++
        return onPacket(packet, from)
      }, options)
      seen.ended++
      return parser
    },
  }
  return { source: wrapped, read, seen }
}

async function rowsOf(source: CaptureSource, options: object): Promise<Row[]> {
  const rows: Row[] = []
  await showCapture(source, (row) => rows.push(row), options)
  return rows
}

it('the first line does not wait for the end of the capture', async () => {
  const { source, read, seen } = counted(capture('rstream'))
  let atFirst: number[] = []
  const rows: Row[] = []
  const onRow = (row: Row): void => {
    if (rows.push(row) === 1) atFirst = [...read]
  }
  // 495 packets; a chunk of 4096 bytes holds 40 at most.
  await showCapture(source, onRow, { lookAheadPackets: 100, chunkSize: 4096 })
  expect(atFirst[0]).toBeGreaterThanOrEqual(100)
  expect(atFirst[0]).toBeLessThan(150)
  expect(read).toEqual([495, 495])
  expect(seen.ended).toBe(2)
  expect(rows).toEqual(await rowsOf(capture('rstream'), {}))
})

it('both readings end where the limit is', async () => {
  const { source, read, seen } = counted(capture('rstream'))
  expect(await rowsOf(source, { limit: 3, lookAheadPackets: 100, chunkSize: 4096 })).toHaveLength(3)
  expect(read[1]).toBe(3)
  expect(read[0]).toBeLessThan(150)
  expect(seen.ended).toBe(2)
})

it('what cannot be read a second time is an error, not a wait', async () => {
  const broken: CaptureSource = { repeatable: true, read: () => Promise.reject(new Error('gone')) }
  await expect(rowsOf(broken, {})).rejects.toThrow('gone')
})

it('without anything ahead, the end of the connection is not known at its start', async () => {
  const filter = parseFilter('number < 3 and srcqp')
  expect(await rowsOf(capture('rc_pingpong_loss3'), { filter })).toHaveLength(2)
  const unknowing = { ...capture('rc_pingpong_loss3'), repeatable: false }
  expect(await rowsOf(unknowing, { filter })).toHaveLength(0)
})
