/** What the agents of an adapter answer. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answerPerf,
  answerSmp,
  answerUnmatched,
  followRoute,
  invalidRoute,
  type Links,
} from '../../src/management/index.ts'
import {
  Mad,
  nodeInfoCodec,
  PortCapability,
  portCountersCodec,
  portCountersExtendedCodec,
  portInfoCodec,
  put16,
  SubnAttribute,
  u16,
} from '../../src/wire/index.ts'
import { holds } from '../property.ts'
import { mad, testNode } from './node.ts'

const status = (b: Uint8Array): number => u16(b, Mad.status)

describe('subnet management', () => {
  it('tells what node and port are', () => {
    const node = testNode()
    const info = mad(1, 1, SubnAttribute.nodeInfo)
    expect(answerSmp(node, info)).toBe('answered')
    expect([info[Mad.method], status(info)]).toEqual([0x81, 0])
    expect(nodeInfoCodec.read(info, 64)).toEqual(node.nodeInfo)
    const described = mad(0x81, 1, SubnAttribute.nodeDescription)
    answerSmp(node, described)
    // On a directed route the status has the direction.
    expect(status(described)).toBe(0x8000)
    expect(Buffer.from(described.subarray(64, 71)).toString()).toBe('a node\0')
    const port = mad(1, 1, SubnAttribute.portInfo, 1)
    answerSmp(node, port)
    expect(portInfoCodec.read(port, 64)).toEqual(node.portInfo())
    const keys = mad(1, 1, SubnAttribute.pkeyTable)
    answerSmp(node, keys)
    expect([u16(keys, 64), u16(keys, 66), u16(keys, 68)]).toEqual([0xffff, 0x8001, 0])
  })

  it.each([
    ['a port that an adapter of one port does not have', 1, SubnAttribute.portInfo, 2, 0x1c],
    ['a block behind the P_Keys', 1, SubnAttribute.pkeyTable, 1, 0x1c],
    ['a block behind the GUIDs', 1, SubnAttribute.guidInfo, 1, 0x1c],
    ['an attribute of switches', 1, SubnAttribute.switchInfo, 0, 0x0c],
    ['a subnet manager that is not there', 1, SubnAttribute.smInfo, 0, 0x0c],
    ['Set of what cannot be set', 2, SubnAttribute.nodeInfo, 0, 0x0c],
  ])('rejects %s', (_, method, attribute, modifier, expected) => {
    const asked = mad(1, method, attribute, modifier)
    expect(answerSmp(testNode(), asked)).toBe('answered')
    expect(status(asked)).toBe(expected)
  })

  it('passes on what is for a subnet manager', () => {
    expect(answerSmp(testNode({ capabilityMask: PortCapability.isSm }), mad(1, 1, SubnAttribute.smInfo))).toBe('passed')
    expect(answerSmp(testNode(), mad(1, 5, 2))).toBe('passed')
    // IBA o14-3.a4
    expect(answerSmp(testNode(), mad(1, 7, 2))).toBe('dropped')
  })

  // IBA 13.4.7
  it('rejects other versions', () => {
    const asked = mad(1, 1, SubnAttribute.nodeInfo)
    asked[Mad.classVersion] = 2
    answerSmp(testNode(), asked)
    expect(status(asked)).toBe(0x04)
  })

  // IBA 14.2.5.6
  it('stores what a subnet manager sets; LID and state stay', () => {
    const node = testNode()
    const set = mad(1, 2, SubnAttribute.portInfo, 1)
    const wanted = {
      ...node.portInfo(),
      lid: 99,
      masterSmLid: 3,
      subnetTimeout: 20,
      mKey: 8n,
      portState: 0,
      capabilityMask: 5,
    }
    portInfoCodec.emit(wanted, set, 64)
    answerSmp(node, set)
    const expected = {
      ...node.portInfo(),
      lid: 7,
      masterSmLid: 3,
      subnetTimeout: 20,
      mKey: 8n,
      portState: 4,
      capabilityMask: 0,
    }
    expect([status(set), node.portInfo()]).toEqual([0, expected])
    expect(portInfoCodec.read(set, 64)).toEqual(expected)
    const down = mad(1, 2, SubnAttribute.portInfo, 1, 8n)
    portInfoCodec.emit({ ...wanted, portState: 1 }, down, 64)
    answerSmp(node, down)
    expect(status(down)).toBe(0x1c)
  })

  // IBA 14.2.4
  it('drops what has not its M_Key, as far as that protects', () => {
    const read = (): Uint8Array => mad(1, 1, SubnAttribute.portInfo, 1, 9n)
    for (const [mKeyProtectBits, outcome, shown] of [
      [0, 'answered', 8n],
      [1, 'answered', 0n],
      [2, 'dropped', 0n],
    ] as const) {
      const node = testNode({ mKey: 8n, mKeyProtectBits })
      const asked = read()
      expect(answerSmp(node, asked)).toBe(outcome)
      if (outcome === 'answered') expect(portInfoCodec.read(asked, 64).mKey).toBe(shown)
      expect(answerSmp(node, mad(1, 2, SubnAttribute.portInfo, 1, 9n))).toBe('dropped')
      expect(node.portInfo().mKeyViolations).toBe(outcome === 'dropped' ? 2 : 1)
    }
  })

  it('survives any packet', () => {
    holds(
      fc.property(
        fc.uint8Array({ minLength: 256, maxLength: 256 }),
        fc.constantFrom(0x10, 0x11, 0x14, 0x15, 0x16, 0x20),
        (bytes, attribute) => {
          const method = bytes[Mad.method]!
          bytes[Mad.method] = method & 1 ? 1 : 2
          put16(bytes, Mad.attributeId, attribute)
          const node = testNode()
          const answer = answerSmp(node, bytes)
          expect(answer === 'answered' ? bytes[Mad.method] : 0x81).toBe(0x81)
          expect([node.portInfo().lid, node.portInfo().portState]).toEqual([7, 4])
        },
      ),
      150,
    )
  })

  it('answers Get and Set where nobody is', () => {
    const get = mad(0x32, 1, 0)
    expect([answerUnmatched(get), status(get), get[Mad.method]]).toEqual([true, 0x0c, 0x81])
    expect(answerUnmatched(mad(3, 0x12, 0x11))).toBe(false)
  })
})

describe('performance management', () => {
  const ask = (
    node: ReturnType<typeof testNode>,
    method: number,
    attribute: number,
    port = 1,
    select = 0,
  ): Uint8Array => {
    const asked = mad(4, method, attribute)
    asked[65] = port
    put16(asked, 66, select)
    expect(answerPerf(node, asked)).toBe('answered')
    return asked
  }

  it('counts, in both widths', () => {
    const node = testNode()
    expect(portCountersCodec.read(ask(node, 1, 0x12), 64)).toMatchObject({ xmitData: 100, rcvPkts: 4, qp1Dropped: 7 })
    expect(portCountersExtendedCodec.read(ask(node, 1, 0x1d, 255), 64)).toMatchObject({ rcvData: 200n, xmitPkts: 3n })
    expect(status(ask(node, 1, 0x12, 2))).toBe(0x1c)
    expect(status(ask(node, 1, 0x36))).toBe(0x0c)
    expect(status(ask(node, 1, 1))).toBe(0)
  })

  // IBA 16.1.3.5
  it('resets what the mask selects, each attribute for itself', () => {
    const node = testNode()
    ask(node, 2, 0x12, 1, 1 << 12)
    const narrow = portCountersCodec.read(ask(node, 1, 0x12), 64)
    expect([narrow.xmitData, narrow.rcvData]).toEqual([0, 200])
    node.counts.xmitData += 11
    expect(portCountersCodec.read(ask(node, 1, 0x12), 64).xmitData).toBe(11)
    expect(portCountersExtendedCodec.read(ask(node, 1, 0x1d), 64).xmitData).toBe(111n)
    ask(node, 2, 0x1d, 1, 0b1111)
    const wide = portCountersExtendedCodec.read(ask(node, 1, 0x1d), 64)
    expect([wide.xmitData, wide.rcvData, wide.xmitPkts, wide.rcvPkts]).toEqual([0n, 0n, 0n, 0n])
  })

  // IBA 16.1.3.5
  it('stops at the largest value', () => {
    const node = testNode()
    Object.assign(node.counts, { xmitData: 2 ** 40, rcvErrors: 70_000 })
    const narrow = portCountersCodec.read(ask(node, 1, 0x12), 64)
    expect([narrow.xmitData, narrow.rcvErrors]).toEqual([0xffffffff, 0xffff])
    expect(portCountersExtendedCodec.read(ask(node, 1, 0x1d), 64).xmitData).toBe(2n ** 40n)
  })
})

describe('directed routes', () => {
  // 0 and 1 are adapters at ports 1 and 2 of the switch 2.
  const links: Links = {
    peerOf: (node, port) =>
      node === 2
        ? port === 1 || port === 2
          ? { node: port - 1, port: 1 }
          : null
        : port === 1
          ? { node: 2, port: node + 1 }
          : null,
    nodeOf: (lid) => (lid >= 1 && lid <= 3 ? lid - 1 : -1),
    forwards: (node) => node === 2,
  }
  const route = (path: readonly number[], drSlid = 0xffff, drDlid = 0xffff, lid = 0xffff): [number, number[]] => {
    const smp = mad(0x81, 1, 0x11)
    smp[7] = path.length
    put16(smp, 32, drSlid)
    put16(smp, 34, drDlid)
    smp.set(path, 129)
    return [followRoute(links, 0, 1, smp, lid), [...smp.subarray(193, 193 + path.length)]]
  }

  // IBA C14-9
  it('go from port to port', () => {
    expect(route([])).toEqual([0, []])
    expect(route([1])).toEqual([2, [1]])
    expect(route([1, 2])).toEqual([1, [1, 1]])
  })

  it('end where no link is, or nobody forwards', () => {
    expect(route([1, 3])[0]).toBe(-1)
    expect(route([1, 2, 1])[0]).toBe(-1)
    expect(route([2])[0]).toBe(invalidRoute)
    expect(route(new Array(64).fill(1))[0]).toBe(invalidRoute)
  })

  it('have parts by LID before and behind', () => {
    expect(route([2], 1, 0xffff, 3)).toEqual([1, [1]])
    expect(route([1], 0xffff, 2)[0]).toBe(1)
    expect(route([], 0xffff, 9)[0]).toBe(-1)
  })

  it('lead somewhere or nowhere, whatever they are', () => {
    holds(
      fc.property(fc.uint8Array({ minLength: 256, maxLength: 256 }), fc.nat(0xffff), (bytes, lid) => {
        expect([invalidRoute, -1, 0, 1, 2]).toContain(followRoute(links, 0, 1, bytes, lid))
      }),
      150,
    )
  })
})
