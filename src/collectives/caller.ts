/** Calls: from what the user gives to what the runner carries out, and back. */
import { type Arguments, check, read, Stage } from './arguments.ts'
import type { Chooser } from './choose.ts'
import { type Combine, combines, type ElementType, type Operation, operations } from './combine.ts'
import { CollectiveError } from './error.ts'
import type { AnyArray, Memory } from './memory.ts'
import type { Call, Runner } from './runner.ts'
import { type Collective, collectives, Place, scheduleOf } from './schedule/index.ts'

const types: readonly (ElementType | '')[] = ['', 'Int32', 'Float32', 'Float64']

/**
 * A call in 22 bits, as messages carry it: bits 0 to 8 its number, 9 to 14 the root, 15 and 16 the operation, 17 and 18 the type
 * of the elements, 19 to 21 the collective. Root and number are cut off.
 */
const numbers = 512
const roots = 64

function codeOf({ collective, root, operation, type }: Arguments): number {
  const op = operation === null ? 0 : 1 + operations.indexOf(operation)
  const elements = operation === null ? 0 : types.indexOf(type)
  return (((collectives.indexOf(collective) << 4) | (elements << 2) | op) * roots + (root % roots)) * numbers
}

/** What a tag means, in words. */
export function nameOf(tag: number): string {
  const name = collectives[tag >>> 19]!
  const operation = operations[((tag >>> 15) & 3) - 1]
  const about = operation === undefined ? '' : ` (${operation} of ${types[(tag >>> 17) & 3]})`
  const root = Math.floor(tag / numbers) % roots
  const from = ['broadcast', 'scatter', 'gather', 'reduce'].includes(name) ? ` with root ${root}` : ''
  return `${name}${about}${from} as call ${tag % numbers}`
}

/** A call that may come again. */
interface Prepared extends Call {
  collective: Collective
  root: number
  operation: Operation | null
  bytes: number
  /** Its tag without the number. */
  code: number
}

export class Caller {
  readonly #runner: Runner
  readonly #memory: Memory
  readonly #chooser: Chooser
  readonly #rank: number
  readonly #size: number
  readonly #combines: Record<Operation, Record<ElementType, Combine>>
  readonly #input: Stage
  readonly #output: Stage
  /** The last call, and what it was given; `undefined` for an array that has to be copied anew each time. */
  #latest: Prepared | null = null
  #latestInput: AnyArray | null | undefined = undefined
  #latestOutput: AnyArray | null | undefined = undefined
  /** The last call of each collective: often the next is like it. */
  readonly #last = new Map<Collective, Prepared>()
  readonly #prepared = new Map<string, Prepared>()
  readonly #args: Arguments = {
    ...{ collective: 'barrier', root: 0, input: null, output: null, operation: null },
    ...{ bytes: 0, elementBytes: 1, type: '' },
  }
  #number = 0

  constructor(runner: Runner, memory: Memory, chooser: Chooser, { rank, size }: { rank: number; size: number }) {
    this.#runner = runner
    this.#memory = memory
    this.#chooser = chooser
    this.#rank = rank
    this.#size = size
    this.#combines = combines(memory)
    this.#input = new Stage(memory)
    this.#output = new Stage(memory)
  }

  /** Throws a CollectiveError (EINVAL) before anything happens. */
  begin(
    collective: Collective,
    root: number,
    input: AnyArray | null,
    output: AnyArray | null,
    operation: Operation | null,
  ): void {
    const latest = this.#latest
    let call: Prepared
    if (
      latest !== null &&
      input === this.#latestInput &&
      output === this.#latestOutput &&
      collective === latest.collective &&
      root === latest.root &&
      operation === latest.operation
    )
      call = latest
    else call = this.#prepare(collective, root, input, output, operation)
    this.#number = (this.#number + 1) % numbers
    call.tag = call.code + this.#number
    this.#runner.begin(call)
  }

  #prepare(
    collective: Collective,
    root: number,
    input: AnyArray | null,
    output: AnyArray | null,
    operation: Operation | null,
  ): Prepared {
    const args = this.#args
    args.collective = collective
    args.root = root
    args.input = input
    args.output = output
    args.operation = operation
    this.#latest = null
    check(args, this.#rank, this.#size)
    const places = this.#runner.places
    this.#output.copied = this.#input.copied = false
    if (args.output !== null)
      this.#output.place(places[Place.Output], args.output, collective === 'broadcast' && root === this.#rank)
    if (args.input !== null) this.#input.place(places[Place.Input], args.input, true)
    if (args.input !== null && args.output !== null && !this.#input.copied && !this.#output.copied) this.#apart(args)
    const call = this.#callOf(args)
    this.#latest = call
    this.#latestInput = this.#input.copied ? undefined : input
    this.#latestOutput = this.#output.copied ? undefined : output
    return call
  }

  /** The memory of arrays may have changed hands. */
  forget(): void {
    this.#latest = null
  }

  /** After the last step. */
  finish(): void {
    if (!this.#output.copied && !this.#input.copied) return
    const args = this.#args
    if (this.#output.copied) read(this.#memory, this.#runner.places[Place.Output].at, args.output!)
    args.input = null
    args.output = null
  }

  #apart({ collective, operation }: Arguments): void {
    const [input, output] = this.#runner.places
    if (input.at + input.bytes <= output.at || output.at + output.bytes <= input.at) return
    if (operation === null || input.at !== output.at)
      throw new CollectiveError('EINVAL', `${collective}: input and output overlap`)
  }

  #callOf(args: Arguments): Prepared {
    const { collective, bytes, root, elementBytes, operation, type } = args
    const code = codeOf(args)
    const last = this.#last.get(collective)
    if (last !== undefined && last.code === code && last.bytes === bytes && last.root === root) return last
    const key = `${collective} ${bytes} ${root} ${operation} ${type}`
    let prepared = this.#prepared.get(key)
    if (prepared === undefined) {
      const algorithm = this.#chooser.choose(collective, bytes)
      const task = { rank: this.#rank, size: this.#size, bytes, root, elementBytes }
      const combine = operation === null ? null : this.#combines[operation][type as ElementType]
      const schedule = scheduleOf(collective, algorithm, task)
      prepared = { schedule, combine, tag: 0, nameOf, collective, root, operation, bytes, code }
      if (this.#prepared.size >= 256) this.#prepared.clear()
      this.#prepared.set(key, prepared)
    }
    this.#last.set(collective, prepared)
    return prepared
  }
}
