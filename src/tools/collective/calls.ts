/** Calls of collectives with arrays of one communicator. */
import type { Collective, Communicator } from '../../collectives/index.ts'
import { elementBytes } from './settings.ts'

type Operand = Float64Array

export class Calls {
  readonly #comm: Communicator
  readonly #input: Operand
  readonly #output: Operand

  /** `mostBytes`: maximum size. */
  constructor(comm: Communicator, mostBytes: number) {
    this.#comm = comm
    const length = (comm.size * mostBytes) / elementBytes
    this.#input = comm.alloc(Float64Array, length)
    this.#output = comm.alloc(Float64Array, length)
  }

  /** Returns a function that makes one blocking call; the root is rank 0. `size`: bytes, as `Task.bytes` counts. */
  of(collective: Collective, size: number): () => void {
    const comm = this.#comm
    const part = size / elementBytes
    const [input, output] = [this.#input.subarray(0, part), this.#output.subarray(0, part)]
    const [inputs, outputs] = [this.#input.subarray(0, part * comm.size), this.#output.subarray(0, part * comm.size)]
    switch (collective) {
      case 'barrier':
        return () => comm.barrier()
      case 'broadcast':
        return () => comm.broadcast(output)
      case 'scatter':
        return () => comm.scatter(inputs, output)
      case 'gather':
        return () => comm.gather(input, outputs)
      case 'allgather':
        return () => comm.allgather(input, outputs)
      case 'alltoall':
        return () => comm.alltoall(inputs, outputs)
      case 'reduce':
        return () => comm.reduce(input, output, 'sum')
      case 'allreduce':
        return () => comm.allreduce(input, output, 'sum')
    }
  }
}
