/**
 * Rewrites queue pairs, PSNs and addresses in management datagrams, so that a rewritten capture still shows which queue pairs
 * are connected. Offsets count from the end of the MAD header; source: InfiniBand Architecture Specification, volume 1, 12.6 and
 * 12.11, and annex A11 for the header of the RDMA CM.
 */
import { CmAttribute, CmaHdr, Mad, MadMethod, MgmtClass, put16, put24, u16, u24, u32 } from '../wire/index.ts'
import type { AddressLookup, NumberLookup } from './lookup.ts'

const Req = {
  serviceId: 8,
  localQpn: 32,
  startingPsn: 44,
  pkey: 48,
  primary: 52,
  alternate: 96,
  privateData: 140,
} as const
const Rep = { localQpn: 12, startingPsn: 20 } as const
const Dreq = { remoteQpn: 8 } as const
const Lap = { remoteQpn: 12, alternate: 20 } as const
const SidrReq = { pkey: 4, serviceId: 8, privateData: 16 } as const
const SidrRep = { qpn: 8 } as const
/** Offsets in the path of a REQ or LAP. */
const Path = { localLid: 0, remoteLid: 2, localGid: 4, remoteGid: 20 } as const
/** Upper words of the service IDs of the RDMA CM: 0x0000000001 and a port space. */
const rdmaCmServices = 0x01

export class ManagementRewriter {
  readonly #qpn: NumberLookup
  readonly #psn: NumberLookup
  readonly #pkey: NumberLookup
  readonly #ip: AddressLookup
  readonly #lid: NumberLookup
  #hosts: Uint8Array = new Uint8Array(0)
  #source = 0
  #destination = 0
  #length = 0
  #changed = false

  constructor(qpn: NumberLookup, psn: NumberLookup, pkey: NumberLookup, ip: AddressLookup, lid: NumberLookup) {
    this.#qpn = qpn
    this.#psn = psn
    this.#pkey = pkey
    this.#ip = ip
    this.#lid = lid
  }

  /** Sets the positions of the addresses of sender and receiver, as captured. */
  hosts(hosts: Uint8Array, source: number, destination: number, length: number): void {
    this.#hosts = hosts
    this.#source = source
    this.#destination = destination
    this.#length = length
  }

  /** Rewrites the MAD b[start, end). Returns true if anything has changed; a MAD that is not a message of the CM stays unchanged. */
  rewrite(b: Uint8Array, start: number, end: number): boolean {
    if (end - start < Mad.totalLength) return false
    if (b[start + Mad.mgmtClass] !== MgmtClass.comm || b[start + Mad.method] !== MadMethod.send) return false
    const at = start + Mad.length
    this.#changed = false
    switch (u16(b, start + Mad.attributeId)) {
      case CmAttribute.REQ:
        this.#end(b, at + Req.localQpn, at + Req.startingPsn)
        this.#key(b, at + Req.pkey)
        this.#path(b, at + Req.primary)
        this.#path(b, at + Req.alternate)
        this.#addresses(b, at + Req.serviceId, at + Req.privateData)
        break
      case CmAttribute.REP:
        this.#end(b, at + Rep.localQpn, at + Rep.startingPsn)
        break
      case CmAttribute.DREQ:
        this.#number(b, at + Dreq.remoteQpn, this.#destination)
        break
      case CmAttribute.LAP:
        this.#number(b, at + Lap.remoteQpn, this.#destination)
        this.#path(b, at + Lap.alternate)
        break
      case CmAttribute.SIDR_REQ:
        this.#key(b, at + SidrReq.pkey)
        this.#addresses(b, at + SidrReq.serviceId, at + SidrReq.privateData)
        break
      case CmAttribute.SIDR_REP:
        this.#number(b, at + SidrRep.qpn, this.#source)
    }
    return this.#changed
  }

  /** Rewrites the sender's queue pair, and the first PSN of requests to it. */
  #end(b: Uint8Array, qpn: number, psn: number): void {
    const add = this.#psn.get(u24(b, qpn), 0, this.#hosts, this.#source, this.#length)
    if (add !== 0) {
      put24(b, psn, u24(b, psn) + add)
      this.#changed = true
    }
    this.#number(b, qpn, this.#source)
  }

  #number(b: Uint8Array, at: number, host: number): void {
    const to = this.#qpn.get(u24(b, at), -1, this.#hosts, host, this.#length)
    if (to < 0) return
    put24(b, at, to)
    this.#changed = true
  }

  #key(b: Uint8Array, at: number): void {
    const old = u16(b, at)
    const to = this.#pkey.get(old, old, b, 0, 0)
    if (to === old) return
    put16(b, at, to)
    this.#changed = true
  }

  #path(b: Uint8Array, at: number): void {
    for (const lid of [at + Path.localLid, at + Path.remoteLid]) {
      const to = this.#lid.get(u16(b, lid), -1, b, 0, 0)
      if (to < 0) continue
      put16(b, lid, to)
      this.#changed = true
    }
    if (this.#ip.empty) return
    for (const gid of [at + Path.localGid, at + Path.remoteGid]) if (this.#ip.replaceGid(b, gid)) this.#changed = true
  }

  /** Rewrites the header of the RDMA CM at the start of the private data. */
  #addresses(b: Uint8Array, serviceId: number, cma: number): void {
    if (this.#ip.empty || u32(b, serviceId) !== 0 || b[serviceId + 4] !== rdmaCmServices) return
    const version = b[cma + CmaHdr.ipVersion]! >> 4
    for (const field of [cma + CmaHdr.source, cma + CmaHdr.destination]) {
      const replaced =
        version === 4 ? this.#ip.replace(b, field + 12, 4) : version === 6 && this.#ip.replace(b, field, 16)
      if (replaced) this.#changed = true
    }
  }
}
