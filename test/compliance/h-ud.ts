/** Group H of the conformance list: unreliable datagrams and multicast. */
import { expect } from 'vitest'
import { LinkLayer, Opcode, QpType, SendFlag, WcFlag } from '../../src/index.ts'
import { defaults, type End, expectBytes, isZero, pattern } from './end.ts'
import { expectThrow, type Group, refusedOr, type Setup } from './rig.ts'

const grh = 40

export const groupH: Group = (it) => {
  it('95 send and receive: 40 bytes for the GRH, then the payload', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    a.buffer.set(pattern(1024))
    b.recv(3, 0, grh + 1024)
    const sent = await t.run(a, Opcode.Send, null, a.datagram(t, b))
    expect(sent).toMatchObject({ status: 'Success', opcode: 'Send' })
    const received = await t.expectCompletion(b.recvCq, {
      wrId: 3,
      status: 'Success',
      opcode: 'Recv',
      byteLen: grh + 1024,
    })
    expect(received).toMatchObject({ srcQp: a.qp.qpNum, qpNum: b.qp.qpNum })
    expect(received.wcFlags & WcFlag.Grh).toBe(WcFlag.Grh)
    expectBytes(b.buffer.subarray(grh, grh + 1024), pattern(1024))
    expect(isZero(b.buffer.subarray(grh + 1024))).toBe(true)
  })

  it('95 immediate data, an empty message, inline, several elements', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    const to = a.datagram(t, b)
    a.buffer.set(pattern(1024))
    b.recv(1, 0, grh + 1024)
    expect(await t.run(a, Opcode.SendWithImm, null, { ...to, immData: 0x89abcdef })).toMatchObject({
      status: 'Success',
    })
    const wc = await t.expectCompletion(b.recvCq, { status: 'Success', immData: 0x89abcdef })
    expect(wc.wcFlags & WcFlag.WithImm).toBe(WcFlag.WithImm)
    b.recv(2, 0, grh)
    expect(await t.run(a, Opcode.Send, null, { ...to, sgList: [] })).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 2, status: 'Success', byteLen: grh })
    b.qp.postRecv({ wrId: 3, sgList: [b.sge(0, 20), b.sge(100, 30), b.sge(200, 100)] })
    const sendFlags = SendFlag.Signaled | SendFlag.Inline
    const sgList = [a.sge(0, 10), a.sge(10, 20)]
    expect(await t.run(a, Opcode.Send, null, { ...to, sendFlags, sgList })).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 3, status: 'Success', byteLen: grh + 30 })
    // The GRH fills 20 + 20 bytes, so that 10 bytes of payload end the second element.
    const got = Buffer.concat([b.buffer.subarray(120, 130), b.buffer.subarray(200, 220)])
    expectBytes(got, pattern(1024).subarray(0, 30))
  })

  it('95 one QP sends to several, and a receive says from whom', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    const [c] = t.pair(QpType.UD)
    const [toB, fromC] = [a.datagram(t, b), c.datagram(t, b)]
    for (let i = 0; i < 6; i++) {
      b.recv(i, 0, 2048)
      const [end, fields] = i % 2 === 0 ? [a, toB] : [c, fromC]
      expect(await t.run(end, Opcode.Send, null, { ...fields, wrId: i })).toMatchObject({ status: 'Success' })
      await t.expectCompletion(b.recvCq, { wrId: i, status: 'Success', srcQp: end.qp.qpNum })
    }
  })

  // IBA 11.4.1.2
  it('95 without a GRH the LID leads to the adapter on InfiniBand; on Ethernet there are no LIDs', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    if (a.context.queryPort(1).linkLayer === LinkLayer.Ethernet) {
      expectThrow('EINVAL', () => a.pd.createAh({ dlid: 1, portNum: 1 }))
      return
    }
    const to = a.datagram(t, b)
    const local = t.own(a.pd.createAh({ dlid: b.endpoint.lid, portNum: 1 }))
    const nowhere = t.own(a.pd.createAh({ dlid: 0xbff0, portNum: 1 }))
    a.buffer.set(pattern(64))
    b.recv(1, 0, 2048)
    expect(await t.run(a, Opcode.Send, null, { ...to, ah: nowhere })).toMatchObject({ status: 'Success' })
    await t.expectQuiet(b.recvCq)
    expect(await t.run(a, Opcode.Send, null, { ...to, ah: local, length: 64 })).toMatchObject({ status: 'Success' })
    const wc = await t.expectCompletion(b.recvCq, { wrId: 1, status: 'Success', byteLen: grh + 64 })
    expect(wc.wcFlags & WcFlag.Grh).toBe(0)
    expectBytes(b.buffer.subarray(grh, grh + 64), pattern(64))
  })

  it('96 a message longer than the MTU is LOC_LEN_ERR', async (t) => {
    const [a, b] = t.pair(QpType.UD, { bytes: 1 << 16 })
    const to = a.datagram(t, b)
    const { activeMtu } = a.context.queryPort(1)
    b.recv(1, 0, grh + activeMtu)
    expect(await t.run(a, Opcode.Send, null, { ...to, length: activeMtu })).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 1, status: 'Success', byteLen: grh + activeMtu })
    b.recv(2, 0, 1 << 15)
    expect(await t.run(a, Opcode.Send, null, { ...to, length: activeMtu + 1 })).toMatchObject({ status: 'LocLenErr' })
    await t.expectQuiet(b.recvCq)
  })

  // IBA 9.6.1.4.1
  it('97 a QP number that does not exist, a bad Q_Key, no receive: the sender sees success', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    const to = a.datagram(t, b)
    expect(await t.run(a, Opcode.Send, null, to)).toMatchObject({ status: 'Success' })
    await t.expectQuiet(b.recvCq)
    b.recv(1, 0, 2048)
    for (const wrong of [{ remoteQpn: b.qp.qpNum ^ 0x155555 }, { remoteQkey: 0x11111112 }, { remoteQkey: 0 }])
      expect(await t.run(a, Opcode.Send, null, { ...to, ...wrong })).toMatchObject({ status: 'Success' })
    await t.expectQuiet(b.recvCq)
    expect(await t.run(a, Opcode.Send, null, to)).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 1, status: 'Success' })
  })

  // IBA 10.2.5
  it('97 a remote Q_Key with bit 31 stands for the Q_Key of the sending QP', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    b.recv(1, 0, 2048)
    expect(await t.run(a, Opcode.Send, null, { ...a.datagram(t, b), remoteQkey: 0x80000001 })).toMatchObject({
      status: 'Success',
    })
    await t.expectCompletion(b.recvCq, { wrId: 1, status: 'Success' })
  })

  for (const withSrq of [false, true])
    it(`97 a receive${withSrq ? ' of an SRQ' : ''} that is too short loses the message, and serves the next one`, async (t) => {
      const pd = t.own(t.context(1).allocPd())
      const srq = withSrq ? t.own(pd.createSrq({ maxWr: 4 })) : undefined
      const [a, b] = t.pair(QpType.UD, { b: srq ? { pd, srq } : { pd } })
      const to = a.datagram(t, b)
      ;(srq ?? b.qp).postRecv({ wrId: 1, sgList: [b.sge(0, grh + 100)] })
      const dropped = b.context.counters().ud_drops_length!
      for (const length of [101, 1024])
        expect(await t.run(a, Opcode.Send, null, { ...to, length })).toMatchObject({ status: 'Success' })
      a.expectState('Rts')
      expect(await t.run(a, Opcode.Send, null, { ...to, length: 100 })).toMatchObject({ status: 'Success' })
      await t.expectCompletion(b.recvCq, { wrId: 1, status: 'Success', byteLen: grh + 100 })
      await t.expectQuiet(b.recvCq)
      b.expectState('Rts')
      expect(b.context.counters().ud_drops_length! - dropped).toBe(2)
    })

  it('97 a receive with a bad lkey is LOC_PROT_ERR and the QP in ERR; the sender sees success', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    b.qp.postRecv({ wrId: 5, sgList: [{ ...b.sge(0, 2048), lkey: b.mr.lkey ^ 0x4400 }] })
    b.recv(6, 0, 2048)
    expect(await t.run(a, Opcode.Send, null, a.datagram(t, b))).toMatchObject({ status: 'Success' })
    await t.expectOrder(b.recvCq, [
      [5, 'LocProtErr'],
      [6, 'WrFlushErr'],
    ])
    b.expectState('Err')
  })

  it('97 a UD message to an RC QP is dropped', async (t) => {
    const [a] = t.pair(QpType.UD)
    const [, rc] = t.pair(QpType.RC)
    rc.recv(1, 0, 2048)
    const fields = a.datagram(t, rc as unknown as End)
    expect(await t.run(a, Opcode.Send, null, fields)).toMatchObject({ status: 'Success' })
    await t.expectQuiet(rc.recvCq)
    rc.expectState('Rts')
  })

  for (const opcode of [
    Opcode.Read,
    Opcode.Write,
    Opcode.WriteWithImm,
    Opcode.AtomicCmpAndSwp,
    Opcode.AtomicFetchAndAdd,
    Opcode.SendWithInv,
  ]) {
    it(`98 operation ${opcode} on UD is LOC_QP_OP_ERR or EINVAL`, async (t) => {
      const [a, b] = t.pair(QpType.UD)
      b.recv(1, 0, 2048)
      const fields = { ...a.datagram(t, b), immData: 1, compareAdd: 1n, swap: 1n, invalidateRkey: b.mr.rkey }
      const status = await refusedOr(() => t.run(a, opcode, b, fields))
      expect(['refused', 'LocQpOpErr']).toContain(status)
      expect(isZero(b.buffer)).toBe(true)
      await t.expectQuiet(b.recvCq)
    })
  }

  it('98 a send without an address handle is EINVAL', (t) => {
    const [a] = t.pair(QpType.UD)
    expectThrow('EINVAL', () => a.post(Opcode.Send, null))
    expectThrow('EINVAL', () => a.post(Opcode.Send, null, { ah: {}, remoteQpn: 1, remoteQkey: 1 }))
  })

  // IBA CA17-4, CA17-9, A17.4.5.2
  it('99 traffic class, hop limit and both GIDs land in the GRH', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    const address = t.address(b.endpoint)
    const ah = t.own(a.pd.createAh({ ...address, grh: { ...address.grh!, trafficClass: 0x5c, hopLimit: 33 } }))
    b.recv(1, 0, 2048)
    expect(await t.run(a, Opcode.Send, null, { ...a.datagram(t, b), ah, length: 100 })).toMatchObject({
      status: 'Success',
    })
    await t.expectCompletion(b.recvCq, { status: 'Success' })
    const header = b.buffer.subarray(0, grh)
    if (header[0]! >> 4 === 6) {
      expect(((header[0]! & 15) << 4) | (header[1]! >> 4)).toBe(0x5c)
      expect(header[7]).toBe(33)
      expect(header.subarray(8, 24)).toEqual(a.endpoint.gid)
      expect(header.subarray(24, 40)).toEqual(b.endpoint.gid)
    } else {
      // RoCEv2 over IPv4: twenty bytes that say nothing, then the IPv4 header.
      expect(a.context.queryPort(1).linkLayer).toBe(LinkLayer.Ethernet)
      expect(header[20]! >> 4).toBe(4)
      expect(header[21]).toBe(0x5c)
      expect(header[28]).toBe(33)
      expect(header.subarray(32, 36)).toEqual(a.endpoint.gid.subarray(12))
      expect(header.subarray(36, 40)).toEqual(b.endpoint.gid.subarray(12))
    }
  })

  it('100 multicast reaches N receivers, the sender among them, each once', async (t) => {
    const gid = groupGid(1)
    const [a, b] = t.pair(QpType.UD)
    const [c, d] = t.pair(QpType.UD)
    const ends = [a, b, c, d]
    const members = [a, b, c]
    for (const end of members) {
      end.qp.attachMcast(gid, 0xc001)
    }
    for (const end of ends) for (let i = 0; i < 2; i++) end.recv(i, 4096, 2048)
    const to = multicast(t, a, gid)
    a.buffer.set(pattern(512))
    expect(await t.run(a, Opcode.Send, null, { ...to, length: 512 })).toMatchObject({ status: 'Success' })
    for (const end of members) {
      const wanted = { wrId: 0, status: 'Success', byteLen: grh + 512, srcQp: a.qp.qpNum } as const
      const wc = await t.expectCompletion(end.recvCq, wanted)
      expectBytes(end.buffer.subarray(4096 + grh, 4096 + grh + 512), pattern(512))
      // It says to which group it was sent, on IPv4 the address that this one has there; an address handle leads back from it.
      const header = end.buffer.subarray(4096, 4096 + grh)
      const isIpv4 = end.context.queryPort(1).linkLayer === LinkLayer.Ethernet && header[20]! >> 4 === 4
      if (isIpv4) expect(header.slice(36)).toEqual(Uint8Array.of(239, ...gid.subarray(13)))
      else expect(header.slice(24)).toEqual(gid)
      t.own(end.pd.createAhFromWc(1, wc as never, header))
    }
    await t.expectQuiet(...ends.map(({ recvCq }) => recvCq))
    b.qp.detachMcast(gid, 0xc001)
    expect(await t.run(a, Opcode.Send, null, to)).toMatchObject({ status: 'Success' })
    for (const end of [a, c]) await t.expectCompletion(end.recvCq, { wrId: 1, status: 'Success' })
    await t.expectQuiet(b.recvCq, d.recvCq)
    for (const end of [a, c]) end.qp.detachMcast(gid, 0xc001)
  })

  it('100 multicast: other groups, other Q_Keys and no receive get nothing; wrong arguments are EINVAL', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    const [gid, other] = [groupGid(2), groupGid(3)]
    b.qp.attachMcast(other, 0xc002)
    b.recv(1, 0, 2048)
    expect(await t.run(a, Opcode.Send, null, multicast(t, a, gid))).toMatchObject({ status: 'Success' })
    expect(await t.run(a, Opcode.Send, null, { ...multicast(t, a, other), remoteQkey: 5 })).toMatchObject({
      status: 'Success',
    })
    await t.expectQuiet(b.recvCq)
    b.qp.detachMcast(other, 0xc002)
    expectThrow('EINVAL', () => b.qp.detachMcast(other, 0xc002))
    expectThrow('EINVAL', () => b.qp.attachMcast(b.endpoint.gid, 0xc002))
    expectThrow('EINVAL', () => b.qp.attachMcast(new Uint8Array(4), 0xc002))
    const [rc] = t.pair(QpType.RC)
    expectThrow('EINVAL', () => rc.qp.attachMcast(gid, 0xc002))
  })
}

/** A multicast GID of link-local scope, different in every process. */
function groupGid(number: number): Uint8Array {
  const gid = new Uint8Array(16)
  gid.set([0xff, 0x12, 0x40, 0x1b, 0xff, 0xff])
  gid.set([process.pid >>> 8, process.pid & 0xff, number], 13)
  return gid
}

function multicast(t: Setup, from: End<typeof QpType.UD>, gid: Uint8Array) {
  const address = t.address({ ...from.endpoint, gid, lid: 0xc001 })
  return { ah: t.own(from.pd.createAh(address)), remoteQpn: 0xffffff, remoteQkey: defaults.qkey }
}
