/**
 * The door of `/dev/infiniband/rdma_cm`: all files that programs have open, and their ids. It drives the communication managers of the
 * run's adapters.
 */
import { type CmEvent, type CmId, EventChannel, type EventChannelOptions } from '../../cm/index.ts'
import type { Parking } from '../../memory/index.ts'
import type { Context } from '../../verbs/index.ts'
import type { Call, Door, OpenedFile } from '../door.ts'
import { fail } from '../errnos.ts'
import type { CmWatch } from './cm-watch.ts'
import { OpenedCm } from './opened-cm.ts'
import { ProgramId, ProgramJoin } from './program-id.ts'
import type { CmFile, Station } from './station.ts'

/** Maximum number of ids of all programs of a run. */
const mostIds = 65_536

export class RdmaCmDoor implements Door, Station {
  readonly path = '/dev/infiniband/rdma_cm'
  /** A miscellaneous device; the kernel takes any free minor number. */
  readonly device: readonly [number, number] = [10, 121]
  readonly hasQueues = false
  readonly explains = true
  readonly parkings: readonly Parking[]
  readonly channelOptions: EventChannelOptions
  readonly watch: CmWatch | null
  /** Keeps the communication managers of all adapters, and drives them, once a program has opened the device. */
  #driver: EventChannel | undefined
  readonly #files = new Set<OpenedCm>()
  readonly #arrived = new Set<CmFile>()
  readonly #ids = new Map<number, ProgramId>()
  /** Ids that came with requests which their program has not seen yet. */
  readonly #requests = new Set<ProgramId>()
  readonly #joins = new Map<number, ProgramJoin>()
  #lastNumber = 0

  /** `contexts`: of the adapters, in the order in which programs see them. */
  constructor(contexts: readonly Context[], watch: CmWatch | null = null) {
    this.watch = watch
    this.parkings = contexts.map(({ device }) => device.host.segment.parking)
    this.channelOptions = { device: contexts.length === 1 ? contexts[0]! : contexts }
  }

  open(call: Call): OpenedFile {
    if (this.#driver === undefined) {
      this.#driver = new EventChannel(this.channelOptions)
      this.#driver.devices.all()
    }
    const file = new OpenedCm(this, call)
    this.#files.add(file)
    return file
  }

  // --- ids -----------------------------------------------------------------------------------------------------------

  #nextNumber(taken: { has(number: number): boolean }): number {
    do this.#lastNumber = (this.#lastNumber + 1) & 0x7fffffff
    while (taken.has(this.#lastNumber))
    return this.#lastNumber
  }

  addId(file: CmFile, cm: CmId, uid: bigint): ProgramId {
    if (this.#ids.size >= mostIds) {
      cm.close()
      fail('ENOMEM', `rdma_create_id: programs have ${mostIds} ids, which is the most of a run`)
    }
    const id = new ProgramId(this.#nextNumber(this.#ids), file, cm, uid)
    cm.context = id
    this.#ids.set(id.number, id)
    return id
  }

  addRequest(file: CmFile, cm: CmId): boolean {
    this.forgetWithdrawn()
    if (this.#ids.size >= mostIds) return false
    this.#requests.add(this.addId(file, cm, 0n))
    return true
  }

  seen({ listenId, id }: CmEvent): void {
    if (listenId !== undefined) this.#requests.delete(id.context as ProgramId)
  }

  forgetWithdrawn(): void {
    for (const id of this.#requests) if (id.cm.closed) this.forgetId(id)
  }

  id(verb: string, file: CmFile, number: number): ProgramId {
    const id = this.#ids.get(number)
    if (id === undefined) fail('ENOENT', `${verb}: there is no id ${number}`)
    if (id.file !== file) fail('EINVAL', `${verb}: id ${number} belongs to another event channel`)
    return id
  }

  forgetId(id: ProgramId): void {
    this.#ids.delete(id.number)
    this.#requests.delete(id)
    for (const join of id.joins) this.#joins.delete(join.number)
  }

  addJoin(id: ProgramId, uid: bigint, address: string): ProgramJoin {
    if (this.#joins.size >= mostIds) fail('ENOMEM', 'rdma_join_multicast: programs of this run are in too many groups')
    const join = new ProgramJoin(this.#nextNumber(this.#joins), id, uid, address)
    this.#joins.set(join.number, join)
    id.joins.add(join)
    return join
  }

  join(verb: string, file: CmFile, number: number): ProgramJoin {
    const join = this.#joins.get(number)
    if (join === undefined) fail('ENOENT', `${verb}: there is no joined group ${number}`)
    if (join.id.file !== file) fail('EINVAL', `${verb}: the group ${number} belongs to another event channel`)
    return join
  }

  forgetJoin(join: ProgramJoin): void {
    this.#joins.delete(join.number)
    join.id.joins.delete(join)
  }

  fileOf(opened: OpenedFile | undefined): CmFile | undefined {
    return opened instanceof OpenedCm && this.#files.has(opened) ? opened : undefined
  }

  // --- turns ---------------------------------------------------------------------------------------------------------

  arrived(file: CmFile): void {
    this.#arrived.add(file)
  }

  showEvents(): void {
    for (const file of this.#arrived) {
      this.#arrived.delete(file)
      file.showEvents()
    }
  }

  progress(): boolean {
    if (this.#driver === undefined) return false
    const moved = this.#driver.giveTime() > 0 || this.#arrived.size > 0
    this.showEvents()
    return moved
  }

  arm(): boolean {
    const rests = this.#driver?.arm() ?? true
    this.showEvents()
    return rests
  }

  restMs(): number {
    return this.#driver?.dueInMs ?? Number.POSITIVE_INFINITY
  }

  // --- the end -------------------------------------------------------------------------------------------------------

  closed(file: CmFile): void {
    this.#files.delete(file as OpenedCm)
    this.#arrived.delete(file)
    for (const id of [...this.#ids.values()]) if (id.file === file) this.forgetId(id)
  }

  close(): void {
    for (const file of [...this.#files]) file.closed()
    this.#driver?.close()
  }
}
