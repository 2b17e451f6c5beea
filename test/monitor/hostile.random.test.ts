/** Packets full of damage, made on purpose or not: nothing throws, counts agree, and what the sketches hold stays sound. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CaptureParser, drain } from '../../src/capture/index.ts'
import {
  answerOf,
  decodeWindow,
  encodeWindow,
  MonitorError,
  monitorConfig,
  Observer,
  type Window,
} from '../../src/monitor/index.ts'
import { holds } from '../property.ts'
import { Traffic } from './traffic.ts'

const names = ['rping', 'udaddy', 'read_lat', 'atomic_lat', 'srq_pingpong'] as const
const files = names.map((name) => new Uint8Array(readFileSync(new URL(`../captures/${name}.pcap`, import.meta.url))))

it('mutated captures', () => {
  const changes = fc.array(fc.tuple(fc.nat(60_000), fc.nat(255)), { minLength: 1, maxLength: 300 })
  holds(
    fc.property(fc.nat(files.length - 1), changes, (n, list) => {
      const file = files[n]!.slice()
      for (const [at, value] of list) file[24 + (at % (file.length - 24))] = value
      const windows: Window[] = []
      const config = monitorConfig({ seed: 1, memoryBytes: 2 ** 20 })
      const observer = new Observer({ config, agent: 'a', run: 'r', onWindow: (window) => windows.push(window) })
      const parser = new CaptureParser()
      let packets = 0
      // Damaged time stamps make many windows: some are enough.
      const take = (): boolean | undefined => {
        observer.packet(parser.packet)
        packets++
        return windows.length < 20 ? undefined : false
      }
      parser.push(file)
      parser.end()
      drain(parser, take)
      observer.finish()
      expect(windows.reduce((sum, window) => sum + window.count('packets'), 0)).toBe(packets)
      for (const window of windows.slice(0, 3)) {
        const { bytes, packets: counted } = window.sketches
        expect([bytes.total, counted.total]).toEqual([window.count('roceBytes'), window.count('roce')])
        // Reading checks all that is true of a sound state.
        expect(JSON.stringify(answerOf(decodeWindow(encodeWindow(window))))).toBe(JSON.stringify(answerOf(window)))
      }
    }),
    12,
  )
})

it('windows that are damaged on their way are refused', () => {
  const traffic = new Traffic({ memoryBytes: 2 ** 20 })
  for (let psn = 0; psn < 20; psn++) traffic.send(psn)
  const bytes = encodeWindow(traffic.end())
  holds(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const damaged = bytes.slice()
      damaged[at]! ^= change
      expect(() => decodeWindow(damaged)).toThrow(MonitorError)
    }),
    60,
  )
})
