/** The doors of one adapter's management: `/dev/infiniband/umadN`, and `issmN`, which makes its port that of a subnet manager while it is open. */
import type { Parking } from '../../memory/index.ts'
import type { Call, Door, OpenedFile } from '../door.ts'
import type { DoorWatch } from '../watch/index.ts'
import { IssmFile } from './issm-file.ts'
import { UmadFile } from './umad-file.ts'
import type { UmadPort } from './umad-port.ts'
import { UmadWatch } from './umad-watch.ts'

/** Character devices of Linux: the major number is that of uverbs, too. */
const major = 231
const firstIssm = 64

export class UmadDoor implements Door {
  readonly path: string
  readonly device: readonly [number, number]
  readonly parkings: readonly Parking[]
  readonly hasQueues = false
  readonly explains = true
  readonly #port: UmadPort
  readonly #watch: DoorWatch | null
  readonly #files = new Set<UmadFile>()

  constructor(port: UmadPort, number: number, watch: DoorWatch | null = null) {
    this.#watch = watch
    this.path = `/dev/infiniband/umad${number}`
    this.device = [major, number]
    this.parkings = port.parkings
    this.#port = port
  }

  open({ nonBlocking, process }: Call): OpenedFile {
    const watch = this.#watch && new UmadWatch(this.#watch, process.pid, this.#port)
    const file = new UmadFile(this.#port, nonBlocking, (left) => this.#files.delete(left), watch)
    this.#files.add(file)
    return file
  }

  progress(): boolean {
    return this.#port.progress()
  }

  arm(): boolean {
    return this.#port.arm()
  }

  restMs(): number {
    return this.#port.restMs()
  }

  close(): void {
    for (const file of [...this.#files]) file.closed()
    this.#port.close()
  }
}

export class IssmDoor implements Door {
  readonly path: string
  readonly device: readonly [number, number]
  readonly parkings: readonly Parking[] = []
  readonly hasQueues = false
  readonly #port: UmadPort
  readonly #files = new Set<IssmFile>()

  constructor(port: UmadPort, number: number) {
    this.path = `/dev/infiniband/issm${number}`
    this.device = [major, firstIssm + number]
    this.#port = port
  }

  open({ nonBlocking }: Call): OpenedFile {
    const file = new IssmFile(this.#port, nonBlocking, (left) => this.#files.delete(left))
    this.#files.add(file)
    return file
  }

  progress(): boolean {
    return false
  }

  arm(): boolean {
    return true
  }

  restMs(): number {
    return Number.POSITIVE_INFINITY
  }

  close(): void {
    for (const file of [...this.#files]) file.closed()
  }
}
