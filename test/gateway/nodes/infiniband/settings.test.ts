/** Settings: VILLASnode's keys, defaults and rules. */
import { expect, it } from 'vitest'
import type { NodeCommon } from '../../../../src/gateway/index.ts'
import { SettingsReader } from '../../../../src/gateway/index.ts'
import { type InfinibandSettings, readSettings } from '../../../../src/gateway/nodes/infiniband/settings.ts'

function read(settings: object, vectorize: NodeCommon['vectorize'] = { in: 1, out: 1 }): InfinibandSettings {
  const reader = new SettingsReader("node 'ib'", settings as Record<string, unknown>)
  return readSettings(reader, { name: 'ib', vectorize, signals: null })
}

const address = '10.0.0.2:1337'

it("has VILLASnode's defaults", () => {
  const { mode, device, in: inside, out, warnings } = read({ in: { address } })
  expect({ mode, device, inside, out, warnings }).toEqual({
    mode: 'RC',
    device: 'roce',
    inside: {
      address: { address: '10.0.0.2', port: 1337 },
      vectorize: 1,
      maxWrs: 128,
      cqSize: 128,
      bufferSubtraction: 16,
    },
    out: {
      address: null,
      vectorize: 1,
      resolutionTimeoutMs: 1000,
      maxWrs: 128,
      cqSize: 128,
      sendInline: true,
      maxInlineData: 0,
      useFallback: true,
      periodicSignaling: 64,
    },
    warnings: [],
  })
})

it('reads both names of the transport mode and of the timeout', () => {
  expect(read({ rdma_transport_mode: 'UC', in: { address } }).mode).toBe('UC')
  expect(read({ rdma_port_space: 'UD', in: { address } }).mode).toBe('UD')
  expect(read({ rdma_port_space: 'UD', rdma_transport_mode: 'UD', in: { address } }).mode).toBe('UD')
  expect(read({ in: { address }, out: { timeout: 7 } }).out.resolutionTimeoutMs).toBe(7)
  expect(read({ in: { address }, out: { timeout: 7, resolution_timeout: 9 } }).out.resolutionTimeoutMs).toBe(9)
})

it('takes the device from loopback addresses, and from the settings', () => {
  expect(read({ in: { address: '127.0.0.3:1' } }).device).toBe('roce:127.0.0.3')
  expect(read({ in: { address: '[fd00::2]:1' } }).in.address).toEqual({ address: 'fd00::2', port: 1 })
  expect(read({ device: 'shm:lab', in: { address } }).device).toBe('shm:lab')
})

it('rounds max_wrs up, and warns', () => {
  const {
    in: inside,
    out,
    warnings,
  } = read({
    in: { address, max_wrs: 100 },
    out: { max_wrs: 9000, max_inline_data: 60 },
  })
  expect([inside.maxWrs, out.maxWrs, out.periodicSignaling]).toEqual([128, 16384, 8192])
  expect(warnings).toEqual([
    'in.max_wrs is 100, no power of 2: it becomes 128',
    'out.max_wrs is 9000, no power of 2: it becomes 16384',
    'out.max_wrs is 16384; more than 8192 may be more than an adapter has',
    expect.stringContaining('out.max_inline_data is 60'),
  ])
})

it.each([
  [{ in: {} }, 'address: is missing'],
  [{ in: { address: '10.0.0.2' } }, 'Expected an IP address and a port'],
  [{ in: { address: '10.0.0.2:70000' } }, 'Expected an IP address and a port'],
  [{ in: { address, buffer_subtraction: 1 } }, 'must be at least twice in.vectorize (1)'],
  [{ in: { address, max_wrs: 16 } }, 'must be less than in.max_wrs (16) minus in.vectorize (1)'],
  [{ in: { address, cq_size: 111 } }, 'must be at least in.max_wrs (128) minus in.buffer_subtraction (16)'],
  [{ in: { address }, out: { max_wrs: 16, periodic_signaling: 17 } }, 'the send queue fills up for ever'],
  [{ in: { address }, out: { periodic_signalling: 7 } }, "Did you mean 'periodic_signaling'?"],
  [{ in: { address }, rdma_transport_mode: 'RC', rdma_port_space: 'UD' }, 'which means the same, is UD'],
  [{ in: { address }, rdma_transport_mode: 'XRC' }, 'one of "RC", "UC", "UD"'],
  [{ in: { address }, devise: 'shm0' }, "Did you mean 'device'?"],
])('rejects %j', (settings, message) => {
  expect(() => read(settings)).toThrow(message)
})

it('compares buffer_subtraction with vectorize', () => {
  expect(() => read({ in: { address } }, { in: 9, out: 1 })).toThrow('at least twice in.vectorize (9)')
  expect(read({ in: { address } }, { in: 8, out: 1 }).in.vectorize).toBe(8)
  expect(() => read({ in: { address }, out: { max_wrs: 4 } }, { in: 1, out: 5 })).toThrow('out.vectorize (5)')
})
