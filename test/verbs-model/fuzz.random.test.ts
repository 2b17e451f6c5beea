/**
 * Garbage: wrong types, negative, NaN and huge numbers in any argument of any verb. A verb refuses with a VerbsError, or
 * what it posts completes; nothing else is thrown, nothing hangs, and the memory and the traffic of others are untouched.
 */
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import {
  Opcode,
  QpState,
  QpType,
  RecvWorkRequest,
  ScatterGather,
  SendFlag,
  SendWorkRequest,
  sendWr,
  VerbsError,
  workCompletions,
} from '../../src/index.ts'
import { type End, expectBytes, pattern } from '../compliance/end.ts'
import { Setup, SharedContexts } from '../compliance/rig.ts'
import { shmRig } from '../compliance/shm-rig.ts'
import { holds } from '../property.ts'
import { type Arguments, makeVictim, type Victim, verbs } from './verbs.ts'

const odd: readonly unknown[] = [
  ...[undefined, null, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, -1, 0, 1, 2, 0.5, 1e300],
  ...[2 ** 24, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 32 + 8, 2 ** 52, 2 ** 53, 2 ** 63, -(2 ** 53)],
  ...['', 'x', '8', '0x10', true, false, 0n, -1n, 2n ** 64n, Symbol('garbage')],
  ...[{}, [], [null], [undefined, {}], () => 0, new Uint8Array(3), new Date(0), new Map(), Object.create(null)],
]

const garbage = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...odd) },
  { weight: 2, arbitrary: fc.integer() },
  { weight: 1, arbitrary: fc.double() },
  { weight: 1, arbitrary: fc.bigInt() },
  { weight: 1, arbitrary: fc.anything({ maxDepth: 2 }) },
)

/** Which of the places of the arguments, and what stands there instead. */
const spoiling = fc.array(fc.tuple(fc.nat({ max: 999 }), garbage), { minLength: 1, maxLength: 3 })

describe('garbage in any argument is refused, or completes with an error', () => {
  const device = shmRig(['shm0', 'shm1'])
  const contexts = new SharedContexts(device)
  afterAll(() => contexts.close())

  for (const name of Object.keys(verbs)) {
    it(name, async () => {
      const aside = new Setup(device, contexts)
      const canary = makeCanary(aside)
      let failed = true
      try {
        await holds(
          fc.asyncProperty(spoiling, async (spoils) => {
            await survives(new Setup(device, contexts), name, spoils)
            await canary()
          }),
          20,
        )
        failed = false
      } finally {
        await aside.dispose(failed)
        if (failed) contexts.forget()
      }
    })
  }
})

/** Fields of a prepared request are changed without checks until it is posted. */
const spoilt: readonly [string, number, (wr: SendWorkRequest) => void][] = [
  ['a negative length first', 0, ({ sgList }) => setLengths(sgList, -5, 100)],
  ['a negative length last', 0, ({ sgList }) => setLengths(sgList, 100, -5)],
  ['negative in sum', 0, ({ sgList }) => setLengths(sgList, -100, 5)],
  ['a negative length, inline', SendFlag.Inline, ({ sgList }) => setLengths(sgList, -8, 10)],
  ['a negative address, inline', SendFlag.Inline, ({ sgList }) => Object.assign(sgList[0]!, { addr: -50 })],
  ['no address', 0, ({ sgList }) => Object.assign(sgList[0]!, { addr: Number.NaN })],
  ['no elements', 0, (wr) => Object.assign(wr, { sgList: null })],
  ['an operation that does not exist', 0, (wr) => Object.assign(wr, { opcode: 34 })],
  ['an operand that is no bigint', 0, (wr) => Object.assign(wr, { opcode: Opcode.AtomicFetchAndAdd, compareAdd: 5 })],
  ['a remote address that is a bigint', 0, (wr) => Object.assign(wr, { remoteAddr: 64n })],
]

describe('a prepared request with garbage is refused or fails, and the QP can be used again', () => {
  const device = shmRig(['shm0', 'shm1'])
  const contexts = new SharedContexts(device)
  afterAll(() => contexts.close())

  for (const opcode of [Opcode.Send, Opcode.Write, Opcode.Read]) {
    for (const [what, flags, change] of spoilt) {
      // A SEND has no remote address.
      if (opcode === Opcode.Send && what.startsWith('a remote')) continue
      it(`operation ${opcode}: ${what}`, async () => {
        const t = new Setup(device, contexts)
        let failed = true
        try {
          const [a, b] = t.pair(QpType.RC) as unknown as [End, End]
          const wr = sendWr(a.request(opcode, b, { sgList: [a.sge(0, 8), a.sge(8, 8)] }) as never)
          wr.sendFlags |= flags
          change(wr)
          b.recv()
          refusesOr(() => {
            a.qp.postSend(wr)
            const wc = workCompletions(1)
            expect(a.sendCq.poll(wc)).toBe(1)
            expect(wc[0]!.statusText).not.toBe('success')
          })
          for (const { qp } of [a, b]) qp.modify({ state: QpState.Reset })
          t.connect(a, b)
          expect((await t.run(a, Opcode.Write, b)).status).toBe('Success')
          failed = false
        } finally {
          await t.dispose(failed)
          if (failed) contexts.forget()
        }
      })
    }
  }
})

function setLengths(sgList: readonly ScatterGather[], ...lengths: number[]): void {
  for (const [i, length] of lengths.entries()) sgList[i]!.length = length
}

async function survives(t: Setup, name: string, spoils: readonly (readonly [number, unknown])[]): Promise<void> {
  let failed = true
  try {
    const victim = makeVictim(t)
    const { good, call } = verbs[name]!
    const args = good(victim)
    spoil(args, spoils)
    refusesOr(() => {
      const result = call(victim, args)
      if (isClosable(result)) t.own(result)
    })
    await settle(t, victim)
    failed = false
  } finally {
    await t.dispose(failed)
  }
}

/** Runs it; a VerbsError is an answer, everything else is a failure. */
function refusesOr(action: () => void): void {
  try {
    action()
  } catch (error) {
    if (!(error instanceof VerbsError)) throw error
    expect(error.message).toContain(error.verb)
  }
}

function isClosable(value: unknown): value is { close(): void } {
  return typeof value === 'object' && value !== null && typeof (value as { close?: unknown }).close === 'function'
}

/** Replaces what stands at some places of the arguments, at any depth. */
function spoil(args: Arguments, spoils: readonly (readonly [number, unknown])[]): void {
  const places: [Record<string, unknown>, string][] = []
  const collect = (container: object): void => {
    for (const key of Object.keys(container)) {
      const inner = (container as Record<string, unknown>)[key]
      places.push([container as Record<string, unknown>, key])
      if (isPlain(inner)) collect(inner)
    }
  }
  collect(args)
  for (const [place, value] of spoils) {
    const [container, key] = places[place % places.length]!
    container[key] = value
  }
}

/** What a program fills in by itself: literals, arrays and work requests; not handles and not memory. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return (
    Array.isArray(value) ||
    prototype === Object.prototype ||
    value instanceof SendWorkRequest ||
    value instanceof RecvWorkRequest ||
    value instanceof ScatterGather
  )
}

/** Whatever was posted completes in the end, or waits; the CQs still work. */
async function settle(t: Setup, { rc, ud, fresh }: Victim): Promise<void> {
  const wc = workCompletions(16)
  for (let round = 0; round < 3; round++) {
    for (const { sendCq, recvCq } of [...rc, ...ud, fresh]) {
      for (const cq of [sendCq, recvCq]) {
        const n = cq.poll(wc)
        for (const { statusText } of wc.slice(0, Math.max(0, n))) expect(statusText).not.toContain('unknown')
      }
    }
    if (round === 1) await t.turn()
  }
}

/** Traffic of somebody else, who must not notice anything. */
function makeCanary(t: Setup): () => Promise<void> {
  const [a, b] = t.pair(QpType.RC) as unknown as [End, End]
  const expected = new Uint8Array(b.buffer.length)
  let round = 0
  return async () => {
    const bytes = pattern(512, round)
    const at = (round++ * 8) % (b.buffer.length - 512)
    a.buffer.set(bytes)
    expect((await t.run(a, Opcode.Write, b, { length: 512, remoteOffset: at })).status).toBe('Success')
    expected.set(bytes, at)
    expectBytes(b.buffer, expected)
  }
}
