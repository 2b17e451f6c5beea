/** Commands of rdma_cm of any content, and addresses: what a program can do to the door. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Errno } from '../../../src/run/door.ts'
import { decodeAddress, encodeAddress } from '../../../src/run/rdma-cm/addresses.ts'
import { commands } from '../../../src/run/rdma-cm/schema.ts'
import { holds } from '../../property.ts'
import { writing } from '../watch/recording.ts'
import { CmProgram, connParam, ib, inet, openCmDoor, settle } from './program.ts'

const schemas = Object.values(commands)
const byte = fc.integer({ min: 0, max: 255 })

/** A request that is nearly one: numbers of ids that are there, addresses that are some, and then bytes that are not. */
const request = fc.constantFrom(...schemas).chain((schema) =>
  fc.record({
    number: fc.constant(schema.number),
    body: fc
      .uint8Array({ minLength: schema.request.sizeBytes, maxLength: schema.request.sizeBytes })
      .map((b) => b.slice()),
    zeros: fc.boolean(),
    id: fc.integer({ min: 0, max: 4 }),
    isMeant: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
    patches: fc.array(fc.tuple(fc.nat(300), byte), { maxLength: 3 }),
    address: fc.constantFrom(
      inet(0),
      inet(7),
      inet(0, 0, 0, 0, 0),
      inet(7, 239, 1, 1, 1),
      ib(new Uint8Array(16), 0x106, 7),
    ),
    param: fc.constantFrom(-1, 0, 8),
    out: fc.constantFrom(0, 4, 144, 280, 336, 65_535),
    inBytes: fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, fc.nat(65_535)),
    nonBlocking: fc.boolean(),
  }),
)

/** Where requests have the id that they are about. */
const idOffsets: Readonly<Record<number, number>> = {
  ...{ 1: 8, 2: 36, 3: 56, 5: 8, 6: 272, 8: 280, 11: 8, 14: 8, 16: 44, 17: 8, 18: 8, 19: 8, 22: 16 },
}

/** Where they have an address, and its length. */
const addressOffsets: Readonly<Record<number, readonly [number, number]>> = {
  ...{ 2: [8, -1], 3: [28, -1], 16: [16, -1], 20: [8, 4], 21: [144, 10], 22: [24, 20] },
}

const put = (body: Uint8Array, bytes: Uint8Array, at: number): void => {
  if (at >= 0 && at + bytes.length <= body.length) body.set(bytes, at)
}

it('any command ends with an answer or an errno, and the door serves others', () => {
  const { door, context } = openCmDoor(writing)
  let answered = 0
  const property = fc.property(fc.array(request, { minLength: 1, maxLength: 12 }), (requests) => {
    const program = new CmProgram(door)
    const other = new CmProgram(door, program.memory)
    program.files.set(3, other.file)
    try {
      const room = program.memory.map(65_536).address
      const ids = [0x106, 0x111, 0x106, 0x13f].map((ps) => program.createId(ps))
      program.bind(ids[0]!, inet(0))
      program.resolve(ids[2]!, inet(7))
      for (const r of requests) {
        const body = Buffer.from(r.zeros ? new Uint8Array(r.body.length) : r.body)
        const [addressAt, sizeAt] = addressOffsets[r.number] ?? [-1, -1]
        put(body, r.address, addressAt)
        if (sizeAt >= 0 && r.isMeant) put(body, Uint8Array.of(r.address.length, 0), sizeAt)
        if (r.number === 0 && r.isMeant) put(body, Uint8Array.of(6, 1), 16)
        if (r.param >= 0) put(body, connParam(70), r.param)
        const idAt = r.isMeant ? (idOffsets[r.number] ?? 0) : 4
        if (idAt + 4 <= body.length) body.writeUInt32LE(ids[r.id] ?? r.id, idAt)
        if (r.out > 0 && body.length >= 16) body.writeBigUInt64LE(BigInt(room), r.number === 0 ? 8 : 0)
        for (const [at, value] of r.patches) if (at < body.length) body[at] = value
        program.nonBlocking = r.nonBlocking
        try {
          program.send(r.number, body, r.out, r.inBytes ?? body.length)
          answered++
        } catch (error) {
          if (!(error instanceof Errno)) throw error
          expect(error.errno).toBeGreaterThan(0)
        }
        settle(door)
      }
    } finally {
      program.end()
      other.end()
      settle(door)
    }
    const after = new CmProgram(door)
    const id = after.createId()
    after.resolve(id, inet(9))
    expect(after.types()).toEqual([0, 2])
    after.end()
    program.memory.unmap()
    after.memory.unmap()
  })
  holds(property, 150)
  expect(answered).toBeGreaterThan(10)
  door.close()
  context.close()
})

it('any bytes are an address or an error', () => {
  const bytes = fc.uint8Array({ minLength: 128, maxLength: 128 })
  const family = fc.oneof(fc.constantFrom(2, 10, 27), byte)
  const size = fc.option(fc.constantFrom(16, 28, 48, 128), { nil: undefined })
  const property = fc.property(bytes, family, size, (noise, family, size) => {
    noise[0] = family
    noise[1] = 0
    try {
      const { address, port } = decodeAddress('rdma_bind_addr', noise, size)
      const [text] = address.split('%') as [string]
      const again = encodeAddress({ address: text, port, family: family === 2 ? 4 : 6 }, () => 0)
      if (family === 2) expect([...again.bytes.subarray(0, 8)]).toEqual([...noise.subarray(0, 8)])
      else expect([...again.bytes.subarray(8, 24)]).toEqual([...noise.subarray(8, 24)])
    } catch (error) {
      expect(error).toMatchObject({ errno: 22 })
    }
  })
  holds(property, 1000)
})
