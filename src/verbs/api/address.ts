/** Address vectors and address handles: the way to a port. */
import { checkInteger } from '../provider/arguments.ts'
import type { AhAttr } from '../provider/attributes.ts'
import { LinkLayer } from '../provider/constants.ts'
import type { Device } from '../provider/device.ts'
import { VerbsError } from '../provider/errors.ts'
import { isMulticastGid } from '../provider/gid.ts'
import { Av, avGlobal, avMulticast, avPathBitsShift, avRateShift, Dev, Pd } from '../provider/layout.ts'
import { isStale } from '../provider/records.ts'
import { Handle } from './handle.ts'
import type { AddressHandle, ProtectionDomain } from './objects.ts'

/** Throws EINVAL that names the field, unless the address vector is well formed. */
export function checkAhAttr(verb: string, name: string, device: Device, attr: AhAttr): void {
  if (typeof attr !== 'object' || attr === null) throw new VerbsError('EINVAL', verb, `${name} must be an object`)
  checkInteger(verb, `${name}.dlid`, attr.dlid ?? 0, 0, 0xffff)
  checkInteger(verb, `${name}.sl`, attr.sl ?? 0, 0, 15)
  checkInteger(verb, `${name}.srcPathBits`, attr.srcPathBits ?? 0, 0, 127)
  checkInteger(verb, `${name}.staticRate`, attr.staticRate ?? 0, 0, 255)
  checkInteger(verb, `${name}.portNum`, attr.portNum ?? 1, 1, device.attr.physPortCnt)
  const { grh } = attr
  if (grh === undefined) {
    if (device.port.linkLayer === LinkLayer.Ethernet)
      throw new VerbsError('EINVAL', verb, `${name}.grh is needed: on Ethernet the destination's GID is its address`)
    if (attr.dlid === undefined) throw new VerbsError('EINVAL', verb, `${name} needs dlid, or grh with dgid`)
    return
  }
  if (!(grh?.dgid instanceof Uint8Array) || grh.dgid.length !== 16)
    throw new VerbsError('EINVAL', verb, `${name}.grh.dgid must be a Uint8Array of 16 bytes`)
  const { sgidIndex = 0 } = grh
  checkInteger(verb, `${name}.grh.sgidIndex`, sgidIndex, 0, device.port.gidTblLen - 1)
  if (!device.gids.some(({ gidIndex }) => gidIndex === sgidIndex))
    throw new VerbsError('EINVAL', verb, `${name}.grh.sgidIndex is ${sgidIndex}: the host has that address no more`)
  checkInteger(verb, `${name}.grh.flowLabel`, grh.flowLabel ?? 0, 0, 0xfffff)
  checkInteger(verb, `${name}.grh.hopLimit`, grh.hopLimit ?? 0, 0, 255)
  checkInteger(verb, `${name}.grh.trafficClass`, grh.trafficClass ?? 0, 0, 255)
}

/** Writes an address vector that `checkAhAttr` has passed; `device` is where it leads. */
export function writeAv(i32: Int32Array, av: number, attr: AhAttr, device: number): void {
  const { grh } = attr
  i32[av + Av.device] = device
  i32[av + Av.dlid] = attr.dlid ?? 0
  i32[av + Av.sl] = attr.sl ?? 0
  i32[av + Av.flags] =
    (grh ? avGlobal | (isMulticastGid(grh.dgid) ? avMulticast : 0) : 0) |
    ((attr.srcPathBits ?? 0) << avPathBitsShift) |
    ((attr.staticRate ?? 0) << avRateShift)
  i32[av + Av.trafficClass] = grh?.trafficClass ?? 0
  i32[av + Av.hopLimit] = grh?.hopLimit ?? 0
  i32[av + Av.flowLabel] = grh?.flowLabel ?? 0
  i32[av + Av.sgidIndex] = grh?.sgidIndex ?? 0
  const gid = new Uint8Array(i32.buffer, i32.byteOffset + (av + Av.gid) * 4, 16)
  if (grh) gid.set(grh.dgid)
  else gid.fill(0)
}

export function readAv(i32: Int32Array, av: number): AhAttr {
  const flags = i32[av + Av.flags]!
  const attr: AhAttr = {
    dlid: i32[av + Av.dlid]!,
    sl: i32[av + Av.sl]!,
    srcPathBits: (flags >> avPathBitsShift) & 0x7f,
    staticRate: (flags >> avRateShift) & 0xff,
    portNum: 1,
  }
  if ((flags & avGlobal) !== 0) {
    attr.grh = {
      dgid: new Uint8Array(i32.buffer, i32.byteOffset + (av + Av.gid) * 4, 16).slice(),
      sgidIndex: i32[av + Av.sgidIndex]!,
      flowLabel: i32[av + Av.flowLabel]!,
      hopLimit: i32[av + Av.hopLimit]!,
      trafficClass: i32[av + Av.trafficClass]!,
    }
  }
  return attr
}

export class AddressHandleObject extends Handle implements AddressHandle {
  readonly pd: ProtectionDomain
  readonly pdRef: number
  readonly #words: Int32Array
  #attr: AhAttr

  /** Use `pd.createAh`. */
  constructor(pd: ProtectionDomain, attr: AhAttr) {
    super('AddressHandle')
    this.pd = pd
    this.pdRef = pd.ref
    this.#words = new Int32Array(Av.words)
    this.#attr = attr
    this.#set('createAh', attr)
    const { host, index, attr: limits } = pd.context.device
    const used = host.deviceWord(index) + Dev.ahs
    if (Atomics.add(host.i32, used, 1) >= limits.maxAh) {
      Atomics.sub(host.i32, used, 1)
      throw new VerbsError('ENOMEM', 'createAh', `all ${limits.maxAh} address handles of the device are in use`)
    }
    Atomics.add(host.i32, pd.word + Pd.ahs, 1)
    pd.context.adopt('ah', this)
  }

  #set(verb: string, attr: AhAttr): void {
    const { device } = this.pd.context
    checkAhAttr(verb, 'attr', device, attr)
    writeAv(this.#words, 0, attr, device.route(attr))
    this.#attr = { ...attr, ...(attr.grh ? { grh: { ...attr.grh, dgid: attr.grh.dgid.slice() } } : {}) }
  }

  get attr(): Readonly<AhAttr> {
    return this.#attr
  }

  modify(attr: AhAttr): void {
    this.assertOpen('modifyAh')
    this.#set('modifyAh', attr)
  }

  query(): AhAttr {
    this.assertOpen('queryAh')
    return readAv(this.#words, 0)
  }

  copyTo(i32: Int32Array, av: number): void {
    const words = this.#words
    for (let i = 0; i < Av.words; i++) i32[av + i] = words[i]!
  }

  close(): void {
    this.assertOpen('close')
    this.markClosed()
    const { host, index } = this.pd.context.device
    // With the owner of its protection domain it was counted off already.
    if (!isStale(host, this.pd.word, this.pdRef)) {
      Atomics.sub(host.i32, host.deviceWord(index) + Dev.ahs, 1)
      Atomics.sub(host.i32, this.pd.word + Pd.ahs, 1)
    }
    this.pd.context.disown('ah', this)
  }
}
