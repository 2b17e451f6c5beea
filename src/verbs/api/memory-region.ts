/** Memory regions and memory windows: rights to ranges of memory, accessed by random keys. */
import { checkInteger, checkObject, plural } from '../provider/arguments.ts'
import { Access, MwType, ReregFlag } from '../provider/constants.ts'
import { VerbsError } from '../provider/errors.ts'
import type { Host } from '../provider/host.ts'
import { addKey, destroyKey, removeKey, retireRegion, withdrawKey } from '../provider/keys.ts'
import { Dev, Key, keyKind, Pd } from '../provider/layout.ts'
import { releasePd } from '../provider/lifetime.ts'
import { inProcess } from '../provider/process-regions.ts'
import { Handle } from './handle.ts'
import type { MemoryRegion, MemoryWindow, MrHandle, ProcessRange, ProtectionDomain, Registrable } from './objects.ts'
import { reclaimSoon } from './reclaim-soon.ts'

const allAccess =
  Access.LocalWrite |
  Access.RemoteWrite |
  Access.RemoteRead |
  Access.RemoteAtomic |
  Access.MwBind |
  Access.ZeroBased |
  Access.OnDemand |
  Access.HugeTlb |
  Access.FlushGlobal |
  Access.RelaxedOrdering

function checkAccess(verb: string, access: number): void {
  checkInteger(verb, 'access', access, 0, 0x7fffffff)
  if ((access & Access.FlushPersistent) !== 0)
    throw new VerbsError('EOPNOTSUPP', verb, 'FlushPersistent needs persistent memory, which shared memory is not')
  if ((access & ~allAccess) !== 0)
    throw new VerbsError('EINVAL', verb, `access has unknown bits 0x${(access & ~allAccess).toString(16)}`)
  // IBA list-21: what peers may write, its owner may.
  if ((access & (Access.RemoteWrite | Access.RemoteAtomic)) !== 0 && (access & Access.LocalWrite) === 0)
    throw new VerbsError('EINVAL', verb, 'RemoteWrite and RemoteAtomic require LocalWrite')
}

/**
 * Range to be registered, as the key table stores it: `addr` is in the segment, or in the memory that `process` represents; `process` is 0
 * for the segment.
 */
interface Range {
  addr: number
  length: number
  process: number
}

function rangeOf(verb: string, host: Host, buffer: Registrable): Range {
  const { segment } = host
  if (buffer instanceof Uint8Array) {
    if (buffer.buffer !== segment.buffer)
      throw new VerbsError(
        'EINVAL',
        verb,
        'this buffer lies in memory that the device cannot reach: allocate it with context.alloc(bytes)',
      )
    return { addr: buffer.byteOffset, length: buffer.byteLength, process: 0 }
  }
  if (typeof buffer !== 'object' || buffer === null)
    throw new VerbsError('EINVAL', verb, 'buffer must be a Uint8Array from context.alloc, or {addr, length}')
  checkInteger(verb, 'addr', buffer.addr, segment.heapStart, segment.sizeBytes)
  checkInteger(verb, 'length', buffer.length, 0, segment.sizeBytes - buffer.addr)
  return { addr: buffer.addr, length: buffer.length, process: 0 }
}

/** User space is below this. */
const addressEnd = 2 ** 48

function processRangeOf(verb: string, pd: ProtectionDomain, { pid, address, length }: ProcessRange): Range {
  const { device } = pd.context
  checkInteger(verb, 'pid', pid, 1, 0x7fffffff)
  checkInteger(verb, 'address', address, 0, addressEnd)
  checkInteger(verb, 'length', length, 0, addressEnd - address)
  if (device.reachProcess === undefined)
    throw new VerbsError(
      'EOPNOTSUPP',
      verb,
      `${device.name} cannot reach memory of other processes: shm0 can, for example`,
    )
  const process = device.reachProcess(verb, pid, address, length)
  return { addr: inProcess(address), length, process }
}

function storeRange({ i32, f64 }: Host, entry: number, { addr, length, process }: Range, iova: number): void {
  f64[(entry + Key.addr) >> 1] = addr
  f64[(entry + Key.length) >> 1] = length
  f64[(entry + Key.iova) >> 1] = iova
  i32[entry + Key.process] = process
}

export class MemoryRegionObject extends Handle implements MemoryRegion {
  #pd: ProtectionDomain
  readonly #host: Host
  readonly #entry: number
  readonly #owned: boolean
  readonly lkey: number
  readonly rkey: number

  /** Use `pd.regMr` or `context.importMr`. */
  constructor(pd: ProtectionDomain, entry: number, owned: boolean) {
    super('MemoryRegion')
    this.#pd = pd
    this.#host = pd.context.device.host
    this.#entry = entry
    this.#owned = owned
    this.lkey = this.#host.i32[entry + Key.key]! >>> 0
    this.rkey = this.lkey
  }

  static register(pd: ProtectionDomain, buffer: Registrable, access: number, options: { iova?: number }): MemoryRegion {
    checkAccess('regMr', access)
    checkObject('regMr', 'options', options)
    const { host, attr } = pd.context.device
    const range = rangeOf('regMr', host, buffer)
    if (range.length > attr.maxMrSize)
      throw new VerbsError('EINVAL', 'regMr', `${range.length} bytes are more than maxMrSize ${attr.maxMrSize}`)
    return MemoryRegionObject.#add('regMr', pd, range, access, options.iova ?? range.addr)
  }

  static registerProcess(
    pd: ProtectionDomain,
    range: ProcessRange,
    access: number,
    options: { iova?: number },
  ): MemoryRegion {
    const verb = 'regProcessMr'
    checkAccess(verb, access)
    checkObject(verb, 'range', range)
    checkObject(verb, 'options', options)
    return MemoryRegionObject.#add(verb, pd, processRangeOf(verb, pd, range), access, options.iova ?? range.address)
  }

  static #add(verb: string, pd: ProtectionDomain, range: Range, access: number, addr: number): MemoryRegion {
    const { host, attr, index } = pd.context.device
    const iova = (access & Access.ZeroBased) !== 0 ? 0 : addr
    checkInteger(verb, 'iova', iova, 0, Number.MAX_SAFE_INTEGER - range.length)
    const entry = addKey(
      host,
      index,
      Dev.mrs,
      attr.maxMr,
      verb,
      'memory regions',
      () => pd.assertOpen(verb),
      (entry) => {
        const { i32 } = host
        i32[entry + Key.pd] = pd.slot
        i32[entry + Key.access] = access
        storeRange(host, entry, range, iova)
        i32[entry + Key.owner] = host.segment.me
        i32[entry + Key.device] = index
        i32[entry + Key.valid] = 1
        Atomics.add(i32, pd.word + Pd.mrs, 1)
        Atomics.store(i32, entry + Key.kind, keyKind.region)
      },
    )
    const mr = new MemoryRegionObject(pd, entry, true)
    pd.context.adopt('mr', mr)
    return mr
  }

  get pd(): ProtectionDomain {
    return this.#pd
  }

  protected override gone(): boolean {
    const { i32 } = this.#host
    return i32[this.#entry + Key.key] !== (this.lkey | 0) || i32[this.#entry + Key.kind] !== keyKind.region
  }

  get addr(): number {
    return this.#host.f64[(this.#entry + Key.iova) >> 1]!
  }

  get length(): number {
    return this.#host.f64[(this.#entry + Key.length) >> 1]!
  }

  get access(): number {
    return this.#host.i32[this.#entry + Key.access]!
  }

  get handle(): MrHandle {
    return { kind: 'mr', lkey: this.lkey }
  }

  rereg(
    flags: number,
    changes: {
      pd?: ProtectionDomain
      buffer?: Registrable
      access?: number
      process?: ProcessRange
      iova?: number
    },
  ): void {
    this.assertOpen('rereg')
    checkObject('rereg', 'changes', changes)
    const all = ReregFlag.ChangeTranslation | ReregFlag.ChangePd | ReregFlag.ChangeAccess
    checkInteger('rereg', 'flags', flags, 1, all)
    const host = this.#host
    const { i32 } = host
    const entry = this.#entry
    if (i32[entry + Key.region]! > 0) throw new VerbsError('EBUSY', 'rereg', 'memory windows are bound to this region')
    let range: Range | null = null
    let iova = 0
    if ((flags & ReregFlag.ChangeTranslation) !== 0) {
      const { buffer, process } = changes
      if (process !== undefined) {
        range = processRangeOf('rereg', this.#pd, process)
        iova = changes.iova ?? process.address
        checkInteger('rereg', 'iova', iova, 0, Number.MAX_SAFE_INTEGER - range.length)
      } else if (buffer !== undefined) {
        range = rangeOf('rereg', host, buffer)
        iova = range.addr
      } else throw new VerbsError('EINVAL', 'rereg', 'ChangeTranslation needs buffer')
    }
    if ((flags & ReregFlag.ChangeAccess) !== 0) {
      if (changes.access === undefined) throw new VerbsError('EINVAL', 'rereg', 'ChangeAccess needs access')
      checkAccess('rereg', changes.access)
    }
    const { pd } = changes
    if ((flags & ReregFlag.ChangePd) !== 0) {
      if (pd === undefined) throw new VerbsError('EINVAL', 'rereg', 'ChangePd needs pd')
      pd.assertOpen('rereg')
      if (pd.context !== this.#pd.context) throw new VerbsError('EINVAL', 'rereg', 'pd belongs to another context')
    }
    withdrawKey(host, entry)
    if (i32[entry + Key.region]! > 0) {
      // Another thread has bound a window after the first look.
      Atomics.store(i32, entry + Key.valid, 1)
      throw new VerbsError('EBUSY', 'rereg', 'memory windows are bound to this region')
    }
    if (range !== null) storeRange(host, entry, range, (this.access & Access.ZeroBased) !== 0 ? 0 : iova)
    if ((flags & ReregFlag.ChangeAccess) !== 0) i32[entry + Key.access] = changes.access!
    if ((flags & ReregFlag.ChangePd) !== 0 && pd) {
      host.control(() => {
        i32[pd.word + Pd.mrs] = i32[pd.word + Pd.mrs]! + 1
        i32[entry + Key.pd] = pd.slot
        releasePd(host, this.#pd.slot, Pd.mrs)
      })
      this.#pd = pd
    }
    Atomics.store(i32, entry + Key.valid, 1)
  }

  close(): void {
    if (this.endsImport(this.#owned)) return
    this.assertOpen('close')
    const { i32 } = this.#host
    const check = (): void => {
      const bound = i32[this.#entry + Key.region]!
      // IBA 10.6.7.2.6: a region with windows bound to it is not deregistered.
      if (bound === 0) return
      // Withdrawn already, if another thread has bound a window after the first look.
      Atomics.store(i32, this.#entry + Key.valid, 1)
      throw new VerbsError(
        'EBUSY',
        'close',
        `it is in use by ${plural(bound, 'memory window')}: invalidate or free them first`,
      )
    }
    check()
    withdrawKey(this.#host, this.#entry)
    check()
    this.markClosed()
    removeKey(this.#host, this.#entry)
    this.#pd.context.disown('mr', this)
  }

  discard(memory?: Uint8Array): void {
    this.assertOpen('close')
    this.markClosed()
    if (memory !== undefined) this.#pd.context.forget(memory)
    retireRegion(this.#host, this.#entry, memory !== undefined)
    this.#pd.context.disown('mr', this)
    reclaimSoon(this.#host)
  }

  get reclaimed(): boolean {
    const { i32 } = this.#host
    return i32[this.#entry + Key.kind] !== keyKind.retired || i32[this.#entry + Key.key] !== (this.lkey | 0)
  }
}

export class MemoryWindowObject extends Handle implements MemoryWindow {
  readonly pd: ProtectionDomain
  readonly type: MwType
  rkey: number
  readonly #host: Host
  readonly #entry: number

  /** Use `pd.allocMw`. */
  constructor(pd: ProtectionDomain, type: MwType) {
    super('MemoryWindow')
    if (type !== MwType.Type1 && type !== MwType.Type2)
      throw new VerbsError('EINVAL', 'allocMw', 'type must be MwType.Type1 or MwType.Type2')
    this.pd = pd
    this.type = type
    this.#host = pd.context.device.host
    const { i32 } = this.#host
    const { attr, index } = pd.context.device
    this.#entry = addKey(
      this.#host,
      index,
      Dev.mws,
      attr.maxMw,
      'allocMw',
      'memory windows',
      () => pd.assertOpen('allocMw'),
      (entry) => {
        i32[entry + Key.pd] = pd.slot
        i32[entry + Key.region] = -1
        i32[entry + Key.qp] = -1
        i32[entry + Key.owner] = this.#host.segment.me
        i32[entry + Key.device] = index
        i32[entry + Key.valid] = 0
        Atomics.add(i32, pd.word + Pd.mws, 1)
        Atomics.store(i32, entry + Key.kind, type === MwType.Type1 ? keyKind.window1 : keyKind.window2)
      },
    )
    this.rkey = i32[this.#entry + Key.key]! >>> 0
    pd.context.adopt('mw', this)
  }

  close(): void {
    this.assertOpen('close')
    this.markClosed()
    destroyKey(this.#host, this.#entry)
    this.pd.context.disown('mw', this)
  }
}
