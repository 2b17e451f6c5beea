import { expect, it } from 'vitest'
import { bytesOf, keyBytes, keyWords, Word } from '../../src/monitor/key.ts'
import { KeyBlock, KeyPlace } from '../../src/monitor/key-block.ts'
import { createSketch } from '../../src/sketch/index.ts'

const make = () => createSketch('coco', { bytes: 100_000, keyBytes, seed: 1, countBits: 53 })
const keyOf = (flow: number, opcode: number) => {
  const key = new Int32Array(keyWords).fill(flow)
  key[Word.destinationQp] = opcode << 24
  return key
}

it('adds up keys of flows, and gives each sketch its amounts', () => {
  const [bytes, packets] = [make(), make()]
  const block = new KeyBlock(2)
  const flows = Array.from({ length: 40 }, () => new KeyPlace())
  const truth = new Map<number, number>()
  for (let i = 0; i < 4000; i++) {
    const flow = (i * i) % 41
    // Six opcodes: more than are looked for; a flow without a place comes each time anew.
    const opcode = (i * 7) % 6
    const key = keyOf(flow, opcode)
    const at = block.find(key, flows[flow])
    expect(block.add(0, at, 100 + i) && block.add(1, at, 1)).toBe(true)
    truth.set(flow * 8 + opcode, (truth.get(flow * 8 + opcode) ?? 0) + 100 + i)
    if (block.isFull) block.into([bytes, packets])
  }
  block.into([bytes, packets])
  for (const [name, amount] of truth) expect(bytes.estimate(bytesOf(keyOf(name >> 3, name & 7))).value).toBe(amount)
  expect(packets.total).toBe(4000)
})

it('says so when an amount has no room', () => {
  const block = new KeyBlock(1)
  const place = new KeyPlace()
  const at = block.find(keyOf(1, 1), place)
  expect(block.add(0, at, 0xffffffff)).toBe(true)
  expect(block.add(0, block.find(keyOf(1, 1), place), 1)).toBe(false)
  const sketch = make()
  block.into([sketch])
  expect(sketch.total).toBe(0xffffffff)
  expect(block.find(keyOf(2, 1), place)).toBe(0)
})
