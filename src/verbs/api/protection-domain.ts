/** Protection domains: objects that belong together. */

import { checkInteger, checkObject, plural } from '../provider/arguments.ts'
import type { AhAttr, SrqInit } from '../provider/attributes.ts'
import { grhLength, type MwType, type QpType, WcFlag } from '../provider/constants.ts'
import { VerbsError } from '../provider/errors.ts'
import { gidOfIp, isIpv4Gid, isMulticastGid } from '../provider/gid.ts'
import { Pd, recordState } from '../provider/layout.ts'
import { destroyPd } from '../provider/lifetime.ts'
import { createRecord, isStale, slotOf } from '../provider/records.ts'
import type { WorkCompletion } from '../provider/work-completion.ts'
import { AddressHandleObject } from './address.ts'
import { noteSubscribers } from './channels.ts'
import { Handle } from './handle.ts'
import { MemoryRegionObject, MemoryWindowObject } from './memory-region.ts'
import type {
  AddressHandle,
  Context,
  MemoryRegion,
  MemoryWindow,
  PdHandle,
  ProcessRange,
  ProtectionDomain,
  QpInit,
  QueuePair,
  Registrable,
  SharedReceiveQueue,
} from './objects.ts'
import { QueuePairObject } from './queue-pair.ts'
import { reclaimSoon } from './reclaim-soon.ts'
import { SharedReceiveQueueObject } from './shared-receive-queue.ts'

const members = [
  ['mrs', Pd.mrs, 'memory region'],
  ['mws', Pd.mws, 'memory window'],
  ['qps', Pd.qps, 'queue pair'],
  ['srqs', Pd.srqs, 'shared receive queue'],
  ['ahs', Pd.ahs, 'address handle'],
] as const

export class ProtectionDomainObject extends Handle implements ProtectionDomain {
  readonly context: Context
  readonly slot: number
  readonly ref: number
  readonly word: number
  readonly #owned: boolean

  /** Use `context.allocPd` or `context.importPd`; `imported` is the record of another thread's. */
  constructor(context: Context, imported?: number) {
    super('ProtectionDomain')
    this.context = context
    this.#owned = imported === undefined
    const { host } = context.device
    const { i32 } = host
    this.word =
      imported ??
      createRecord(host, 'pd', 'allocPd', 0, (pd) => {
        i32[pd + Pd.context] = context.slot
        i32[pd + Pd.owner] = host.segment.me
        i32[pd + Pd.state] = recordState.live
      })
    this.ref = i32[this.word + Pd.ref]!
    this.slot = slotOf(this.ref)
    if (this.#owned) context.adopt('pd', this)
  }

  get handle(): PdHandle {
    return { kind: 'pd', ref: this.ref }
  }

  protected override gone(): boolean {
    return isStale(this.context.device.host, this.word, this.ref)
  }

  regMr(buffer: Registrable, access: number, options: { iova?: number } = {}): MemoryRegion {
    this.assertOpen('regMr')
    return MemoryRegionObject.register(this, buffer, access, options)
  }

  regProcessMr(range: ProcessRange, access: number, options: { iova?: number } = {}): MemoryRegion {
    this.assertOpen('regProcessMr')
    return MemoryRegionObject.registerProcess(this, range, access, options)
  }

  allocMw(type: MwType): MemoryWindow {
    this.assertOpen('allocMw')
    return new MemoryWindowObject(this, type)
  }

  createQp<T extends QpType>(init: QpInit<T>): QueuePair<T> {
    this.assertOpen('createQp')
    noteSubscribers()
    return QueuePairObject.create(this, init)
  }

  createSrq(init: SrqInit): SharedReceiveQueue {
    this.assertOpen('createSrq')
    return SharedReceiveQueueObject.create(this, init)
  }

  createAh(attr: AhAttr): AddressHandle {
    this.assertOpen('createAh')
    return new AddressHandleObject(this, attr)
  }

  createAhFromWc(port: number, wc: WorkCompletion, grh: Uint8Array): AddressHandle {
    const verb = 'createAhFromWc'
    checkObject(verb, 'wc', wc)
    checkInteger(verb, 'wc.wcFlags', wc.wcFlags, 0, 0xff)
    checkInteger(verb, 'port', port, 1, this.context.device.attr.physPortCnt)
    if (!(grh instanceof Uint8Array)) throw new VerbsError('EINVAL', verb, 'grh must be a Uint8Array')
    if ((wc.wcFlags & WcFlag.Grh) === 0) return this.createAh({ dlid: wc.slid, sl: wc.sl, portNum: port })
    if (grh.length < grhLength)
      throw new VerbsError('EINVAL', verb, 'grh must be the first 40 bytes of the receive buffer')
    const view = new DataView(grh.buffer, grh.byteOffset, grhLength)
    const first = view.getUint32(0)
    if (first >>> 28 !== 6) {
      // RoCEv2 over IPv4: twenty undefined bytes, then the IPv4 header.
      const dgid = gidOfIp(grh.subarray(32, 36))
      const sgidIndex = this.#gidIndex(verb, gidOfIp(grh.subarray(36, 40)))
      return this.createAh({ portNum: port, grh: { dgid, sgidIndex, trafficClass: grh[21]!, hopLimit: 64 } })
    }
    return this.createAh({
      dlid: wc.slid,
      sl: wc.sl,
      portNum: port,
      grh: {
        dgid: grh.slice(8, 24),
        sgidIndex: this.#gidIndex(verb, grh.subarray(24, 40)),
        flowLabel: first & 0xfffff,
        trafficClass: (first >>> 20) & 0xff,
        hopLimit: 64,
      },
    })
  }

  /** Index of the GID at which a message came. */
  #gidIndex(verb: string, gid: Uint8Array): number {
    const { gids } = this.context.device
    const own = isMulticastGid(gid)
      ? // An adapter without IP addresses has groups of both families, and one kind of GID.
        (gids.find((entry) => isIpv4Gid(entry.gid) === isIpv4Gid(gid)) ?? gids[0])
      : gids.find((entry) => entry.gid.every((byte, i) => byte === gid[i]))
    if (own === undefined)
      throw new VerbsError(
        'EINVAL',
        verb,
        `the port has no GID ${Buffer.from(gid).toString('hex')}, to which grh says that the message was sent`,
      )
    return own.gidIndex
  }

  close(): void {
    if (this.endsImport(this.#owned)) return
    this.assertOpen('close')
    const { host } = this.context.device
    for (const [, word, what] of members) {
      const count = host.i32[this.word + word]!
      if (count > 0) throw new VerbsError('EBUSY', 'close', `it is in use by ${plural(count, what)}`)
    }
    if (!destroyPd(host, this.word, false))
      throw new VerbsError('EBUSY', 'close', 'another thread has just begun to use it')
    this.markClosed()
    this.context.disown('pd', this)
    reclaimSoon(host)
  }
}
