/** The node-type influxdb: its points, read by a strict parser of the line protocol behind a UDP socket. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { SampleField, SampleFlag, type Settings } from '../../../src/gateway/index.ts'
import { TestNode, until, wrongWith } from './running.ts'

it.each([
  [{ key: 'villas' }, 'node: server: is missing'],
  [{ server: 'localhost' }, 'node: key: is missing'],
  [{ server: 'localhost', key: 'two words' }, 'node: key: "two words" is not valid. Expected a measurement'],
  [{ server: 'localhost', key: 'a,tag' }, 'node: key: "a,tag" is not valid'],
  [{ server: 'a:b', key: 'x' }, 'node: server: "a:b" is not valid'],
  [{ server: 'localhost', key: 'a\\ b,tag=1,other=2' }, ''],
] as [Settings, string][])('settings: %j', async (settings, message) => {
  const wrong = await wrongWith({ type: 'influxdb', ...settings })
  if (message === '') expect(wrong).toBe('')
  else expect(wrong).toContain(message)
})

interface Point {
  measurement: string
  tags: Record<string, string>
  fields: Record<string, number | boolean>
  time: bigint | undefined
}

/** A line of the protocol, as InfluxDB 1 documents it; throws for anything else. */
function parsePoint(line: string): Point {
  const part = String.raw`(?:[^,= \\]|\\[,= \\])+`
  const value = String.raw`(?:-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|true|false)`
  const whole = new RegExp(`^(${part})((?:,${part}=${part})*) (${part}=${value}(?:,${part}=${value})*)(?: (\\d+))?$`)
  const [, measurement, tags, fields, time] = whole.exec(line) ?? []
  if (measurement === undefined) throw new Error(`no point: ${line}`)
  const pairs = (text: string): [string, string][] =>
    [...text.matchAll(new RegExp(`(${part})=([^,]+|${part})`, 'g'))].map(([, name, v]) => [name!, v!])
  return {
    measurement,
    tags: Object.fromEntries(pairs(tags!)),
    fields: Object.fromEntries(pairs(fields!).map(([name, text]) => [name, JSON.parse(text)])),
    time: time === undefined ? undefined : BigInt(time),
  }
}

it('sends points that a strict parser reads, several to a datagram', async () => {
  const server = createSocket('udp4').bind(0, '127.0.0.1')
  await once(server, 'listening')
  const lines: string[] = []
  server.on('message', (bytes) => {
    expect(bytes.at(-1)).toBe(0x0a)
    lines.push(...bytes.toString().trimEnd().split('\n'))
  })
  const settings = { type: 'influxdb', server: `127.0.0.1:${server.address().port}`, key: 'villas,location=lab' }
  const node = await TestNode.start(settings, 'fibc')
  const { samples } = node.pool
  const index = Int32Array.of(-1)
  node.pool.take(index, 0, 1)
  const write = (length: number, flags: number, fill: (at: number) => void): number => {
    const word = samples.word(index[0]!)
    samples.clear(word)
    samples.u32[word + SampleField.length] = length
    samples.u32[word + SampleField.flags] = flags
    samples.setInt64(word + SampleField.origin, 1_600_000_000)
    samples.setInt64(word + SampleField.origin + 2, 42)
    fill(word + SampleField.data)
    return node.node.destination!.write(index, 1)
  }
  const fill = (float: number) => (at: number) => {
    samples.f64[at >> 1] = float
    samples.setInt64(at + 2, -7)
    samples.u32[at + 4] = 1
    samples.f32.set([0.5, Number.NaN], at + 6)
  }
  expect(write(4, SampleFlag.data | SampleFlag.tsOrigin, fill(-1.5e-9))).toBe(1)
  expect(write(2, SampleFlag.data, fill(Number.POSITIVE_INFINITY))).toBe(1)
  expect(write(1, SampleFlag.data, fill(Number.NaN))).toBe(0)
  await until(() => lines.length === 2)
  expect(lines.map(parsePoint)).toEqual([
    {
      measurement: 'villas',
      tags: { location: 'lab' },
      fields: { signal0: -1.5e-9, signal1: -7, signal2: true, signal3_re: 0.5 },
      time: 1_600_000_000_000_000_042n,
    },
    { measurement: 'villas', tags: { location: 'lab' }, fields: { signal1: -7 }, time: undefined },
  ])
  expect(node.counters).toEqual({ sent: 2, not_encoded: 1 })
  node.pool.release(index, 0, 1)
  await node.stop()
  server.close()
})
