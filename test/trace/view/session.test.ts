/** The worker's side of the page, without a worker: what it says while it reads, and what it answers. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CaptureParser, drain, PcapngWriter, PcapWriter } from '../../../src/capture/index.ts'
import { analyseCapture, bytesSource } from '../../../src/trace/index.ts'
import {
  type CaptureBytes,
  captureBytes,
  type FromWorker,
  type RequestName,
  type Requests,
  Session,
  Shape,
} from '../../../src/trace/view/index.ts'
import { WireOpcode } from '../../../src/wire/index.ts'
import { memorySink } from '../../capture/files.ts'
import { aeth, roceFrame } from '../packets.ts'

const file = new URL('../../captures/rc_pingpong_loss3.pcap', import.meta.url)
const bytes = new Uint8Array(readFileSync(file))

function start(
  open: (source: Uint8Array) => CaptureBytes = captureBytes,
  heard: (message: FromWorker) => void = () => {},
) {
  const said: FromWorker[] = []
  let time = 0
  const session = new Session(open, {
    post: (message) => {
      said.push(message)
      heard(message)
    },
    nextTurn: async () => {},
    now: () => (time += 150),
  })
  let id = 0
  async function ask<Name extends RequestName>(name: Name, input: Requests[Name][0]): Promise<Requests[Name][1]> {
    await session.take({ id: ++id, name, with: input })
    const reply = said.find((message) => 'id' in message && message.id === id)!
    if ('error' in reply) throw new Error(reply.error)
    return (reply as unknown as { result: Requests[Name][1] }).result
  }
  return { session, said, ask }
}

describe('a session', () => {
  it('sums up, and answers', async () => {
    const { session, said, ask } = start()
    await expect(ask('json', {})).rejects.toThrow('no capture is open')
    await session.take({ open: bytes })
    const [last] = said.slice(-1)
    expect(last).toMatchObject({ complete: true, summary: { packets: 815, listed: 815, conversationCount: 1 } })
    expect(JSON.parse(await ask('json', {}))).toEqual(await analyseCapture(bytesSource(bytes)))
    expect((await ask('conversation', { number: 1 }))?.directions.length).toBe(2)
    expect(await ask('conversation', { number: 2 })).toBeNull()
    expect((await ask('lines', { from: 9, count: 1 }))[0]).toMatchObject({
      ...{ number: 10, conversation: 1, what: 'RC NAK', psn: '15043937', part: 'warning' },
    })
    const detail = (await ask('packet', { number: 10 }))!
    expect(detail.bytes.length).toBe(62)
    expect(detail.layers.map(({ title }) => title).at(-1)).toBe('ICRC, right')
    expect([await ask('packet', { number: 0 }), await ask('packet', { number: 816 })]).toEqual([null, null])
    const name = { conversation: 1, direction: 0, diagram: 'psn' as const }
    const { count, shapes } = await ask('diagram', name)
    expect([count, shapes[Shape.Nak]]).toEqual([396, 11])
    const first = await ask('next', { ...name, shape: Shape.Nak, after: 0 })
    expect(first).toMatchObject({ number: 10, shape: Shape.Nak })
    expect(await ask('next', { ...name, shape: Shape.Nak, after: 815 })).toEqual(first)
    expect(await ask('find', { ...name, number: 10 })).toEqual(first)
    expect(await ask('diagram', { ...name, direction: 2 })).toMatchObject({ count: 0 })
    expect(await ask('filter', { text: 'nak' })).toEqual({ shown: 16, complete: true })
    expect(said.some((message) => 'filtering' in message)).toBe(true)
    await expect(ask('filter', { text: 'nonsense' })).rejects.toThrow('there is no field "nonsense"')
  })

  it('numbers packets as the commands and tshark do: a custom block has a number, too', async () => {
    const section = (psns: readonly number[]): Uint8Array => {
      const sink = memorySink()
      const writer = new PcapngWriter(sink)
      writer.addInterface({ resolution: 9 })
      for (const psn of psns) {
        const frame = roceFrame({ opcode: WireOpcode.RcSendOnly, payload: 8, psn })
        writer.packet(frame, 0, frame.length, 1_700_000_000, psn * 1000)
      }
      writer.close()
      return sink.bytes()
    }
    const custom = new Uint8Array(new Uint32Array([0xbad, 16, 32473, 16]).buffer)
    const capture = new Uint8Array(
      Buffer.concat([section([7]), custom, custom, section([8, 9]), custom, section([10])]),
    )
    const { session, ask } = start()
    await session.take({ open: capture })
    const numbers = async () => (await ask('lines', { from: 0, count: 9 })).map(({ number, psn }) => [number, psn])
    expect(await numbers()).toEqual([[1, '7'], [4, '8'], [5, '9'], [7, '10']]) // biome-ignore format: rows
    for (const none of [2, 6, 8]) expect(await ask('packet', { number: none })).toBeNull()
    expect((await ask('packet', { number: 5 }))?.title).toMatch(/^Packet 5, /)
    expect(await ask('place', { number: 7 })).toBe(3)
    const name = { conversation: 1, direction: 0, diagram: 'psn' as const }
    const spots = [await ask('find', { ...name, number: 5 })]
    for (const after of [0, 1, 4, 7]) spots.push(await ask('next', { ...name, shape: spots[0]!.shape, after }))
    expect(spots.map((spot) => spot?.number)).toEqual([5, 1, 4, 5, 1])
    await ask('filter', { text: 'psn > 7' })
    expect((await numbers()).map(([number]) => number)).toEqual([4, 5, 7])
    expect(await ask('filter', { text: 'number == 5' })).toEqual({ shown: 1, complete: true })
  })

  it('says why it cannot open something, and keeps what it had', async () => {
    const { session, said, ask } = start((source) => {
      if (source.length > 0) return captureBytes(source)
      return { read: () => Promise.reject(new Error('the file is gone')), slice: async () => source }
    })
    await session.take({ open: bytes })
    await session.take({ open: new TextEncoder().encode('this is no capture') })
    expect(said.at(-1)).toEqual({ failed: expect.stringContaining('neither pcap nor pcapng') })
    await session.take({ open: new Uint8Array() })
    expect(said.at(-1)).toEqual({ failed: 'the file is gone' })
    expect(await ask('place', { number: 815 })).toBe(814)
  })

  it('shows packets with times that no calendar has', async () => {
    const sink = memorySink()
    const writer = new PcapngWriter(sink)
    writer.addInterface({ resolution: 6 })
    const frame = roceFrame({ opcode: WireOpcode.RcSendOnly, payload: 64 })
    for (const seconds of [9e12, 1_700_000_000]) writer.packet(frame, 0, frame.length, seconds, 1000)
    writer.close()
    const { session, said, ask } = start()
    await session.take({ open: sink.bytes() })
    expect(said.at(-1)).toMatchObject({ complete: true, summary: { start: 9e12 } })
    const first = (await ask('packet', { number: 1 }))!
    expect(first.facts[0]).toBe('captured 9000000000000.000001000 s since 1970')
    expect((await ask('packet', { number: 2 }))!.facts[0]).toMatch(/^captured 2023-11-14 22:13:20\.\d{9} UTC$/)
  })

  it('says that the list is cut if it is cancelled in the second reading', async () => {
    const sink = memorySink()
    const writer = new PcapWriter(sink)
    const back = { source: '10.0.0.2', destination: '10.0.0.1', opcode: WireOpcode.RcAck, extension: aeth(0x1f, 0) }
    const send = (destQp: number, psn: number) =>
      roceFrame({ opcode: WireOpcode.RcSendOnly, payload: 8, ackReq: true, destQp, psn })
    const ack = (destQp: number, psn: number) => roceFrame({ ...back, destQp, psn })
    // Which connection the first ACKs are of shows later.
    const frames = [send(1, 7), send(2, 7), ack(11, 7), ack(12, 7), send(1, 8), ack(11, 8), send(2, 8), ack(12, 8)]
    for (const [i, frame] of frames.entries()) writer.packet(frame, 0, frame.length, 1_700_000_000, i * 1000)
    writer.close()
    let readings = 0
    const cancelledLate = (source: Uint8Array): CaptureBytes => ({
      ...captureBytes(source),
      async read(onPacket, options) {
        if (++readings === 1) return await captureBytes(source).read(onPacket, options)
        const parser = new CaptureParser()
        parser.push(source)
        drain(parser, (packet) => onPacket(packet, parser) && packet.number < 3)
        await session.take({ cancel: 'load' })
        return parser
      },
    })
    const { session, said } = start(cancelledLate)
    await session.take({ open: sink.bytes() })
    expect(said.at(-1)).toMatchObject({
      ...{ complete: true },
      summary: { packets: 8, listed: 3, cancelled: false, listingCancelled: true },
    })
  })

  it('shows what was read until it is cancelled', async () => {
    const inChunks = (source: Uint8Array): CaptureBytes => ({
      ...captureBytes(source),
      async read(onPacket, { signal, onProgress }) {
        const parser = new CaptureParser()
        for (let at = 0; at < source.length && !signal.aborted; at += 100_000) {
          parser.push(source.subarray(at, at + 100_000))
          drain(parser, onPacket)
          await onProgress(at, source.length)
        }
        return parser
      },
    })
    const { session, said, ask } = start(inChunks, (message) => {
      if ('progress' in message && message.progress.packets > 200) void session.take({ cancel: 'load' })
    })
    await session.take({ open: bytes })
    expect(said.filter((message) => 'summary' in message).length).toBeGreaterThan(1)
    const last = said.at(-1) as { summary: { packets: number } }
    expect(last).toMatchObject({ complete: true, summary: { cancelled: true, damageCount: 0 } })
    const { packets } = last.summary
    expect(packets).toBeGreaterThan(200)
    expect(packets).toBeLessThan(500)
    expect((await ask('lines', { from: packets - 1, count: 5 })).map(({ number }) => number)).toEqual([packets])
  })
})
