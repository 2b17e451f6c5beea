/** Our reading of a capture beside tshark's: every field that both know, of every packet. */
import { expect } from 'vitest'
import { LinkType } from '../../src/capture/index.ts'
import { fileSource } from '../../src/files/index.ts'
import { Dissection, dissect, IcrcState } from '../../src/trace/index.ts'
import { isMalformed, parseCm, parsePacket, u16, u32, u32le, WireOpcode } from '../../src/wire/index.ts'
import { guessedProtocols } from './lab/index.ts'
import { tsharkFields } from './tshark.ts'

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
      'frame.time_epoch': `${packet.seconds}.${String(packet.nanoseconds).padStart(9, '0')}`,
      // Of an ERF record tshark counts what is behind its header.
      ...(packet.linkType !== LinkType.Erf && {
        'frame.len': packet.originalLength,
        'frame.cap_len': packet.length,
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
export async function compareWithTshark(file: string, tunnelled = false): Promise<number> {
  const mine = await ours(file)
  const names = [...new Set(mine.flatMap(Object.keys))]
  const theirs = tsharkFields(file, [...names, 'frame.protocols'])
  expect(theirs.length).toBe(mine.length)
  let equal = 0
  for (const [i, values] of mine.entries()) {
    // Where it takes the payload for something else it may not get as far as the ICRC.
    const guessed = guessedProtocols.test(theirs[i]!.get('frame.protocols')!)
    for (const name of names) {
      if (guessed && name === 'infiniband.invariant.crc') continue
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
