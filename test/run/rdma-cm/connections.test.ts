/** Ids of programs by the commands of librdmacm: who is told what, in which order, and how many events are counted. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Context } from '../../../src/index.ts'
import type { RdmaCmDoor } from '../../../src/run/rdma-cm/index.ts'
import { CmProgram, connParam, eventIn, ib, inet, openCmDoor, settle, words } from './program.ts'

let door: RdmaCmDoor
let context: Context
let a: CmProgram
let b: CmProgram
const programs: CmProgram[] = []
const program = (): CmProgram => {
  const made = new CmProgram(door)
  programs.push(made)
  return made
}

beforeEach(() => {
  const opened = openCmDoor()
  door = opened.door
  context = opened.context
  a = program()
  b = program()
})
afterEach(() => {
  for (const made of programs.splice(0)) made.end()
  door.close()
  context.close()
})

/** A listener of `b`, its port and its uid. */
function listening(address = inet(0), ps = 0x106, backlog = 0): { id: number; port: number; uid: bigint } {
  const uid = b.uid()
  const id = b.createId(ps, uid)
  b.bind(id, address)
  b.listen(id, backlog)
  const port = b.command(19, words(0, 0, id, 0), 280).readUInt16BE(18)
  return { id, port, uid }
}

/** `a` asks for a connection; both ids. */
function asked(ps = 0x106): { own: number; theirs: number; listener: number } {
  const { id: listener, port } = listening(inet(0), ps)
  const own = a.createId(ps)
  a.resolve(own, inet(port))
  expect(a.types()).toEqual([0, 2])
  a.connect(own, connParam(77, 'to b'))
  const request = b.event()!
  expect(request.type).toBe(4)
  return { own, theirs: request.id, listener }
}

/** The same until it is there. */
function connected(): { own: number; theirs: number; listener: number } {
  const ids = asked()
  b.accept(ids.theirs, 0xb0b0n, connParam(88, 'to a'))
  expect(a.event()!.type).toBe(5)
  a.accept(ids.own, 0n, connParam(0, '', 0))
  expect(b.event()).toMatchObject({ type: 9, uid: 0xb0b0n, id: ids.theirs })
  return ids
}

describe('a connection', () => {
  it('is made as librdmacm makes it, with what each end has told', () => {
    const { id: listener, port, uid } = listening()
    const own = a.createId(0x106, 0xa0a0n)
    a.resolve(own, inet(port))
    expect(a.event()).toMatchObject({ type: 0, uid: 0xa0a0n, id: own, status: 0 })
    expect(a.event()).toMatchObject({ type: 2 })
    a.connect(own, connParam(77, 'to b'))

    const request = b.event()!
    expect(request).toMatchObject({ type: 4, uid, status: 0 })
    expect(request.id).not.toBe(listener)
    expect(request.param.readUInt32LE(0)).toBe(77)
    expect(request.param.toString('latin1', 8, 13)).toBe('to b\0')
    // Length, SRQ; what a serves b may have outstanding, and the other way round; flow control and retries.
    expect([...request.param.subarray(264, 271)]).toEqual([56, 0, 2, 4, 1, 7, 6])
    // Nothing is told of the new id before it has a name of the program's.
    expect(b.types()).toEqual([])

    b.accept(request.id, 0xb0b0n, connParam(88, 'to a'))
    const response = a.event()!
    expect(response).toMatchObject({ type: 5, uid: 0xa0a0n, status: 0 })
    expect(response.param.readUInt32LE(0)).toBe(88)
    expect(response.param.readUInt8(264)).toBe(196)
    a.accept(own, 0n, connParam(0, '', 0))
    expect(b.event()).toMatchObject({ type: 9, uid: 0xb0b0n })

    a.send(10, words(own))
    expect(b.event()).toMatchObject({ type: 10, uid: 0xb0b0n })
    b.send(10, words(request.id))
    expect(a.event()).toMatchObject({ type: 10, uid: 0xa0a0n })
    // The request was the listener's.
    expect([a.destroyId(own), b.destroyId(request.id), b.destroyId(listener)]).toEqual([4, 2, 1])
  })

  it('has attributes for queue pairs of the program', () => {
    const { own, theirs } = connected()
    const mask = (bytes: Buffer): number => bytes.readUInt32LE(0)
    const init = b.initQpAttr(theirs, 1)
    expect([mask(init), init.readUInt32LE(4), init.readUInt8(133)]).toEqual([0x39, 1, 1])
    const rtr = b.initQpAttr(theirs, 2)
    expect(mask(rtr)).toBe(0x129181 | 0x8000 | 0x100000)
    expect(rtr.readUInt32LE(32)).toBe(77)
    const other = a.initQpAttr(own, 2)
    expect(other.readUInt32LE(32)).toBe(88)
    const [rts, otherRts] = [b.initQpAttr(theirs, 3), a.initQpAttr(own, 3)]
    expect(mask(rts)).toBe(0x12e01)
    // What one sends first the other expects.
    expect([rts.readUInt32LE(28), otherRts.readUInt32LE(28)]).toEqual([other.readUInt32LE(24), rtr.readUInt32LE(24)])
    // The address vector has the adapter's GID, as the program has to give it to uverbs.
    expect([...other.subarray(40, 56)]).toEqual([...context.queryGid(1, 0)])
    expect([other.readUInt8(69), other.readUInt8(70)]).toEqual([1, 1])
  })

  it('that is rejected says why', () => {
    const { own, theirs } = asked()
    const reject = Buffer.alloc(264)
    reject.set(words(theirs))
    reject.set([3, 0], 4)
    reject.write('why', 8)
    b.send(9, reject)
    const rejected = a.event()!
    expect(rejected).toMatchObject({ type: 8, status: 28, id: own })
    expect(rejected.param.toString('latin1', 8, 12)).toBe('why\0')
    expect(rejected.param.readUInt8(264)).toBe(148)
    expect(() => b.accept(theirs, 1n, connParam(71))).toThrow(expect.objectContaining({ errno: 22 }))
  })

  it('to where nobody listens is rejected with reason 8', () => {
    const own = a.createId()
    a.resolve(own, inet(9))
    a.connect(own, connParam(77))
    expect([a.event(), a.event(), a.event()]).toMatchObject([{ type: 0 }, { type: 2 }, { type: 8, status: 8 }])
  })

  it('ends with a program, whose peer is told', () => {
    connected()
    a.end()
    programs.splice(programs.indexOf(a), 1)
    expect(b.event()).toMatchObject({ type: 10, uid: 0xb0b0n })
  })

  it('that was given up before it was accepted cannot be accepted', () => {
    const { own, theirs } = asked()
    a.destroyId(own)
    expect(b.types()).toEqual([])
    expect(() => b.accept(theirs, 1n, connParam(71))).toThrow(expect.objectContaining({ errno: 22 }))
    expect(b.destroyId(theirs)).toBe(0)
  })

  it('that was given up before it was seen leaves nothing', () => {
    const { port } = listening()
    const own = a.createId()
    a.resolve(own, inet(port))
    a.connect(own, connParam(71))
    settle(door)
    expect(b.isReadable).toBe(true)
    a.destroyId(own)
    expect(b.types()).toEqual([])
    expect(b.isReadable).toBe(false)
  })

  it('by service names (UD): the answer has queue pair, key and address', () => {
    const { own, theirs } = asked(0x111)
    expect(a.initQpAttr(own, 1).readUInt32LE(0)).toBe(0x71)
    b.accept(theirs, 5n, connParam(99, 'ud'))
    const established = a.event()!
    expect(established).toMatchObject({ type: 9, status: 0 })
    expect([established.param.readUInt32LE(0), established.param.readUInt32LE(4)]).toEqual([99, 0x01234567])
    expect([...established.param.subarray(8, 24)]).toEqual([...context.queryGid(1, 0)])
    expect(established.param.readUInt8(296)).toBe(136)
    expect(a.initQpAttr(own, 1).readUInt32LE(20)).toBe(0x01234567)
  })
})

describe('events', () => {
  it('make the descriptor readable while they wait', () => {
    const own = a.createId()
    expect(a.isReadable).toBe(false)
    a.resolve(own, inet(9))
    expect(a.isReadable).toBe(true)
    a.event()
    expect(a.isReadable).toBe(true)
    a.event()
    expect(a.isReadable).toBe(false)
    const other = a.createId()
    a.resolve(other, inet(9))
    // They go with their id, and are not counted.
    expect(a.destroyId(other)).toBe(0)
    expect(a.isReadable).toBe(false)
  })

  it('come to threads that wait, and past those that were killed', () => {
    a.nonBlocking = false
    const rooms = [0, 1, 2].map(() => a.memory.map(4096).address)
    for (const room of rooms)
      expect(a.send(12, words(room % 2 ** 32, Math.floor(room / 2 ** 32)), 336)).toBe(a.blocked.at(-1))
    a.blocked[0]!.isKilled = true
    const own = a.createId(0x106, 42n)
    a.resolve(own, inet(9))
    // Both were made again for the first event, and the one that found none blocked once more.
    expect(a.blocked.map(({ result }) => result)).toEqual([undefined, 16, undefined, 16])
    expect(rooms.map((room) => eventIn(a.memory.get(room, 336)))).toMatchObject([
      { type: 0, uid: 0n },
      { type: 0, uid: 42n },
      { type: 2, uid: 42n },
    ])
    expect(a.destroyId(own)).toBe(2)
  })

  it('that cannot be written stay', () => {
    a.nonBlocking = false
    a.send(12, words(4096, 0), 336)
    const own = a.createId()
    a.resolve(own, inet(9))
    expect(a.blocked[0]!.result).toBe(-14)
    expect(() => a.send(12, words(4096, 0), 336)).toThrow(expect.objectContaining({ errno: 14 }))
    a.nonBlocking = true
    expect(a.types()).toEqual([0, 2])
  })

  it('go to another channel with their id', () => {
    const own = a.createId(0x106, 7n)
    a.resolve(own, inet(9))
    a.event()
    const c = program()
    c.files.set(33, a.file)
    expect(() => c.command(18, words(0, 0, own, 34), 4)).toThrow(expect.objectContaining({ errno: 22 }))
    expect(c.command(18, words(0, 0, own, 33), 4).readUInt32LE(0)).toBe(1)
    expect([a.types(), a.isReadable, c.isReadable]).toEqual([[], false, true])
    expect(c.event()).toMatchObject({ type: 2, uid: 7n })
    expect(() => a.destroyId(own)).toThrow(expect.objectContaining({ errno: 22 }))
    expect(c.destroyId(own)).toBe(2)
  })

  it('of groups have the uid of the join, and are counted there', () => {
    const own = a.createId(0x111)
    a.bind(own, inet(0))
    const body = Buffer.alloc(152)
    body.writeBigUInt64LE(0x901n, 8)
    body.writeUInt32LE(own, 16)
    body.writeUInt16LE(16, 20)
    body.set(inet(0, 239, 1, 2, 3), 24)
    const join = a.command(22, body, 4).readUInt32LE(0)
    const joined = a.event()!
    expect(joined).toMatchObject({ type: 12, status: 0, uid: 0x901n, id: join })
    expect(joined.param.readUInt32LE(0)).toBe(0xffffff)
    expect([...joined.param.subarray(18, 24)]).toEqual([0xff, 0xff, 239, 1, 2, 3])
    expect(() => a.command(22, body, 4)).toThrow(expect.objectContaining({ errno: 22 }))
    expect(a.command(17, words(0, 0, join, 0), 4).readUInt32LE(0)).toBe(1)
    expect(() => a.command(17, words(0, 0, join, 0), 4)).toThrow(expect.objectContaining({ errno: 2 }))
  })
})

describe('addresses', () => {
  it('by GID: what librdmacm tries first, and a connection', () => {
    const any = b.createId(0x13f)
    b.bind(any, ib(new Uint8Array(16), 0x106, 0))
    const gid = context.queryGid(1, 0)
    const { id } = listening(ib(new Uint8Array(16), 0x106, 0))
    // Behind the family and the GID: the service id, whose last two bytes are the port.
    const port = b.command(19, words(0, 0, id, 0), 280).readUInt16BE(16 + 30)
    const own = a.createId()
    a.resolve(own, ib(gid, 0x106, port))
    expect(a.types()).toEqual([0, 2])
    const shown = a.command(19, words(0, 0, own, 0), 280)
    expect([shown.readUInt16LE(12), shown.readUInt16LE(144), [...shown.subarray(152, 168)]]).toEqual([48, 27, [...gid]])
    a.connect(own, connParam(73))
    expect(b.event()).toMatchObject({ type: 4 })
  })

  it('are shown with the device, once there is one', () => {
    const { nodeGuid } = context.queryDevice()
    const { id, port } = listening(inet(0, 0, 0, 0, 0))
    expect(b.command(19, words(0, 0, id, 0), 280).readBigUInt64BE(0)).toBe(0n)
    const own = a.createId()
    a.resolve(own, inet(port))
    const shown = a.command(19, words(0, 0, own, 0), 272)
    expect([shown.readBigUInt64BE(0), shown.readUInt8(8), shown.readUInt16LE(10)]).toEqual([nodeGuid, 1, 0xffff])
    expect([shown.readUInt16LE(144), shown.readUInt16BE(146), [...shown.subarray(148, 152)]]).toEqual([
      2,
      port,
      [127, 0, 0, 1],
    ])
    const route = a.command(5, words(0, 0, own, 0), 208)
    expect([route.readBigUInt64BE(0), route.readUInt32LE(192), route.readUInt8(196)]).toEqual([nodeGuid, 1, 1])
    expect([...route.subarray(8, 24)]).toEqual([...context.queryGid(1, 0)])
    expect([route.readUInt16LE(164), route.readUInt16BE(166)]).toEqual([2, port])
    const paths = a.command(19, words(0, 0, own, 1), 8 + 72)
    expect([paths.readUInt32LE(0), paths.readUInt32LE(8), [...paths.subarray(24, 40)]]).toEqual([
      1,
      0x2b,
      [...context.queryGid(1, 0)],
    ])
    const gids = a.command(19, words(0, 0, own, 2), 280)
    expect([gids.readUInt16LE(16), [...gids.subarray(24, 40)]]).toEqual([27, [...context.queryGid(1, 0)]])
  })

  it('are one for each listener', () => {
    const { port } = listening()
    const other = b.createId()
    expect(() => b.bind(other, inet(port))).toThrow(expect.objectContaining({ errno: 98 }))
    // Port spaces are apart.
    b.bind(b.createId(0x111), inet(port))
    const foreign = b.createId()
    expect(() => b.bind(foreign, inet(0, 192, 0, 2, 1))).toThrow(expect.objectContaining({ errno: 99 }))
    const far = a.createId()
    expect(() => a.resolve(far, inet(1, 192, 0, 2, 1))).toThrow(expect.objectContaining({ errno: 22 }))
    expect(a.event()).toMatchObject({ type: 1, status: -19 })
  })

  it('of the form that old libraries send', () => {
    const own = a.createId()
    const bindIp = Buffer.alloc(40)
    bindIp.set(inet(0), 8)
    bindIp.writeUInt32LE(own, 36)
    a.send(2, bindIp)
    const { port } = listening()
    const resolveIp = Buffer.alloc(64)
    resolveIp.set(inet(port), 28)
    resolveIp.writeUInt32LE(own, 56)
    a.send(3, resolveIp)
    expect(a.types()).toEqual([0])
  })
})

describe('options', () => {
  const option = (id: number, level: number, name: number, value: Buffer): void => {
    const at = a.memory.put(value)
    const body = Buffer.alloc(24)
    body.writeBigUInt64LE(BigInt(at), 0)
    body.set(words(id, level, name, value.length), 8)
    a.send(14, body)
  }

  it('are taken, and show in attributes', () => {
    const { port } = listening()
    const own = a.createId()
    option(own, 0, 0, Buffer.of(32))
    option(own, 0, 1, words(1))
    // Without it that is 17.
    option(own, 0, 3, Buffer.of(21))
    a.resolve(own, inet(port))
    a.connect(own, connParam(71))
    const request = b.event()!
    b.accept(request.id, 1n, connParam(72))
    settle(door)
    expect(a.initQpAttr(own, 2).readUInt8(62)).toBe(32)
    expect(a.initQpAttr(own, 3).readUInt8(134)).toBe(21)
  })

  it('that are unknown or of a wrong size are errors', () => {
    const own = a.createId()
    const errno = (level: number, name: number, value: Buffer): number => {
      try {
        option(own, level, name, value)
      } catch (error) {
        return (error as { errno: number }).errno
      }
      return 0
    }
    expect([errno(0, 9, words(1)), errno(7, 0, words(1)), errno(0, 0, words(1)), errno(1, 1, words(1))]).toEqual([
      ...[38, 38, 22, 22],
    ])
  })
})

describe('commands', () => {
  const errno = (what: () => unknown): number => {
    try {
      what()
    } catch (error) {
      return (error as { errno: number }).errno
    }
    return 0
  }

  it('are checked in the order of the kernel', () => {
    const own = a.createId()
    expect(errno(() => a.file.write(a.call, a.memory.put(words(0)), 4))).toBe(22)
    expect(errno(() => a.file.write(a.call, 4096, 16))).toBe(14)
    expect(errno(() => a.send(99, Buffer.alloc(8)))).toBe(22)
    expect(errno(() => a.send(13, Buffer.alloc(8)))).toBe(38)
    expect(errno(() => a.send(0, Buffer.alloc(24), 4, 25))).toBe(22)
    expect(errno(() => a.send(0, Buffer.alloc(24), 3))).toBe(28)
    expect(errno(() => a.createId(0x999))).toBe(22)
    expect(errno(() => a.createId(0x13f, 1n, 9))).toBe(22)
    expect(errno(() => a.destroyId(12_345))).toBe(2)
    expect(errno(() => b.destroyId(own))).toBe(22)
    expect(errno(() => a.initQpAttr(own, 1))).toBe(22)
    expect(errno(() => a.initQpAttr(own, 6))).toBe(22)
    expect(errno(() => a.connect(own, connParam(71, '', 0)))).toBe(22)
    expect(errno(() => a.send(6, Buffer.alloc(279)))).toBe(22)
    expect(errno(() => a.send(10, words(own)))).toBe(22)
    expect(errno(() => a.bind(own, Buffer.of(77, 0, 0, 0)))).toBe(22)
    expect(errno(() => a.file.ioctl())).toBe(25)
    expect(errno(() => a.file.read())).toBe(22)
  })

  it('whose answer cannot be written have made nothing', () => {
    const body = Buffer.alloc(24)
    body.writeBigUInt64LE(1n, 0)
    body.writeBigUInt64LE(4096n, 8)
    body.writeUInt16LE(0x106, 16)
    expect(errno(() => a.send(0, body, 4))).toBe(14)
    const first = a.createId()
    expect(errno(() => a.destroyId(first - 1))).toBe(2)
  })
})
