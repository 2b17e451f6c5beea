/**
 * A barrier among rank 0 and some of the other ranks, over the device itself: each writes a number into a line of rank 0's memory, and
 * rank 0 answers when all have written. After it, all ranks already poll for the first message; a barrier over TCP would wake them one
 * after the other, while rank 0 measures.
 */
import { Opcode, SendFlag } from '../../index.ts'
import { type DeviceMemory, lineBytes, type RemoteMemory } from './device-memory.ts'
import type { Lanes } from './lanes.ts'
import type { Waiter } from './waiting.ts'

export class Gate {
  readonly #lanes: Lanes
  readonly #waiter: Waiter
  readonly #words: Uint32Array
  /** Number of times that each lane's gate has been passed. */
  readonly #passed: Uint32Array
  /** Number of RDMA WRITEs that have not completed. */
  #outstanding = 0
  #lanesNow = 0
  #next = 0

  /** `lanes`: RC lanes that only the gate uses. */
  constructor(memory: DeviceMemory, lanes: Lanes, remote: readonly RemoteMemory[], waiter: Waiter) {
    this.#lanes = lanes
    this.#waiter = waiter
    const { buffer, byteOffset, byteLength } = memory.gate
    this.#words = new Uint32Array(buffer, byteOffset, byteLength / 4)
    this.#passed = new Uint32Array(lanes.requests.length)
    lanes.requests.forEach((request, lane) => {
      request.opcode = Opcode.Write
      request.sendFlags = SendFlag.Signaled
      request.remoteAddr = remote[lane]!.gateAddr
      request.rkey = remote[lane]!.gateKey
      const [sge] = request.sgList
      sge!.addr = memory.gateMr.addr + (lanes.requests.length + lane) * lineBytes
      sge!.length = 4
      sge!.lkey = memory.gateMr.lkey
    })
  }

  /** Passes the gate at rank 0, with the first `lanes` ranks after it. */
  async open(lanes: number): Promise<void> {
    this.#lanesNow = lanes
    this.#next = 0
    if (!this.#waiter.spin(this.#allThere)) await this.#waiter.patiently(this.#allThere, 'a rank at the gate')
    await this.#drained()
    for (let lane = 0; lane < lanes; lane++) this.#write(lane)
  }

  /** Passes the gate at another rank. */
  async pass(): Promise<void> {
    this.#lanesNow = 1
    this.#next = 0
    await this.#drained()
    this.#write(0)
    if (!this.#waiter.spin(this.#answered)) await this.#waiter.patiently(this.#answered, 'rank 0 at the gate')
  }

  #write(lane: number): void {
    this.#passed[lane]!++
    Atomics.store(this.#words, (this.#lanes.requests.length + lane) * (lineBytes / 4), this.#passed[lane]!)
    this.#lanes.post(lane)
    this.#outstanding++
  }

  readonly #allThere = (): boolean => {
    this.#outstanding -= this.#lanes.sent()
    while (this.#next < this.#lanesNow && this.#at(this.#next) > this.#passed[this.#next]!) this.#next++
    return this.#next === this.#lanesNow
  }

  readonly #answered = (): boolean => {
    this.#outstanding -= this.#lanes.sent()
    return this.#at(0) >= this.#passed[0]!
  }

  readonly #settled = (): boolean => {
    this.#outstanding -= this.#lanes.sent()
    return this.#outstanding === 0
  }

  async #drained(): Promise<void> {
    if (!this.#waiter.spin(this.#settled)) await this.#waiter.patiently(this.#settled, 'the completion of a write')
  }

  #at(lane: number): number {
    return Atomics.load(this.#words, lane * (lineBytes / 4))
  }
}
