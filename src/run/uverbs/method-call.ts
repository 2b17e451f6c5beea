/** A call of a method of ioctl(2): its attributes by name, and the answers that are to be written to the program. */
import { errnos } from '../../memory/index.ts'
import type { Call } from '../door.ts'
import { Errno } from '../door.ts'
import { safe } from '../struct.ts'
import { fail } from './errors.ts'
import type { Kind, Objects } from './objects.ts'
import type { ProgramContext } from './program-context.ts'
import { driverIn, driverOut, type Method } from './schema.ts'

const attributeBytes = 16
const flagsAt = 4
const dataAt = 8
const valid = 2

/** An attribute as it came. */
export interface GivenAttribute {
  readonly index: number
  readonly length: number
  readonly low: number
  readonly high: number
  readonly value: Uint8Array
  readonly flags: number
}

export class MethodCall {
  readonly verb: string
  readonly call: Call
  readonly #method: Method
  /** Address of the attributes in the program. */
  readonly #address: number
  readonly #attributes: ReadonlyMap<number, GivenAttribute>
  readonly #writes: (() => void)[] = []
  /** Results by name: bytes, or the number of a new object or descriptor. */
  readonly results: Map<string, Uint8Array | number> = new Map()

  constructor(method: Method, call: Call, address: number, attributes: ReadonlyMap<number, GivenAttribute>) {
    this.verb = method.verb
    this.call = call
    this.#method = method
    this.#address = address
    this.#attributes = attributes
  }

  #get(name: string): GivenAttribute | undefined {
    return this.#attributes.get(this.#method.attributes[name]!.id)
  }

  has(name: string): boolean {
    return this.#get(name) !== undefined
  }

  bytes(name: string): Uint8Array {
    return this.#get(name)?.value ?? new Uint8Array(0)
  }

  /** A value of up to 8 bytes; 0 if the attribute is missing, Infinity if no number has it. */
  number(name: string): number {
    const given = this.#get(name)
    if (given === undefined) return 0
    const value = new Uint8Array(8)
    value.set(given.value.subarray(0, 8))
    const view = new DataView(value.buffer)
    return safe(view.getUint32(0, true), view.getUint32(4, true))
  }

  raw(name: string): bigint {
    const given = this.#get(name)
    return given ? (BigInt(given.high) << 32n) | BigInt(given.low) : 0n
  }

  /** The object of an attribute; ENOENT if there is none. */
  object<K extends Kind>(context: ProgramContext, name: string, kind: K): Objects[K] {
    const given = this.#get(name)
    if (given === undefined) return fail('EINVAL', `${this.verb}: attribute ${name} is missing`)
    return context.find(kind, given.high === 0 ? given.low : -1, this.verb, 'ENOENT')
  }

  /** The number of a descriptor, undefined if the attribute is missing. */
  descriptor(name: string): number | undefined {
    const given = this.#get(name)
    if (given === undefined) return undefined
    return given.high === 0 ? given.low : -1
  }

  /** Bytes that the program has for an answer; 0 if it wants none. */
  room(name: string): number {
    return this.#get(name)?.length ?? 0
  }

  get driver(): Uint8Array {
    return this.#attributes.get(driverIn)?.value ?? new Uint8Array(0)
  }

  get driverRoom(): number {
    return this.#attributes.get(driverOut)?.length ?? 0
  }

  /** Writes an answer: truncated if the program has less room, followed by zeros if it has more. */
  answer(name: string, bytes: Uint8Array): void {
    this.results.set(name, bytes)
    this.#answer(this.#get(name), bytes, true)
  }

  answerDriver(bytes: Uint8Array | undefined): void {
    if (bytes) this.#answer(this.#attributes.get(driverOut), bytes, false)
  }

  #answer(given: GivenAttribute | undefined, bytes: Uint8Array, zeros: boolean): void {
    if (given === undefined) return
    const at = safe(given.low, given.high)
    if (at === Number.POSITIVE_INFINITY)
      throw new Errno(errnos.EFAULT, `${this.verb}: the address of an answer is none of a process`)
    const written = new Uint8Array(zeros ? given.length : Math.min(given.length, bytes.length))
    written.set(bytes.subarray(0, written.length))
    this.#writes.push(() => {
      if (written.length > 0) this.call.process.write(at, written)
      this.#markValid(given)
    })
  }

  /** Sets the handle of a new object, or the number of a new descriptor, in the attribute itself. */
  give(name: string, value: number): void {
    const given = this.#get(name)
    if (given === undefined) return
    this.results.set(name, value)
    const data = new Uint8Array(8)
    new DataView(data.buffer).setUint32(0, value, true)
    this.#writes.push(() => {
      this.call.process.write(this.#address + given.index * attributeBytes + dataAt, data)
      this.#markValid(given)
    })
  }

  #markValid({ index, flags }: GivenAttribute): void {
    const bytes = new Uint8Array(2)
    new DataView(bytes.buffer).setUint16(0, flags | valid, true)
    this.call.process.write(this.#address + index * attributeBytes + flagsAt, bytes)
  }

  /** Writes all answers. */
  writeBack(): void {
    for (const write of this.#writes) write()
  }
}
