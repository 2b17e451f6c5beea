/** Every field that both tshark and we know, of every packet of every capture, and of files that our writers made. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { LinkType, PcapngWriter, PcapWriter } from '../../src/capture/index.ts'
import { fileSink, fileSource } from '../../src/files/index.ts'
import { connectQp, endpointOf, nativeAvailable, Opcode, openDevice, SendFlag, sendWr, tap } from '../../src/index.ts'
import { Dissection, dissect, IcrcState } from '../../src/trace/index.ts'
import { isMalformed, opcodeTable, parseCm, parsePacket, u16, u32, u32le, WireOpcode } from '../../src/wire/index.ts'
import { drain, makeEnd, until } from '../devices/shm/rig.ts'
import { loopbackDevice } from '../loopback.ts'
import { encapsulations } from '../trace/encapsulate.ts'
import {
  deth,
  erfRecord,
  ethernet,
  globalPacket,
  infiniBandPacket,
  reth,
  roceFrame,
  rocePacket,
} from '../trace/packets.ts'
import { tsharkFields, tsharkVersion } from './tshark.ts'

const title = tsharkVersion ?? 'tshark is not installed: apt-get install --no-install-recommends tshark'
const captures = new URL('../captures/', import.meta.url)
const dir = mkdtempSync(join(tmpdir(), 'verbena-tshark-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** Our value of each of tshark's fields: numbers, or texts as tshark writes them. Undefined where we have none. */
type Values = Record<string, number | bigint | string | boolean | undefined>

async function ours(file: string): Promise<Values[]> {
  const all: Values[] = []
  const d = new Dissection()
  const parser = await fileSource(file).read((packet) => {
    dissect(packet, d, true)
    const { bytes: b } = packet
    const values: Values = {
      'frame.number': packet.number,
      // Of an ERF record tshark takes the time, and counts what is behind its header.
      ...(packet.linkType !== LinkType.Erf && {
        'frame.len': packet.originalLength,
        'frame.cap_len': packet.length,
        'frame.time_epoch': `${packet.seconds}.${String(packet.nanoseconds).padStart(9, '0')}`,
      }),
    }
    if (d.udp > 0 && d.kind === 1) {
      values['udp.srcport'] = u16(b, d.udp)
      values['udp.dstport'] = u16(b, d.udp + 2)
      values['udp.length'] = u16(b, d.udp + 4)
      if (d.ipVersion === 4) {
        values['ip.src'] = b.slice(d.ip + 12, d.ip + 16).join('.')
        values['ip.dst'] = b.slice(d.ip + 16, d.ip + 20).join('.')
        values['ip.id'] = u16(b, d.ip + 4)
        values['ip.len'] = u16(b, d.ip + 2)
      }
    }
    if (d.kind !== 0 && d.complete) Object.assign(values, transport(b, d))
    expect(d.problems).toBe(0)
    if (d.kind !== 0) expect(d.icrc).toBe(IcrcState.Valid)
    all.push(values)
  })
  expect(parser.damage.list).toEqual([])
  return all
}

function transport(b: Uint8Array, d: Dissection): Values {
  const packet = parsePacket(b, d.bth, d.end)
  if (isMalformed(packet)) throw new Error(packet)
  const { bth, reth: r, atomicEth, aeth, deth, immDt, ieth, atomicAckEth } = packet
  const values: Values = {
    'infiniband.bth.opcode': bth.opcode,
    'infiniband.bth.se': bth.solicited,
    'infiniband.bth.m': bth.migReq,
    'infiniband.bth.padcnt': d.pad,
    'infiniband.bth.tver': 0,
    'infiniband.bth.p_key': bth.pkey,
    'infiniband.bth.destqp': d.destQp,
    'infiniband.bth.a': d.ackReq,
    'infiniband.bth.psn': d.psn,
    'infiniband.reth.va': r?.va ?? atomicEth?.va,
    'infiniband.reth.r_key': r?.rkey ?? atomicEth?.rkey,
    'infiniband.reth.dmalen': r?.dmaLength,
    'infiniband.aeth.syndrome': aeth?.syndrome,
    'infiniband.aeth.msn': aeth?.msn,
    'infiniband.deth.q_key': deth?.qkey,
    'infiniband.deth.srcqp': deth?.srcQp,
    'infiniband.immdt': immDt && hex(immDt.data),
    'infiniband.ieth': ieth && hex(ieth.rkey),
    'infiniband.atomiceth.swapdt': atomicEth?.swapAdd,
    'infiniband.atomiceth.cmpdt': atomicEth?.compare,
    'infiniband.atomicacketh.origremdt': atomicAckEth?.original,
    // tshark shows the bytes as they come, but does not look for them in a CNP.
    'infiniband.invariant.crc': bth.opcode === WireOpcode.Cnp ? undefined : u32(b, d.end),
  }
  expect(u32le(b, d.end)).toBeGreaterThanOrEqual(0)
  if (deth !== undefined && d.destQp === 1) Object.assign(values, connection(b.slice(d.payload, d.payload + 256)))
  return values
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0')
}

function connection(mad: Uint8Array): Values {
  const m = parseCm(mad, 0, mad.length)
  if (isMalformed(m)) throw new Error(m)
  const head: Values = {
    'infiniband.mad.mgmtclass': mad[1]!,
    'infiniband.mad.method': mad[3]!,
    'infiniband.mad.transactionid': m.transactionId,
    'infiniband.mad.attributeid': u16(mad, 16),
  }
  switch (m.type) {
    case 'REQ':
      return {
        ...head,
        'infiniband.cm.req': m.localCommId,
        'infiniband.cm.req.localcaguid': m.localCaGuid,
        'infiniband.cm.req.localqkey': m.localQkey,
        'infiniband.cm.req.localqpn': m.localQpn,
        'infiniband.cm.req.responderres': m.responderResources,
        'infiniband.cm.req.initdepth': m.initiatorDepth,
        'infiniband.cm.req.remoteresptout': m.remoteCmResponseTimeout,
        'infiniband.cm.req.transpsvctype': m.transportServiceType,
        'infiniband.cm.req.e2eflowctrl': m.endToEndFlowControl,
        'infiniband.cm.req.startpsn': m.startingPsn,
        'infiniband.cm.req.localresptout': m.localCmResponseTimeout,
        'infiniband.cm.req.retrcount': m.retryCount,
        'infiniband.cm.req.pkey': m.pkey,
        'infiniband.cm.req.pppmtu': m.pathMtu,
        'infiniband.cm.req.rnrretrcount': m.rnrRetryCount,
        'infiniband.cm.req.maxcmretr': m.maxCmRetries,
        'infiniband.cm.req.srq': m.srq,
        'infiniband.cm.req.prim_hoplim': m.primary.hopLimit,
        'infiniband.cm.req.prim_tfcclass': m.primary.trafficClass,
        'infiniband.cm.req.prim_localacktout': m.primary.localAckTimeout,
      }
    case 'REP':
      return {
        ...head,
        'infiniband.cm.rep': m.localCommId,
        'infiniband.cm.rep.remotecommid': m.remoteCommId,
        'infiniband.cm.rep.localqkey': m.localQkey,
        'infiniband.cm.rep.localqpn': m.localQpn,
        'infiniband.cm.rep.startpsn': m.startingPsn,
        'infiniband.cm.rep.respres': m.responderResources,
        'infiniband.cm.rep.initdepth': m.initiatorDepth,
        'infiniband.cm.rep.tgtackdelay': m.targetAckDelay,
        'infiniband.cm.rep.failoveracc': m.failoverAccepted,
        'infiniband.cm.rep.e2eflowctrl': m.endToEndFlowControl,
        'infiniband.cm.rep.rnrretrcount': m.rnrRetryCount,
        'infiniband.cm.rep.srq': m.srq,
        'infiniband.cm.rep.localcaguid': m.localCaGuid,
      }
    case 'RTU':
      return {
        ...head,
        'infiniband.cm.rtu.localcommid': m.localCommId,
        'infiniband.cm.rtu.remotecommid': m.remoteCommId,
      }
    case 'DREQ':
      return {
        ...head,
        'infiniband.cm.dreq.localcommid': m.localCommId,
        'infiniband.cm.dreq.remotecommid': m.remoteCommId,
        'infiniband.cm.req.remoteqpneecn': m.remoteQpn,
      }
    case 'DREP':
      return {
        ...head,
        'infiniband.cm.drsp.localcommid': m.localCommId,
        'infiniband.cm.drsp.remotecommid': m.remoteCommId,
      }
    default:
      return head
  }
}

/**
 * Compares all packets; counts how many values were equal, so that a comparison of nothing is seen. Of packets in
 * packets, tshark's last value of a field is the innermost one's.
 */
async function compare(file: string, tunnelled = false): Promise<number> {
  const mine = await ours(file)
  const names = [...new Set(mine.flatMap(Object.keys))]
  const theirs = tsharkFields(file, names)
  expect(theirs.length).toBe(mine.length)
  let equal = 0
  for (const [i, values] of mine.entries()) {
    for (const name of names) {
      // Some fields are there twice, as a number and as bytes.
      const all = theirs[i]!.get(name)?.replace(/^(.+),\1$/, '$1')
      const their = tunnelled ? all?.split(',').at(-1) : all
      const own = values[name]
      const what = `packet ${i + 1}: ${name}`
      if (own === undefined) {
        expect(their, what).toBeUndefined()
        continue
      }
      expect(their, what).toBeDefined()
      if (typeof own === 'string') expect(their!.replaceAll(':', ''), what).toBe(own)
      else if (typeof own === 'boolean')
        expect(['1', 'True', 'TRUE'].includes(their!) || Number(their) === 1, what).toBe(own)
      else expect(BigInt(their!), what).toBe(BigInt(own))
      equal++
    }
  }
  return equal
}

describe.skipIf(tsharkVersion === undefined)(title, () => {
  const names = readdirSync(captures).filter((name) => name.endsWith('.pcap'))

  it.each(names)('agrees about every field of %s', async (name) => {
    expect(await compare(new URL(name, captures).pathname)).toBeGreaterThan(12 * 15)
  })

  it.each(names)('agrees about %s as our writers write it again', async (name) => {
    for (const [extension, little] of [
      ['pcap', true],
      ['pcap', false],
      ['pcapng', true],
      ['pcapng', false],
    ] as const) {
      const file = join(dir, `again-${little}.${extension}`)
      const sink = fileSink(file)
      const writer =
        extension === 'pcap'
          ? new PcapWriter(sink, { littleEndian: little })
          : new PcapngWriter(sink, { littleEndian: little, application: 'verbena', comment: 'written again' })
      if (writer instanceof PcapngWriter) writer.addInterface({ name: 'eth0', resolution: little ? 9 : 6 })
      await fileSource(new URL(name, captures).pathname).read((p) => {
        writer.packet(p.bytes, p.offset, p.length, p.seconds, p.nanoseconds, p.originalLength)
        return undefined
      })
      writer.close()
      expect(await compare(file)).toBeGreaterThan(12 * 15)
    }
  })

  it.skipIf(!nativeAvailable)('agrees about what the tap of a device has written', async () => {
    const file = join(dir, 'tap.pcapng')
    const [a, b] = [openDevice(loopbackDevice(1), { wrap: [tap(file)] }), openDevice(loopbackDevice(2))]
    const [x, y] = [makeEnd(a), makeEnd(b)]
    const [toX, toY] = [endpointOf(x.qp), endpointOf(y.qp)]
    connectQp(x.qp, toX, toY)
    connectQp(y.qp, toY, toX)
    const remote = { remoteAddr: y.mr.addr, rkey: y.mr.rkey, sgList: [x.sge(0, 9000)], sendFlags: SendFlag.Signaled }
    x.qp.postSend(sendWr({ opcode: Opcode.Write, wrId: 1, ...remote }))
    x.qp.postSend(sendWr({ opcode: Opcode.Read, wrId: 2, ...remote }))
    x.qp.postSend(
      sendWr({ opcode: Opcode.AtomicFetchAndAdd, wrId: 3, compareAdd: 1n, ...remote, sgList: [x.sge(0, 8)] }),
    )
    const completions: { wrId: number; status: number }[] = []
    await until('completions', () => drain(x.cq, completions).length === 3)
    expect(completions.map(({ status }) => status)).toEqual([0, 0, 0])
    for (const end of [x, y]) end.close()
    a.close()
    b.close()
    // The thread that drives the devices writes the file; closing does not wait for it.
    await vi.waitFor(async () => expect(await compare(file)).toBeGreaterThan(8 * 15), 20_000)
  })

  // Opcodes of later annexes, and the transports that no adapter has, are unknown to it.
  const unknown = new Set<number>([WireOpcode.RcFlush, WireOpcode.RcAtomicWrite, WireOpcode.RdFlush])
  const known = opcodeTable.filter(
    (info) => info !== undefined && ['RC', 'UC', 'UD', 'CNP'].includes(info.transport) && !unknown.has(info.opcode),
  )
  const specs = known.map((info, i) => {
    const { opcode, place, payload, headers } = info!
    const bytes = payload ? (place === 'first' || place === 'middle' ? 256 : 13 + (i % 4)) : 0
    const dma = place === 'first' ? 1000 : payload ? bytes : 4096
    const extension =
      headers[0] === 'RETH'
        ? reth(0x1234_5678_9abc, 0xfedc, dma)
        : headers[0] === 'DETH'
          ? deth(0x1111_1111, 0x77)
          : undefined
    const ecn = info!.transport === 'CNP' ? 0x40 : 0
    return {
      opcode,
      payload: bytes,
      psn: 0xfffff0 + i,
      destQp: 0x100 + i,
      ackReq: i % 2 === 1,
      ecn,
      ...(extension && { extension }),
    }
  })

  it.each([
    ['Ethernet', LinkType.Ethernet, (spec: (typeof specs)[number]) => roceFrame(spec)],
    ['two VLAN tags', LinkType.Ethernet, (spec: (typeof specs)[number]) => roceFrame(spec, [5, 6])],
    [
      'IPv6',
      LinkType.Ethernet,
      (spec: (typeof specs)[number]) => roceFrame({ ...spec, source: 'fe80::1', destination: '2001:db8::2' }),
    ],
    ['raw IP', LinkType.Raw, (spec: (typeof specs)[number]) => rocePacket(spec)],
    ...Object.entries(encapsulations).map(
      ([name, put]) => [name, LinkType.Ethernet, (spec: (typeof specs)[number]) => put(rocePacket(spec))] as const,
    ),
    ['Linux cooked', LinkType.LinuxSll, (spec: (typeof specs)[number]) => cooked(rocePacket(spec))],
    ['Linux cooked v2', LinkType.LinuxSll2, (spec: (typeof specs)[number]) => cooked2(rocePacket(spec))],
    ['RoCEv1', LinkType.Ethernet, (spec: (typeof specs)[number]) => ethernet(0x8915, globalPacket(spec))],
    ['ERF Ethernet', LinkType.Erf, (spec: (typeof specs)[number]) => erfRecord(2, roceFrame(spec))],
    ['ERF InfiniBand', LinkType.Erf, (spec: (typeof specs)[number]) => erfRecord(21, infiniBandPacket(spec))],
    [
      'ERF with extensions',
      LinkType.Erf,
      (spec: (typeof specs)[number]) => erfRecord(21, infiniBandPacket(spec, true), 2),
    ],
  ] as const)('agrees about every opcode behind %s', async (name, linkType, make) => {
    for (const extension of ['pcap', 'pcapng']) {
      const file = join(dir, `${name.replaceAll(/[ ,]+/g, '-')}.${extension}`)
      const sink = fileSink(file)
      const writer = extension === 'pcap' ? new PcapWriter(sink, { linkType }) : new PcapngWriter(sink)
      if (writer instanceof PcapngWriter) writer.addInterface({ linkType })
      for (const [i, spec] of specs.entries()) {
        const bytes = make(spec)
        writer.packet(bytes, 0, bytes.length, 1_700_000_000, i)
      }
      writer.close()
      expect(await compare(file, name in encapsulations)).toBeGreaterThan(specs.length * 12)
    }
  })
})

function cooked(packet: Uint8Array): Uint8Array {
  const b = new Uint8Array(16 + packet.length)
  b.set([0, 4, 0, 1, 0, 6])
  b.set([0x08, 0x00], 14)
  b.set(packet, 16)
  return b
}

function cooked2(packet: Uint8Array): Uint8Array {
  const b = new Uint8Array(20 + packet.length)
  b.set([0x08, 0x00, 0, 0, 0, 0, 0, 1, 0, 1, 4, 6])
  b.set(packet, 20)
  return b
}
