import { describe, expect, test } from 'vitest'
import {
  extensionLengths,
  type HeaderName,
  headerLength,
  OpBit,
  opcodeBits,
  opcodeName,
  opcodeTable,
  WireOpcode,
} from '../../src/wire/index.ts'

test('the table of opcodes, line by line', () => {
  const lines = opcodeTable.map((info, opcode) => {
    if (info === undefined) return ''
    const { name, transport, operation, place, headers, payload } = info
    const bits = Object.entries(OpBit).flatMap(([bit, mask]) => (opcodeBits[opcode]! & mask ? [bit] : []))
    const layout = ['BTH', ...headers, ...(payload ? ['payload'] : [])].join(' ')
    return `0x${opcode.toString(16).padStart(2, '0')} ${name}: ${transport} ${operation} ${place}; ${layout}; ${headerLength[opcode]} bytes; ${bits.join(' ')}`
  })
  expect(lines.filter(Boolean)).toMatchSnapshot()
})

describe('the table agrees with itself', () => {
  const headerBits: Record<HeaderName, number> = {
    RDETH: OpBit.Rdeth,
    DETH: OpBit.Deth,
    XRCETH: OpBit.Xrceth,
    FETH: OpBit.Feth,
    RETH: OpBit.Reth,
    AtomicETH: OpBit.AtomicEth,
    AETH: OpBit.Aeth,
    AtomicAckETH: OpBit.AtomicAckEth,
    ImmDt: OpBit.Imm,
    IETH: OpBit.Ieth,
    CNP: OpBit.Cnp,
  }

  test.each(Object.entries(WireOpcode))('%s', (key, opcode) => {
    const info = opcodeTable[opcode]!
    expect(info.opcode).toBe(opcode)
    const words = { Imm: 'Immediate', Inv: 'Invalidate', Ack: 'Acknowledge', Read: 'RdmaRead', Write: 'RdmaWrite' }
    const spelt = key
      .replace(/AtomicWrite$/, 'Atomic_write')
      .replace(/(Imm|Inv|Ack|Read|Write)(?![a-z])/g, (word) => words[word as keyof typeof words])
      .replace(/([a-z])([A-Z])/g, '$1_$2')
    expect(info.name).toBe(spelt.toUpperCase())
    expect(opcodeName(opcode)).toBe(info.name)
    expect(headerLength[opcode]).toBe(info.headers.reduce<number>((sum, name) => sum + extensionLengths[name], 12))
    const bits = opcodeBits[opcode]!
    for (const [name, bit] of Object.entries(headerBits))
      expect((bits & bit) !== 0, name).toBe(info.headers.includes(name as HeaderName))
    expect((bits & OpBit.Payload) !== 0).toBe(info.payload)
    // First, middle, last and only exclude each other, and so do requests and responses.
    expect([OpBit.First, OpBit.Middle, OpBit.Last, OpBit.Only].filter((bit) => bits & bit)).toHaveLength(1)
    const directions = [OpBit.Request, OpBit.Response].filter((bit) => bits & bit)
    expect(directions).toHaveLength(info.transport === 'CNP' ? 0 : 1)
  })
})

test('what is not in WireOpcode is no opcode', () => {
  const known = new Set<number>(Object.values(WireOpcode))
  expect(known.size).toBe(Object.keys(WireOpcode).length)
  for (let opcode = 0; opcode < 256; opcode++) {
    if (known.has(opcode)) continue
    expect(opcodeTable[opcode]).toBeUndefined()
    expect(headerLength[opcode]).toBe(0)
    expect(opcodeBits[opcode]).toBe(0)
  }
  expect(opcodeName(0x1f)).toBe('UNKNOWN_0x1f')
})
