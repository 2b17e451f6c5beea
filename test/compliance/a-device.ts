/** Group A of the conformance list: devices, ports, tables and limits. */
import { expect } from 'vitest'
import {
  GidType,
  getDeviceList,
  LinkLayer,
  MwType,
  nameOf,
  Opcode,
  openDevice,
  PathMtus,
  PortState,
  type QpType,
  QpType as QpTypes,
} from '../../src/index.ts'
import { expectBytes, fullAccess, pattern } from './end.ts'
import { expectThrow, type Group, type Setup } from './rig.ts'
import { type EchoData, startEcho } from './threads/start.ts'

export const groupA: Group = (it) => {
  it('1 the device list has both adapters', (t) => {
    t.context(0)
    t.context(1)
    const list = getDeviceList()
    for (const side of [0, 1] as const) {
      const context = t.context(side)
      const entry = list.find(({ name }) => name === context.name || name === t.rig.names[side])
      expect(entry).toBeDefined()
      expect(entry!.guid).toBe(context.queryDevice().nodeGuid)
    }
    expect(new Set(list.map(({ name }) => name)).size).toBe(list.length)
  })

  it('2 open, and open twice', (t) => {
    const first = t.own(t.rig.open(0))
    const second = t.own(t.rig.open(0))
    expect(second === first).toBe(false)
    expect(second.queryDevice()).toEqual(first.queryDevice())
    // Each context has its own objects.
    t.own(first.allocPd())
    t.close(second)
    expect(first.queryPort(1).state).toBe(PortState.Active)
    expectThrow(['EBADF', 'EINVAL'], () => second.close())
  })

  it('2 a device that does not exist is ENODEV', () => {
    expectThrow('ENODEV', () => openDevice('no-such-device'))
  })

  it('3 query_device: vendor and limits', (t) => {
    const device = t.context(0).queryDevice()
    expect(device.vendorId).not.toBe(0)
    const limits = Object.entries(device).filter(([name, value]) => name.startsWith('max') && typeof value === 'number')
    expect(limits.length).toBeGreaterThan(20)
    expect(limits.filter(([, value]) => (value as number) <= 0)).toEqual([])
    expect(device.maxQpInitRdAtom).toBeLessThanOrEqual(device.maxQpRdAtom)
  })

  it('4 query_device_ex: capabilities', (t) => {
    const [first, second] = [t.context(0).queryDevice(), t.context(1).queryDevice()]
    expect(['none', 'hca', 'glob']).toContain(first.atomicCap)
    expect(first.pageSizeCap).toBeGreaterThan(0)
    expect(first.completionTimestampMask).toBe(0)
    expect(first.nodeGuid).not.toBe(0n)
    expect(first.nodeGuid === second.nodeGuid).toBe(t.oneAdapter)
    expect(typeof first.fwVer).toBe('string')
  })

  it('5 query_port; a bad port is EINVAL', (t) => {
    const context = t.context(0)
    const port = context.queryPort(1)
    expect(port.state).toBe(PortState.Active)
    expect(PathMtus).toContain(port.activeMtu)
    expect(port.activeMtu).toBeLessThanOrEqual(port.maxMtu)
    expect(port.maxMsgSz).toBeGreaterThanOrEqual(1 << 20)
    expect(port.gidTblLen).toBeGreaterThan(0)
    expect(port.pkeyTblLen).toBeGreaterThan(0)
    expect(Object.values(LinkLayer)).toContain(port.linkLayer)
    for (const bad of [0, 2, 255, -1, 1.5, Number.NaN]) expectThrow('EINVAL', () => context.queryPort(bad))
  })

  it('6 query_pkey and get_pkey_index', (t) => {
    const context = t.context(0)
    expect(context.queryPkey(1, 0)).toBe(0xffff)
    expect(context.getPkeyIndex(1, 0xffff)).toBe(0)
    expectThrow('EINVAL', () => context.queryPkey(2, 0))
    expectThrow(['EINVAL', 'ENODATA'], () => context.queryPkey(1, context.queryPort(1).pkeyTblLen))
    expectThrow(['EINVAL', 'ENODATA'], () => context.getPkeyIndex(1, 0x1234))
  })

  it('7 query_gid and query_gid_table; bad arguments are EINVAL', (t) => {
    const context = t.context(0)
    const table = context.queryGidTable()
    expect(table.length).toBeGreaterThan(0)
    for (const entry of table) {
      expect(entry.gid).toHaveLength(16)
      expect(context.queryGid(entry.portNum, entry.gidIndex)).toEqual(entry.gid)
    }
    expect(context.queryGid(1, t.rig.gidIndex ?? 0).some((byte) => byte !== 0)).toBe(true)
    expect(Buffer.compare(context.queryGid(1, 0), t.context(1).queryGid(1, 0)) === 0).toBe(t.oneAdapter)
    expectThrow('EINVAL', () => context.queryGid(2, 0))
    expectThrow(['EINVAL', 'ENODATA'], () => context.queryGid(1, context.queryPort(1).gidTblLen))
    expectThrow(['EINVAL', 'ENODATA'], () => context.queryGid(1, -1))
  })

  it('8 query_gid_ex: entries, and ENODATA for an index without one', (t) => {
    const context = t.context(0)
    for (const entry of context.queryGidTable()) {
      expect(context.queryGidEx(1, entry.gidIndex)).toEqual(entry)
      expect(nameOf(GidType, entry.gidType)).not.toBe(String(entry.gidType))
    }
    expectThrow('ENODATA', () => context.queryGidEx(1, context.queryPort(1).gidTblLen + 100))
  })

  it('9 phys_port_cnt is the number of ports', (t) => {
    const context = t.context(0)
    const { physPortCnt } = context.queryDevice()
    expect(physPortCnt).toBeGreaterThan(0)
    for (let port = 1; port <= physPortCnt; port++) expect(context.queryPort(port).state).toBeGreaterThan(0)
    expectThrow('EINVAL', () => context.queryPort(physPortCnt + 1))
  })

  it('10 open in another thread, and traffic with it', async (t) => {
    const a = t.end(0, QpTypes.RC)
    const data: EchoData = { name: t.rig.names[1], options: t.rig.options ?? {}, remote: a.endpoint, messages: 20 }
    const echo = await startEcho(t, data)
    expect(echo.nodeGuid).toBe(t.context(1).queryDevice().nodeGuid)
    t.connectTo(a, echo.endpoint)
    for (let i = 0; i < data.messages; i++) {
      a.buffer.set(pattern(1024, i))
      a.recv(i, 4096)
      a.post(Opcode.Send, null, { wrId: i })
      await t.expectCompletion(a.sendCq, { wrId: i, status: 'Success' })
      await t.expectCompletion(a.recvCq, { wrId: i, status: 'Success', byteLen: 1024 })
      expectBytes(a.buffer.subarray(4096, 5120), pattern(1024, i))
    }
    await echo.done
  })

  const kinds: readonly [string, keyof ReturnType<typeof limitsOf>, (t: Setup) => () => { close(): void }][] = [
    ['PDs', 'maxPd', (t) => () => t.context(0).allocPd()],
    ['CQs', 'maxCq', (t) => () => t.context(0).createCq(1)],
    ['MRs', 'maxMr', (t) => within(t, (pd, buffer) => pd.regMr(buffer, fullAccess))],
    ['MWs', 'maxMw', (t) => within(t, (pd) => pd.allocMw(MwType.Type1))],
    ['AHs', 'maxAh', (t) => withAddress(t)],
    ['SRQs', 'maxSrq', (t) => within(t, (pd) => pd.createSrq({ maxWr: 1, maxSge: 1 }))],
    ['QPs', 'maxQp', (t) => withCq(t, QpTypes.UD)],
  ]
  for (const [kind, limit, prepare] of kinds) {
    it(limitTitle(kind), (t) => {
      const max = limitsOf(t)[limit]
      const create = prepare(t)
      const made: { close(): void }[] = []
      try {
        expectThrow('ENOMEM', () => {
          while (made.length <= max) made.push(create())
        })
        expect(made.length).toBeLessThanOrEqual(max)
        // Other tests of this thread may have some.
        expect(made.length).toBeGreaterThanOrEqual(Math.min(max, 65536) - 16)
      } finally {
        for (const object of made.reverse()) object.close()
        create().close()
      }
    })
  }
}

/** The case that fills one of the tables. */
export function limitTitle(kind: string): string {
  return `11 limit of ${kind}: then ENOMEM, and after closing they can be made again`
}

function limitsOf(t: Setup) {
  const { maxPd, maxCq, maxMr, maxMw, maxAh, maxSrq, maxQp } = t.context(0).queryDevice()
  return { maxPd, maxCq, maxMr, maxMw, maxAh, maxSrq, maxQp }
}

type Pd = ReturnType<ReturnType<Setup['context']>['allocPd']>

function within(t: Setup, create: (pd: Pd, buffer: Uint8Array) => { close(): void }): () => { close(): void } {
  const pd = t.own(t.context(0).allocPd())
  const buffer = t.alloc(t.context(0), 4096)
  return () => create(pd, buffer)
}

function withAddress(t: Setup): () => { close(): void } {
  const remote = t.end(1, QpTypes.UD)
  return within(t, (pd) => pd.createAh(t.address(remote.endpoint)))
}

function withCq(t: Setup, type: QpType): () => { close(): void } {
  const cq = t.own(t.context(0).createCq(4))
  const cap = { maxSendWr: 1, maxRecvWr: 1, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
  return within(t, (pd) => pd.createQp({ type, sendCq: cq, recvCq: cq, cap }))
}
