/** A node for tests, and requests to it. */
import type { ManagedNode, PortTraffic, TrafficName } from '../../src/management/index.ts'
import { Mad, type PortInfo, portInfoCodec, put16, put32, put64Big } from '../../src/wire/index.ts'

export interface TestNode extends ManagedNode {
  counts: Record<TrafficName, number>
}

export function testNode(change: Partial<PortInfo> = {}): TestNode {
  let info: PortInfo = {
    ...portInfoCodec.read(new Uint8Array(64), 0),
    ...{ lid: 7, portState: 4, portPhysState: 5, guidCap: 1, masterSmLid: 1 },
    ...change,
  }
  const bases = new Map<string, number>()
  const counts: PortTraffic = {
    xmitData: 100,
    rcvData: 200,
    xmitPkts: 3,
    rcvPkts: 4,
    rcvErrors: 5,
    xmitDiscards: 6,
    qp1Dropped: 7,
  }
  return {
    description: 'a node',
    nodeInfo: {
      ...{ baseVersion: 1, classVersion: 1, nodeType: 1, numPorts: 1 },
      ...{ systemImageGuid: 5n, nodeGuid: 5n, portGuid: 6n },
      ...{ partitionCap: 1, deviceId: 2, revision: 3, localPortNum: 1, vendorId: 4 },
    },
    portGuid: 6n,
    pkeys: [0xffff, 0x8001],
    counts: counts as Record<TrafficName, number>,
    portInfo: () => info,
    setPortInfo: (to) => {
      info = to
    },
    traffic: () => counts,
    bases: {
      get: (extended, name) => bases.get(`${extended} ${name}`) ?? 0,
      set: (extended, name, base) => void bases.set(`${extended} ${name}`, base),
    },
  }
}

export function mad(mgmtClass: number, method: number, attribute: number, modifier = 0, mKey = 0n): Uint8Array {
  const bytes = new Uint8Array(Mad.totalLength)
  bytes[Mad.baseVersion] = 1
  bytes[Mad.mgmtClass] = mgmtClass
  bytes[Mad.classVersion] = mgmtClass === 3 ? 2 : 1
  bytes[Mad.method] = method
  put16(bytes, Mad.attributeId, attribute)
  put32(bytes, Mad.attributeModifier, modifier)
  if (mgmtClass === 1 || mgmtClass === 0x81) put64Big(bytes, 24, mKey)
  return bytes
}
