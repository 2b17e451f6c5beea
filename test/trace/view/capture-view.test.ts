/** A capture that was read once shows any packet again, as `trace show` does, and tells the same of its conversations. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { LinkType, PcapngWriter, PcapWriter } from '../../../src/capture/index.ts'
import { analyseCapture, bytesSource, parseFilter, plainJson, type Row, showCapture } from '../../../src/trace/index.ts'
import { CaptureView, captureBytes } from '../../../src/trace/view/index.ts'
import { PacketList } from '../../../src/trace/view/packet-list.ts'
import { WireOpcode } from '../../../src/wire/index.ts'
import { block, concat, memorySink, words } from '../../capture/files.ts'
import { aeth, roceFrame, rocePacket } from '../packets.ts'

const folder = new URL('../../captures/', import.meta.url)
const files = readdirSync(folder).filter((name) => name.endsWith('.pcap'))
const plain = (row: Row): unknown => JSON.parse(JSON.stringify(row, plainJson))

async function viewOf(bytes: Uint8Array, limit?: number): Promise<CaptureView> {
  const view = new CaptureView(captureBytes(bytes), {}, limit)
  await view.load({ signal: new AbortController().signal, onProgress() {} })
  return view
}

async function rowsOf(view: CaptureView, packets: ArrayLike<number>): Promise<unknown[]> {
  const rows: unknown[] = []
  await view.rows(packets, (row) => {
    rows.push(plain(row))
    return undefined
  })
  return rows
}

describe.each(files)('%s', (file) => {
  const bytes = new Uint8Array(readFileSync(new URL(file, folder)))

  it('has the rows of trace show and the conversations of trace info', async () => {
    const view = await viewOf(bytes)
    const shown: unknown[] = []
    await showCapture(bytesSource(bytes), (row) => shown.push(plain(row)))
    const all = Array.from({ length: view.index.count }, (_, i) => i)
    expect(await rowsOf(view, all)).toEqual(shown)
    // Any of them by itself, too.
    expect(
      await rowsOf(
        view,
        all.filter((i) => i % 7 === 3),
      ),
    ).toEqual(shown.filter((_, i) => i % 7 === 3))
    expect(view.info()).toEqual(await analyseCapture(bytesSource(bytes)))
  })
})

/** Two interfaces, of Ethernet and of raw IP; cut packets, packets without a time, and a clock that goes back; big endian. */
function unusual(): Uint8Array {
  const sink = memorySink()
  const writer = new PcapngWriter(sink, { littleEndian: false })
  writer.addInterface({ resolution: 6 })
  writer.addInterface({ linkType: LinkType.Raw })
  const send = (psn: number) => roceFrame({ opcode: WireOpcode.RcSendOnly, payload: 64, psn, ackReq: true })
  const back = { source: '10.0.0.2', destination: '10.0.0.1' }
  const ack = (psn: number) => rocePacket({ opcode: WireOpcode.RcAck, extension: aeth(0x1f, 0), psn, ...back })
  const add = (bytes: Uint8Array, id: number, microseconds: number, length = bytes.length): void =>
    writer.packet(bytes, 0, length, 1_700_000_000, microseconds * 1000, bytes.length, id)
  add(send(7), 0, 100)
  add(send(8), 0, 90)
  add(ack(8), 1, 120)
  add(send(9), 0, 130, 60)
  add(ack(9), 1, 140, 30)
  writer.close()
  // A Simple Packet Block has no time: from the first interface.
  const frame = send(10)
  const simple = block(3, concat([words([frame.length], false), frame]), false)
  return concat([sink.bytes(), simple, block(3, concat([words([20], false), new Uint8Array(20)]), false)])
}

describe('unusual packets', () => {
  it('are shown as trace show does', async () => {
    const bytes = unusual()
    const view = await viewOf(bytes)
    const shown: Row[] = []
    await showCapture(bytesSource(bytes), (row) => void shown.push(row))
    expect(shown.map(({ cut, epoch, delta }) => [cut, epoch?.nanoseconds, Math.round(delta * 1e6)])).toEqual([
      [undefined, 100_000, 0],
      [undefined, 90_000, -10],
      [undefined, 120_000, 30],
      [true, 130_000, 10],
      [true, 140_000, 10],
      [undefined, undefined, 0],
      [undefined, undefined, 0],
    ])
    expect(await rowsOf(view, [0, 1, 2, 3, 4, 5, 6])).toEqual(shown.map(plain))
    expect(view.index.ordered).toBe(false)
    // 26 bytes for each of 65,536 packets, and what these need beyond.
    expect(view.index.bytes).toBe(65_536 * (26 + 4 + 4 + 1))
  })

  it('are listed up to a limit, and counted beyond', async () => {
    const bytes = new Uint8Array(readFileSync(new URL('rping.pcap', folder)))
    const view = await viewOf(bytes, 20)
    expect([view.index.count, view.info()]).toEqual([20, await analyseCapture(bytesSource(bytes))])
    expect((await rowsOf(view, [19])).length).toBe(1)
  })
})

it('knows of the first responses what later ones tell about their connections', async () => {
  const sink = memorySink()
  const writer = new PcapWriter(sink)
  const there = { source: '10.0.0.1', destination: '10.0.0.2' }
  const back = { source: '10.0.0.2', destination: '10.0.0.1', opcode: WireOpcode.RcAck, extension: aeth(0x1f, 0) }
  const send = (destQp: number, psn: number) =>
    roceFrame({ ...there, opcode: WireOpcode.RcSendOnly, payload: 8, ackReq: true, destQp, psn })
  const ack = (destQp: number, psn: number) => roceFrame({ ...back, destQp, psn })
  // Both connections have PSN 7 outstanding at first.
  const frames = [send(1, 7), send(2, 7), ack(11, 7), ack(12, 7), send(1, 8), ack(11, 8), send(2, 8), ack(12, 8)]
  for (const [i, frame] of frames.entries()) writer.packet(frame, 0, frame.length, 1_700_000_000, i * 1000)
  writer.close()
  const bytes = sink.bytes()
  const view = await viewOf(bytes)
  const shown: Row[] = []
  await showCapture(bytesSource(bytes), (row) => void shown.push(row))
  expect(shown.map(({ unpaired }) => unpaired)).not.toContain(true)
  expect(await rowsOf(view, [0, 1, 2, 3, 4, 5, 6, 7])).toEqual(shown.map(plain))
  expect(view.info()).toEqual(await analyseCapture(bytesSource(bytes)))
  expect(view.info()!.conversations.map(({ paired }) => paired)).toEqual(['ack', 'ack'])
})

describe('the list of packets', () => {
  const bytes = new Uint8Array(readFileSync(new URL('rc_pingpong_loss3.pcap', folder)))

  it('has what a filter lets through, in any order of asking', async () => {
    const list = new PacketList(await viewOf(bytes))
    const expected: number[] = []
    await showCapture(bytesSource(bytes), ({ number }) => void expected.push(number - 1), {
      filter: parseFilter('nak or conv == 1 and retransmission'),
    })
    const looked: number[] = []
    const done = await list.filter('nak or conv == 1 and retransmission', async (_, at) => void looked.push(at))
    expect([done, list.length, looked.at(-1)]).toEqual([true, expected.length, 815])
    expect([...list.slice(0, 1000)]).toEqual(expected)
    expect([...list.slice(3, 2), ...list.slice(expected.length - 1, 5)]).toEqual([
      ...expected.slice(3, 5),
      expected.at(-1),
    ])
    for (const packet of [0, 9, 10, 400, 814])
      expect(list.placeOf(packet)).toBe(expected.filter((one) => one < packet).length)
    await expect(list.filter('nak and', async () => {})).rejects.toThrow('ends too early')
    expect(list.length).toBe(expected.length)
    await list.filter(' ', async () => {})
    expect([list.length, list.placeOf(99)]).toEqual([815, 99])
  })

  it('keeps what a search had found when it was cancelled', async () => {
    const list = new PacketList(await viewOf(bytes))
    const search = list.filter('roce', async () => list.cancel())
    expect([await search, list.length]).toEqual([false, 815])
    const first = list.filter('nak', async () => {})
    const second = list.filter('ackreq', async () => {})
    expect([await first, await second]).toEqual([false, true])
    const rows = await list.slice(0, 1000)
    expect(rows.length).toBeGreaterThan(16)
  })
})
