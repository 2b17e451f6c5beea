/** Captures full of damage, through everything that reads packets: nothing throws, and memory is bounded. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  analyseCapture,
  bytesSource,
  checkCapture,
  convertCapture,
  LinePrinter,
  plainJson,
  showCapture,
} from '../../src/trace/index.ts'
import { holds } from '../property.ts'
import { Script } from './script.ts'

const names = ['rping', 'udaddy', 'read_lat', 'atomic_lat', 'srq_pingpong'] as const
const files = names.map((name) => new Uint8Array(readFileSync(new URL(`../captures/${name}.pcap`, import.meta.url))))

it('mutated captures', async () => {
  const changes = fc.array(fc.tuple(fc.nat(60_000), fc.nat(255)), { minLength: 1, maxLength: 200 })
  await holds(
    fc.asyncProperty(fc.tuple(fc.nat(files.length - 1), changes, fc.nat(60_000)), async ([n, list, cut]) => {
      const file = files[n]!.slice(0, Math.max(24, files[n]!.length - (cut % 2 ? cut : 0)))
      for (const [at, value] of list) file[24 + (at % Math.max(1, file.length - 24))] = value
      const source = bytesSource(file)
      const checked = await checkCapture(source)
      expect(checked.icrcValid + checked.icrcInvalidCount).toBeLessThanOrEqual(checked.roce)
      const info = await analyseCapture(source)
      expect(info.packets).toBe(checked.packets)
      JSON.stringify(info)
      const printer = new LinePrinter()
      let shown = 0
      await showCapture(source, (row) => {
        shown++
        printer.line(row)
        JSON.stringify(row, plainJson)
      })
      expect(shown).toBe(checked.packets)
      let written = 0
      const write = (bytes: Uint8Array): void => {
        written += bytes.length
      }
      await convertCapture(source, { write }, { format: 'pcapng' })
      expect(written).toBeGreaterThan(0)
    }),
    40,
  )
})

it('flows without end are counted together', () => {
  const s = new Script()
  for (let i = 0; i < 70_000; i++) {
    s.request({ psn: i, destQp: i })
    s.rows.length = 0
  }
  expect(s.analysis.table.flows.length).toBe(65_536)
  expect(s.analysis.table.overflow).toBe(70_000 - 65_536)
})

it('ACKs that fit nothing do not take ever longer', () => {
  const s = new Script()
  for (let i = 0; i < 3000; i++) s.request({ psn: 5, destQp: i })
  for (let i = 0; i < 20_000; i++) s.ack(5, 0x1f, { destQp: 1 + (i % 7) })
  expect(s.analysis.table.flows.every(({ peer }) => peer === undefined)).toBe(true)
})
