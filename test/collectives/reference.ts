/** What collectives must give, computed plainly from what all ranks put in. */
import type { AnyArray, Communicator, Operation } from '../../src/collectives/index.ts'

export const types = [Int32Array, Float32Array, Float64Array, Uint8Array] as const
export type Type = (typeof types)[number]

/** One call, as all ranks make it. */
export interface Step {
  collective: 'barrier' | 'broadcast' | 'scatter' | 'gather' | 'allgather' | 'reduce' | 'allreduce' | 'alltoall'
  type: Type
  /** Elements that one rank contributes. */
  count: number
  root: number
  operation: Operation
  /** Whether arrays are of `alloc`. */
  allocated: boolean
}

/** Element `i` of part `part` of what a rank puts into call `call`: small whole numbers, of which every order gives one sum. */
function element(call: number, rank: number, part: number, i: number): number {
  return (call * 31 + rank * 17 + part * 7 + i * 3) % 101
}

const combine: Record<Operation, (a: number, b: number) => number> = {
  sum: (a, b) => a + b,
  min: (a, b) => Math.min(a, b),
  max: (a, b) => Math.max(a, b),
}

/** Carries a step out at one rank, in its asynchronous form, or in its blocking one, and compares. */
export async function perform(comm: Communicator, step: Step, call: number, blocking = false): Promise<void> {
  const { collective, count, root, operation, allocated } = step
  const { rank, size } = comm
  const reduces = collective === 'reduce' || collective === 'allreduce'
  const Type = reduces && step.type === Uint8Array ? Int32Array : step.type
  const make = (n: number): AnyArray => (allocated ? comm.alloc(Type as Float64ArrayConstructor, n) : new Type(n))
  const parts = (array: AnyArray, of: (part: number, i: number) => number): AnyArray => {
    for (let k = 0; k < array.length; k++) array[k] = of(Math.floor(k / count), k % count)
    return array
  }
  const mine = (n: number) => parts(make(n * count), (part, i) => element(call, rank, part, i))
  const output = make(
    (collective === 'gather' || collective === 'allgather' || collective === 'alltoall' ? size : 1) * count,
  )
  let into = output
  const method = (blocking ? collective : `${collective}Async`) as 'allreduceAsync'
  const done = async (...args: unknown[]): Promise<void> => {
    await (comm[method] as (...args: unknown[]) => Promise<void> | undefined)(...args)
  }
  let wanted: ((part: number, i: number) => number) | null = null
  switch (collective) {
    case 'barrier':
      await done()
      break
    case 'broadcast':
      into = parts(make(count), (_, i) => (rank === root ? element(call, root, 0, i) : 0))
      await done(into, root)
      wanted = (_, i) => element(call, root, 0, i)
      break
    case 'scatter':
      await done(rank === root ? mine(size) : null, output, root)
      wanted = (_, i) => element(call, root, rank, i)
      break
    case 'gather':
      await done(mine(1), rank === root ? output : null, root)
      if (rank === root) wanted = (part, i) => element(call, part, 0, i)
      break
    case 'allgather':
      await done(mine(1), output)
      wanted = (part, i) => element(call, part, 0, i)
      break
    case 'alltoall':
      await done(mine(size), output)
      wanted = (part, i) => element(call, part, rank, i)
      break
    default: {
      // In place now and then.
      const input = mine(1)
      into = call % 3 === 0 ? input : make(count)
      const at = (i: number): number =>
        Array.from({ length: size }, (_, from) => element(call, from, 0, i)).reduce(combine[operation])
      if (collective === 'reduce') await done(input, rank === root ? into : null, operation, root)
      else await done(input, into, operation)
      if (collective === 'allreduce' || rank === root) wanted = (_, i) => at(i)
    }
  }
  if (wanted === null) return
  for (let k = 0; k < into.length; k++) {
    const expected = wanted(Math.floor(k / Math.max(1, count)), k % count)
    if (into[k] === expected) continue
    const what = `${collective} of ${count} × ${Type.name} among ${size}, root ${root}, call ${call}`
    throw new Error(`${what}: element ${k} at rank ${rank} is ${into[k]}, not ${expected}`)
  }
}
