/** Calls: conversion of the user's arguments to the calls that the runner executes, and of the results back. */
import { type Arguments, check, read, Stage } from './arguments.ts'
import type { Call } from './call.ts'
import type { Chooser } from './choose.ts'
import { type Combine, combines, type ElementType, type Operation, operations } from './combine.ts'
import { History } from './history.ts'
import { type AnyArray, emptyRange, type Memory } from './memory.ts'
import { callNumbers } from './message.ts'
import type { Runner } from './runner.ts'
import { algorithms, type Collective, collectives, Place, scheduleOf } from './schedule/index.ts'

const types: readonly (ElementType | '')[] = ['', 'Int32', 'Float32', 'Float64']

/**
 * Tag of a call in 24 bits, as messages carry it: bits 0 to 6 its number, 7 to 13 the root, 14 and 15 the operation, 16 and 17 the type
 * of the elements, 18 to 20 the algorithm, 21 to 23 the collective. Root and number are truncated to their bits.
 */
const roots = 128
const rootShift = 7
const operationShift = 14
const typeShift = 16
const algorithmShift = 18
const collectiveShift = 21

function codeOf({ collective, root, operation, type }: Arguments, algorithm: string): number {
  const op = operation === null ? 0 : 1 + operations.indexOf(operation)
  const elements = operation === null ? 0 : types.indexOf(type)
  return (
    (collectives.indexOf(collective) << collectiveShift) |
    (Object.keys(algorithms[collective]).indexOf(algorithm) << algorithmShift) |
    (elements << typeShift) |
    (op << operationShift) |
    ((root % roots) << rootShift)
  )
}

/** Returns a description of a tag, without the algorithm. */
export function nameOf(tag: number): string {
  const name = collectives[tag >>> collectiveShift]!
  const operation = operations[((tag >>> operationShift) & 3) - 1]
  const about = operation === undefined ? '' : ` (${operation} of ${types[(tag >>> typeShift) & 3]})`
  const from = ['broadcast', 'scatter', 'gather', 'reduce'].includes(name)
    ? ` with root ${(tag >>> rootShift) % roots}`
    : ''
  return `${name}${about}${from} as call ${tag % callNumbers}`
}

/** Placeholder for an array that has to be copied anew in each call. */
const copied = Symbol('copied')

/** Call that may be repeated. */
interface Prepared extends Call {
  collective: Collective
  root: number
  operation: Operation | null
  bytes: number
  type: ElementType | ''
  /** Tag of the call without the number. */
  code: number
  /** Arrays to which the places of the call point. */
  input: AnyArray | null | typeof copied
  output: AnyArray | null | typeof copied
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
  /** Last call of each collective: the next one is often identical. */
  readonly #last = new Map<Collective, Prepared>()
  readonly #prepared = new Map<string, Prepared>()
  readonly #args: Arguments = {
    ...{ collective: 'barrier', root: 0, input: null, output: null, operation: null },
    ...{ bytes: 0, elementBytes: 1, type: '' },
  }
  readonly history: History = new History()

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

  /** Begins a call. Throws a CollectiveError (EINVAL) before any message is sent. */
  begin(
    collective: Collective,
    root: number,
    input: AnyArray | null,
    output: AnyArray | null,
    operation: Operation | null,
  ): void {
    let call = this.#last.get(collective)
    if (
      call === undefined ||
      input !== call.input ||
      output !== call.output ||
      root !== call.root ||
      operation !== call.operation
    )
      call = this.#prepare(collective, root, input, output, operation)
    const { history } = this
    call.tag = call.code + ((history.count + 1) % callNumbers)
    history.add(call.tag, root, call.bytes)
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
    check(args, this.#rank, this.#size)
    const call = this.#callOf(args)
    const { places } = call
    call.input = call.output = copied
    this.#output.copied = this.#input.copied = false
    if (args.output !== null)
      this.#output.place(places[Place.Output], args.output, collective === 'broadcast' && root === this.#rank)
    if (args.input !== null) this.#input.place(places[Place.Input], args.input, true)
    if (!this.#input.copied && !this.#output.copied) {
      call.input = input
      call.output = output
    }
    this.#last.set(collective, call)
    return call
  }

  /** Forgets the arrays: their memory may be in use for other arrays. */
  forget(): void {
    this.#last.clear()
  }

  /** Copies the results to the user's arrays after the last step. */
  finish(): void {
    const [args, input, output] = [this.#args, this.#input, this.#output]
    if (!output.copied && !input.copied) return
    if (output.copied) read(this.#memory, this.#last.get(args.collective)!.places[Place.Output].at, args.output!)
    output.copied = input.copied = false
    args.input = null
    args.output = null
  }

  #callOf(args: Arguments): Prepared {
    const { collective, bytes, root, elementBytes, operation, type } = args
    const last = this.#last.get(collective)
    if (
      last !== undefined &&
      last.bytes === bytes &&
      last.root === root &&
      last.operation === operation &&
      last.type === type
    )
      return last
    const key = `${collective} ${bytes} ${root} ${operation} ${type}`
    let prepared = this.#prepared.get(key)
    if (prepared === undefined) {
      const algorithm = this.#chooser.choose(collective, bytes)
      const task = { rank: this.#rank, size: this.#size, bytes, root, elementBytes }
      prepared = {
        ...{
          collective,
          root,
          operation,
          bytes,
          type,
          nameOf,
          history: this.history,
          tag: 0,
          input: copied,
          output: copied,
        },
        schedule: scheduleOf(collective, algorithm, task),
        combine: operation === null ? null : this.#combines[operation][type as ElementType],
        code: codeOf(args, algorithm),
        places: [emptyRange(), emptyRange(), emptyRange()],
      }
      if (this.#prepared.size >= 256) this.#prepared.clear()
      this.#prepared.set(key, prepared)
    }
    return prepared
  }
}
