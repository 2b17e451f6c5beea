/** The kernel's filter, run by an interpreter of classic BPF. The kernel itself runs it in test/interop. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CaptureFilter, roceFilter, wholeFilter } from '../../src/collect/filter-program.ts'
import type { BpfInstruction } from '../../src/memory/index.ts'
import { Layers, locateEthernet, put16 } from '../../src/wire/index.ts'
import { holds } from '../property.ts'
import { ethernet, globalPacket, roceFrame, rocePacket } from '../trace/packets.ts'

/** As the kernel: a load beyond the packet ends the program with 0. */
function run(program: readonly BpfInstruction[], b: Uint8Array): number {
  let [a, x] = [0, 0]
  const half = (at: number): number => (b[at]! << 8) | b[at + 1]!
  for (let pc = 0; ; pc++) {
    const { code, jt, jf, k } = program[pc]!
    if (code === 0x06) return k
    if (code === 0x05) pc += k
    else if (code === 0x15) pc += a === k ? jt : jf
    else if (code === 0x45) pc += (a & k) !== 0 ? jt : jf
    else if (code === 0x28 || code === 0x48) {
      const at = code === 0x28 ? k : x + k
      if (at + 2 > b.length) return 0
      a = half(at)
    } else if (code === 0x30) {
      if (k >= b.length) return 0
      a = b[k]!
    } else if (code === 0xb1) {
      if (k >= b.length) return 0
      x = 4 * (b[k]! & 15)
    } else throw new Error(`no instruction ${code}`)
  }
}

const all: CaptureFilter = { v1: true, udpPorts: [4791, 4792], snapBytes: 500 }
const v1Frame = ethernet(0x8915, globalPacket({ opcode: 4, payload: 64 }))
const v2Frame = roceFrame({ opcode: 4, payload: 64 })

describe('the filter', () => {
  const filter = roceFilter(all)
  const takes = (frame: Uint8Array, program = filter): boolean => run(program, frame) === 500

  it('takes RoCEv1 and RoCEv2, below tags too', () => {
    expect(takes(v1Frame)).toBe(true)
    expect(takes(v2Frame)).toBe(true)
    expect(takes(roceFrame({ opcode: 4, source: 'fe80::1', destination: 'fe80::2' }))).toBe(true)
    for (const tags of [[100], [100, 5]]) {
      expect(takes(ethernet(0x8915, globalPacket({ opcode: 4 }), tags))).toBe(true)
      expect(takes(roceFrame({ opcode: 4 }, tags))).toBe(true)
    }
    expect(takes(roceFrame({ opcode: 4 }, [1, 2, 3]))).toBe(false)
  })

  it('follows IPv4 options, and leaves later fragments and other protocols', () => {
    const packet = rocePacket({ opcode: 4 })
    const withOptions = new Uint8Array([...packet.subarray(0, 20), ...new Uint8Array(8), ...packet.subarray(20)])
    withOptions[0] = 0x47
    expect(takes(ethernet(0x0800, withOptions))).toBe(true)
    const fragment = packet.slice()
    put16(fragment, 6, 100)
    expect(takes(ethernet(0x0800, fragment))).toBe(false)
    expect(takes(ethernet(0x0800, packet.with(9, 6)))).toBe(false)
    expect(takes(ethernet(0x0806, packet))).toBe(false)
  })

  it('of one version only, of other ports, of everything', () => {
    const v1 = roceFilter({ ...all, udpPorts: [] })
    const v2 = roceFilter({ ...all, v1: false, udpPorts: [4792] })
    expect([takes(v1Frame, v1), takes(v2Frame, v1)]).toEqual([true, false])
    expect([takes(v1Frame, v2), takes(v2Frame, v2)]).toEqual([false, false])
    const other = v2Frame.slice()
    put16(other, 36, 4792)
    expect(takes(other, v2)).toBe(true)
    expect(run(wholeFilter(77), new Uint8Array(0))).toBe(77)
    expect(() => roceFilter({ ...all, udpPorts: Array.from({ length: 300 }, (_, i) => i + 1) })).toThrow(/too many/)
  })

  it('agrees with the reader of frames about every packet', () => {
    const layers = new Layers()
    const types = fc.constantFrom([0x08, 0x00], [0x86, 0xdd], [0x89, 0x15], [0x81, 0x00], [0x88, 0xa8], [0x12, 0x34])
    holds(
      fc.property(
        fc.array(fc.tuple(types, fc.uint8Array({ minLength: 2, maxLength: 2 })), { maxLength: 2 }),
        types,
        fc.uint8Array({ minLength: 60, maxLength: 100 }),
        fc.constantFrom(undefined, 4, 6),
        (tags, type, rest, version) => {
          const b = Uint8Array.from([
            ...new Uint8Array(12),
            ...tags.flatMap(([t, tci]) => [...t, ...tci]),
            ...type,
            ...rest,
          ])
          const ip = b.length - rest.length
          if (version === 4) b.set([0x45, 0, 0, rest.length, 0, 0, 0x40, 0, 64, 17], ip)
          if (version === 6) b.set([0x60, 0, 0, 0, 0, rest.length - 40, 17], ip)
          if (version !== undefined) put16(b, ip + (version === 4 ? 22 : 42), 4791)
          locateEthernet(b, 0, b.length, layers)
          // What the reader finds as RoCEv2 by its port, the filter takes; what is damaged beyond that may pass.
          if (layers.udp >= 0 && layers.bth >= 0) expect(takes(b)).toBe(true)
        },
      ),
      500,
    )
  })
})
