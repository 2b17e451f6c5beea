/**
 * Programs that send anything: commands by the table with random values, commands whose bytes are changed, entries and indexes of
 * queues. Whatever comes, a command ends with an errno or succeeds, the door goes on, and a bystander gets its own bytes.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Context } from '../../../src/index.ts'
import { Errno } from '../../../src/run/door.ts'
import type { UverbsDoor } from '../../../src/run/uverbs/index.ts'
import { methods, writeCommands } from '../../../src/run/uverbs/schema.ts'
import type { Observer } from '../../../src/run/watch/index.ts'
import { textOf } from '../../../src/run/watch/text.ts'
import { holds } from '../../property.ts'
import { openDoor, Program, settle } from './program.ts'
import * as v from './verbs.ts'

/** One that nobody watches, and one of which everything is told: programs take turns. */
const doors: { door: UverbsDoor; context: Context }[] = []
let door: UverbsDoor
let context: Context
let turn = 0
let told = 0
const observer: Observer = {
  detailed: true,
  observed: (pid) => ({ pid, program: 'hostile' }),
  record(record) {
    told++
    expect(textOf(record).length).toBeGreaterThan(20)
    expect(JSON.parse(JSON.stringify(record))).toEqual(record)
  },
}
let bystander: { program: Program; cq: v.Cq; qp: v.Qp; mr: v.Mr }

beforeAll(() => {
  doors.push(openDoor(), openDoor(observer))
  door = doors[0]!.door
  context = doors[0]!.context
  const program = new Program(door, context)
  program.open()
  const pd = v.allocPd(program)
  const cq = v.createCq(program, 64)
  const qp = v.createQp(program, pd, cq, cq)
  const mr = v.regMr(program, pd, 4096)
  v.connect(program, qp, qp.number)
  bystander = { program, cq, qp, mr }
})
afterAll(() => {
  bystander.program.end()
  for (const opened of doors) {
    opened.door.close()
    opened.context.close()
  }
  expect(told).toBeGreaterThan(0)
})

/** The bystander sends itself a message and finds it. */
function isRight(round: number): void {
  const { program, cq, qp, mr } = bystander
  mr.bytes.fill(round & 0xff, 0, 64)
  mr.bytes.fill(0, 1000, 1064)
  v.postRecv(qp.recv, 1n, v.sge(mr, 1000, 64))
  v.postSend(program, qp, { wrId: 2n, opcode: 2, sges: [v.sge(mr, 0, 64)] })
  expect(
    v
      .pollAll(cq)
      .map(({ wrId, status }) => [wrId, status])
      .sort(),
  ).toEqual([
    [1n, 0],
    [2n, 0],
  ])
  expect(mr.bytes.subarray(1000, 1064).every((byte) => byte === (round & 0xff))).toBe(true)
}

/** Runs what may end with an errno, and with nothing else. */
function attempt(what: () => unknown): void {
  try {
    what()
  } catch (error) {
    if (!(error instanceof Errno)) throw error
    expect(error.errno).toBeGreaterThan(0)
    expect(error.reason.length).toBeGreaterThan(5)
  }
}

/** A program with one of everything, whose handles commands can name. */
function victim(): { program: Program; handles: number[]; qp: v.Qp; cq: v.Cq; mr: v.Mr; srq: v.Srq } {
  door = doors[turn % 2]!.door
  context = doors[turn++ % 2]!.context
  const program = new Program(door, context)
  const events = program.open()
  const pd = v.allocPd(program)
  const channel = v.createChannel(program)
  const cq = v.createCq(program, 16, channel)
  const srq = v.createSrq(program, pd, 8)
  const qp = v.createQp(program, pd, cq, cq, { sge: 2 })
  const shared = v.createQp(program, pd, cq, cq, { srq, type: 4 })
  const mr = v.regMr(program, pd, 4096)
  const mw = v.allocMw(program, pd, 2)
  v.createAh(program, pd)
  v.connect(program, qp, qp.number)
  const handles = [
    pd,
    channel,
    cq.handle,
    srq.handle,
    qp.handle,
    shared.handle,
    mr.handle,
    mw.handle,
    events,
    qp.number,
  ]
  return { program, handles, qp, cq, mr, srq }
}

const odd = fc.oneof(
  fc.constantFrom(0, 1, 2, 3, 4, 7, 8, 16, 0x39, 0x71, 255, 4096, 65_535, 65_536, 0x7fffffff, 0xffffffff, 0x80000000),
  fc.nat(0xffffffff),
)
/** A word: of a handle that there is, or anything. */
const word = fc.oneof({ weight: 3, arbitrary: fc.record({ handle: fc.nat(9) }) }, { weight: 4, arbitrary: odd })
type Word = number | { handle: number }
const words = fc.array(word, { minLength: 0, maxLength: 34 })
const bytesOf = (list: readonly Word[], handles: readonly number[]): Buffer =>
  v.words(...list.map((value) => (typeof value === 'number' ? value : handles[value.handle]!)))

const commandNumbers = Object.values(writeCommands).map(({ number, extended }) =>
  extended ? number + 0x80000000 : number,
)
const command = fc.record({
  how: fc.constantFrom('invoke', 'write'),
  number: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...commandNumbers) }, { weight: 1, arbitrary: odd }),
  /** As long as the table says, or not. */
  exact: fc.boolean(),
  core: words,
  out: fc.constantFrom(0, 4, 8, 32, 128, 304),
  driverIn: fc.option(words),
  driverOut: fc.constantFrom(0, 8, 16, 32),
})

const methodList = Object.values(methods)
const attribute = fc.record({
  id: fc.oneof({ weight: 9, arbitrary: fc.nat(14) }, { weight: 1, arbitrary: fc.constantFrom(0x1000, 0x1001, 77) }),
  kind: fc.constantFrom('value', 'data', 'out', 'handle'),
  value: word,
  length: fc.constantFrom(0, 1, 2, 4, 8, 20, 32, 48),
  optional: fc.boolean(),
})
const method = fc.record({
  how: fc.constant('method'),
  which: fc.nat(methodList.length - 1),
  attributes: fc.array(attribute, { maxLength: 16 }),
})

type Step =
  | (typeof command extends fc.Arbitrary<infer T> ? T : never)
  | (typeof method extends fc.Arbitrary<infer T> ? T : never)

function execute(program: Program, handles: readonly number[], step: Step): void {
  if ('attributes' in step) {
    const { object, method } = methodList[step.which]!
    program.ioctl(
      object,
      method,
      step.attributes.map(({ id, kind, value, length, optional }) => {
        const number = typeof value === 'number' ? value : handles[value.handle]!
        if (kind === 'value') return { id, value: number, bytes: Math.min(length, 8), optional }
        if (kind === 'data') return { id, data: new Uint8Array(length).fill(number), optional }
        return kind === 'out' ? { id, out: length, optional } : { id, handle: number, optional }
      }),
    )
    return
  }
  const known = Object.values(writeCommands).find(
    ({ number, extended }) => number + (extended ? 0x80000000 : 0) === step.number,
  )
  let core = bytesOf(step.core, handles)
  if (known && step.exact) core = Buffer.concat([core, Buffer.alloc(128)]).subarray(0, known.requestBytes)
  const out = known && step.exact ? known.responseBytes : step.out
  if (step.how === 'write') program.write(step.number, core, out)
  else
    program.invoke(step.number, core, out, step.driverOut, step.driverIn ? bytesOf(step.driverIn, handles) : undefined)
}

describe('commands', () => {
  it('by the table, with any values', () =>
    holds(
      fc.property(fc.array(fc.oneof(command, method), { maxLength: 60 }), (steps) => {
        const { program, handles } = victim()
        try {
          for (const step of steps) {
            attempt(() => execute(program, handles, step as Step))
            settle(door)
          }
          isRight(steps.length)
        } finally {
          program.end()
          settle(door)
        }
        isRight(steps.length + 1)
      }),
      120,
    ))

  it('with any bytes', () =>
    holds(
      fc.property(fc.array(fc.uint8Array({ minLength: 0, maxLength: 200 }), { maxLength: 40 }), (blobs) => {
        const { program } = victim()
        try {
          for (const blob of blobs) {
            attempt(() => program.file.write(program.call, program.memory.put(blob), blob.length))
            // An ioctl with a header that is right, so that it gets further.
            const count = Math.max(0, Math.floor((blob.length - 24) / 16))
            const bytes = Buffer.concat([blob, Buffer.alloc(24)])
            bytes.writeUInt16LE(24 + 16 * count, 0)
            const { object, method } = methodList[(blob[0] ?? 0) % methodList.length]!
            bytes.writeUInt16LE(object, 2)
            bytes.writeUInt16LE(method, 4)
            bytes.writeUInt16LE(count, 6)
            bytes.fill(0, 8, 24)
            bytes.writeUInt32LE(14, 16)
            attempt(() => program.file.ioctl(program.call, 0xc0181b01, program.memory.put(bytes)))
          }
          isRight(blobs.length)
        } finally {
          program.end()
        }
      }),
      100,
    ))
})

const mutation = fc.record({
  ring: fc.constantFrom('send', 'recv', 'srq', 'cq'),
  at: fc.oneof(fc.constantFrom(0, 4, 128, 256), fc.nat(6000)),
  value: fc.oneof(odd, fc.constantFrom(2, 4, 5, 9, 15)),
})

describe('queues', () => {
  it('with any entries and indexes', () =>
    holds(
      fc.property(
        fc.array(fc.array(mutation, { maxLength: 12 }), { maxLength: 20 }),
        fc.array(fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 200), { maxLength: 20 }),
        (rounds, opcodes) => {
          const { program, qp, cq, mr, srq } = victim()
          const rings = { send: qp.send, recv: qp.recv, srq: srq.queue, cq: cq.queue }
          try {
            for (const [i, mutations] of rounds.entries()) {
              const opcode = opcodes[i] ?? 0
              v.writeSend(qp, {
                wrId: BigInt(i),
                opcode,
                remote: { addr: mr.addr, rkey: mr.rkey },
                sges: [v.sge(mr, 0, 16)],
              })
              v.postRecv(qp.recv, 5n, v.sge(mr, 64, 64))
              v.postRecv(srq.queue, 6n, v.sge(mr, 64, 64))
              for (const { ring, at, value } of mutations) {
                const { bytes } = rings[ring]
                bytes.writeUInt32LE(value, Math.min(at, bytes.length - 4))
              }
              program.file.rung()
              settle(door)
              if (i % 4 === 3) attempt(() => v.modify(program, qp, 1, { state: 0 }))
              if (i % 4 === 3) attempt(() => v.connect(program, qp, qp.number))
            }
            isRight(rounds.length)
          } finally {
            program.end()
            settle(door)
          }
          isRight(rounds.length + 1)
        },
      ),
      150,
    ))

  it('with a file and a log of doorbells that the program writes anything to', () =>
    holds(
      fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 100 }), { maxLength: 30 }), (records) => {
        const { program, qp, cq, mr } = victim()
        try {
          for (const record of records) {
            program.append(record)
            program.file.rung()
          }
          v.postSend(program, qp, {
            wrId: 1n,
            opcode: 0,
            remote: { addr: mr.addr, rkey: mr.rkey },
            sges: [v.sge(mr, 0, 16)],
          })
          expect(v.pollAll(cq)).toHaveLength(1)
          expect(() => program.cutOff()).toThrow(expect.objectContaining({ code: 'EPERM' }))
        } finally {
          program.end()
        }
      }),
      60,
    ))
})
