/** What a random program consists of, as small numbers that fast-check can shrink. */
import fc from 'fast-check'
import { Opcode } from '../../src/index.ts'
import type { Problem, TypeName } from './model.ts'

export interface Config {
  type: TypeName
  /** By side. */
  srq: readonly boolean[]
  sharedCq: readonly boolean[]
  sqSigAll: boolean
}

export interface SendItem {
  /** Chooses among the opcodes that the QP type has. */
  opcode: number
  size: number
  /** Where the data are cut into elements, in thousandths. */
  cuts: readonly number[]
  signaled: boolean
  inline: boolean
  fence: boolean
  remote: number
  value: number
  problem: Problem
  tooManyElements: boolean
}

export interface ReceiveItem {
  size: number
  cuts: readonly number[]
  bad: boolean
}

export type Step =
  | { kind: 'send'; side: 0 | 1; items: readonly SendItem[] }
  | { kind: 'receive'; side: 0 | 1; items: readonly ReceiveItem[] }
  | { kind: 'poll'; side: 0 | 1; queue: 'send' | 'receive'; batch: number }
  | { kind: 'drain' }
  | { kind: 'error'; side: 0 | 1 }
  | { kind: 'reconnect' }

export const largest = 3000

export const opcodes: Readonly<Record<TypeName, readonly number[]>> = {
  RC: [
    Opcode.Send,
    Opcode.SendWithImm,
    Opcode.Write,
    Opcode.WriteWithImm,
    Opcode.Read,
    Opcode.AtomicFetchAndAdd,
    Opcode.AtomicCmpAndSwp,
  ],
  UC: [Opcode.Send, Opcode.SendWithImm, Opcode.Write, Opcode.WriteWithImm],
  UD: [Opcode.Send, Opcode.SendWithImm],
}

/** Plain objects, so that a counterexample can be read. */
function record<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record<T>(model, { noNullPrototype: true }) as fc.Arbitrary<T>
}

const side = fc.constantFrom<0 | 1>(0, 1)
const size = fc.oneof(
  fc.constantFrom(0, 1, 4, 7, 8, 63, 64, 65, 1023, 1024, 1025, 2048, largest),
  fc.nat({ max: largest }),
)
const cuts = fc.array(fc.nat({ max: 1000 }), { maxLength: 3 })
const rarely = (percent: number) => fc.nat({ max: 99 }).map((n) => n > 99 - percent)

const sendItem: fc.Arbitrary<SendItem> = record({
  opcode: fc.nat({ max: 1000 }),
  size,
  cuts,
  signaled: fc.boolean(),
  inline: fc.boolean(),
  fence: fc.boolean(),
  remote: fc.nat({ max: 0xffff }),
  value: fc.nat({ max: 3 }),
  problem: fc.oneof(
    { weight: 40, arbitrary: fc.constant<Problem>('none') },
    { weight: 1, arbitrary: fc.constantFrom<Problem>('lkey', 'rkey', 'bounds', 'align', 'size') },
  ),
  tooManyElements: rarely(1),
})

const receiveItem: fc.Arbitrary<ReceiveItem> = record({
  // Most receives take any message.
  size: fc.oneof({ weight: 12, arbitrary: fc.constant(largest) }, { weight: 1, arbitrary: size }),
  cuts,
  bad: rarely(1),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: record({
      kind: fc.constant('send' as const),
      side,
      items: fc.array(sendItem, { minLength: 1, maxLength: 5 }),
    }),
  },
  {
    weight: 8,
    arbitrary: record({
      kind: fc.constant('receive' as const),
      side,
      items: fc.array(receiveItem, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 10,
    arbitrary: record({
      kind: fc.constant('poll' as const),
      side,
      queue: fc.constantFrom<'send' | 'receive'>('send', 'receive'),
      batch: fc.constantFrom(1, 2, 3, 7, 16),
    }),
  },
  { weight: 1, arbitrary: record({ kind: fc.constant('drain' as const) }) },
  { weight: 1, arbitrary: record({ kind: fc.constant('error' as const), side }) },
  { weight: 2, arbitrary: record({ kind: fc.constant('reconnect' as const) }) },
)

export function configs(types: readonly TypeName[]): fc.Arbitrary<Config> {
  const each = fc.tuple(fc.boolean(), fc.boolean())
  return record({ type: fc.constantFrom(...types), srq: each, sharedCq: each, sqSigAll: rarely(20) })
}

export const programs: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: 80, size: 'max' })
