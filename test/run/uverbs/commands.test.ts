/** Commands of the uverbs door, by both ABIs: answers, checks and their errnos. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Context } from '../../../src/index.ts'
import { Errno } from '../../../src/run/door.ts'
import type { UverbsDoor } from '../../../src/run/uverbs/index.ts'
import { openDoor, Program } from './program.ts'
import * as v from './verbs.ts'

let door: UverbsDoor
let context: Context
let program: Program
const programs: Program[] = []
/** How often the door has told of an old library. */
let told = 0
const another = (): Program => {
  const made = new Program(door, context)
  programs.push(made)
  return made
}

beforeEach(() => {
  told = 0
  const opened = openDoor(undefined, () => told++)
  door = opened.door
  context = opened.context
  program = another()
})
afterEach(() => {
  for (const made of programs.splice(0)) made.end()
  door.close()
  context.close()
})

const EPERM = 1
const ENOENT = 2
const EBADF = 9
const EFAULT = 14
const EBUSY = 16
const EINVAL = 22
const ENODATA = 61
const ENOTTY = 25
const ENOSPC = 28
const EPROTONOSUPPORT = 93
const EOPNOTSUPP = 95

/** The errno of what is thrown, and its reason. */
function failure(what: () => unknown): [number, string] {
  try {
    what()
  } catch (error) {
    if (error instanceof Errno) return [error.errno, error.reason]
    throw error
  }
  throw new Error('nothing was thrown')
}
const errno = (what: () => unknown): number => failure(what)[0]

describe('opening', () => {
  it('the probe of a library: INVOKE_WRITE without a request is ENOSPC, so that it goes on by ioctl', () => {
    expect(errno(() => program.ioctl(0, 0, [{ id: 2, value: 1, bytes: 4 }]))).toBe(ENOSPC)
  })

  it('by ioctl: vectors, and a descriptor for asynchronous events', () => {
    const { out, valid } = program.ioctl(0, 3, [
      { id: 0, out: 4 },
      { id: 1, out: 8 },
    ])
    expect(out.get(0)!.readUInt32LE(0)).toBe(1)
    expect(out.get(1)!.readBigUInt64LE(0)).toBe(1n)
    expect([...valid]).toEqual([0, 1])
    const fd = program.ioctl(16, 0, [{ id: 0, handle: -1 }]).handles.get(0)!
    expect(program.descriptors.has(fd)).toBe(true)
    expect(program.read(fd, 16)).toBeNull()
  })

  it('by write(2): the response has both', () => {
    const answer = program.write(0, Buffer.alloc(8), 8)
    expect(program.descriptors.has(answer.readInt32LE(0))).toBe(true)
    expect(answer.readUInt32LE(4)).toBe(1)
    const pd = program.write(3, Buffer.alloc(8), 4).readUInt32LE(0)
    program.write(4, v.words(pd))
  })

  it('by write(2): an old library is told of once for each file, and not where that fails', () => {
    expect(errno(() => program.write(0, Buffer.alloc(8), 4))).toBe(ENOSPC)
    expect(told).toBe(0)
    program.write(0, Buffer.alloc(8), 8)
    expect(told).toBe(1)
    for (let i = 0; i < 3; i++) expect(errno(() => program.write(0, Buffer.alloc(8), 8))).toBe(EINVAL)
    expect(told).toBe(1)
  })

  it('by write(2): none where the program has no number for the descriptor, or no memory for the response', () => {
    const { addDescriptor } = program.call
    program.call.addDescriptor = () => {
      throw new Errno(24, 'no more descriptors')
    }
    expect(errno(() => program.write(0, Buffer.alloc(8), 8))).toBe(24)
    program.call.addDescriptor = addDescriptor
    expect(errno(() => program.write(0, Buffer.alloc(8), 8, false))).toBe(14)
    expect(program.write(0, Buffer.alloc(8), 8).readUInt32LE(4)).toBe(1)
  })

  it('without a context nothing is served, and there is one for a file', () => {
    expect(errno(() => v.allocPd(program))).toBe(EINVAL)
    expect(
      errno(() =>
        program.ioctl(0, 2, [
          { id: 0, value: 1, bytes: 1 },
          { id: 1, out: 48 },
        ]),
      ),
    ).toBe(EINVAL)
    program.open()
    expect(errno(() => program.open())).toBe(EINVAL)
  })
})

describe('the kernel’s checks of write(2)', () => {
  beforeEach(() => program.open())
  const raw = (bytes: Buffer, length: number = bytes.length) =>
    program.file.write(program.call, program.memory.put(bytes), length)
  const header = (command: number, inWords: number, outWords: number, ...rest: number[]): Buffer => {
    const bytes = Buffer.alloc(8 + 4 * rest.length)
    bytes.writeUInt32LE(command >>> 0, 0)
    bytes.writeUInt16LE(inWords, 4)
    bytes.writeUInt16LE(outWords, 6)
    rest.forEach((word, i) => {
      bytes.writeUInt32LE(word >>> 0, 8 + 4 * i)
    })
    return bytes
  }

  it('lengths, commands and bits', () => {
    expect(errno(() => raw(Buffer.alloc(4)))).toBe(EINVAL)
    expect(errno(() => raw(header(3, 3, 1, 0, 0)))).toBe(EINVAL)
    expect(errno(() => raw(header(3, 3, 1, 0)))).toBe(ENOSPC)
    expect(errno(() => raw(header(3, 4, 0, 0, 0)))).toBe(ENOSPC)
    expect(errno(() => raw(header(3, 4, 1, 0, 0)))).toBe(EFAULT)
    expect(errno(() => raw(header(37, 2, 0)))).toBe(EOPNOTSUPP)
    expect(errno(() => raw(header(0x80000032, 2, 0)))).toBe(EOPNOTSUPP)
    expect(errno(() => raw(header(0x103, 4, 1, 0, 0)))).toBe(EINVAL)
    expect(errno(() => raw(header(3, 4, 1, 0xffffffff, 0xffffffff)))).toBe(EFAULT)
    expect(errno(() => program.file.write(program.call, 1, 16))).toBe(EFAULT)
  })

  it('an answer that cannot be written leaves nothing behind', () => {
    expect(errno(() => raw(header(3, 4, 1, 0, 0)))).toBe(EFAULT)
    expect(context.queryDevice().maxPd).toBeGreaterThan(0)
    expect(() => program.end()).not.toThrow()
    programs.splice(programs.indexOf(program), 1)
  })

  it('extended commands count in 8 bytes', () => {
    const room = program.memory.room(304)
    const bytes = Buffer.alloc(32)
    bytes.writeUInt32LE(0x80000001, 0)
    bytes.writeUInt16LE(1, 4)
    bytes.writeUInt16LE(304 / 8, 6)
    bytes.writeBigUInt64LE(BigInt(room), 8)
    expect(raw(bytes)).toBe(32)
    expect(program.memory.get(room, 304).readUInt32LE(180)).toBe(304)
    bytes.writeUInt16LE(2, 4)
    expect(errno(() => raw(bytes))).toBe(EINVAL)
    bytes.writeUInt16LE(1, 4)
    bytes.writeUInt32LE(1, 20)
    expect(errno(() => raw(bytes))).toBe(EINVAL)
    bytes.writeUInt32LE(0, 20)
    bytes.writeUInt16LE(8, 6)
    expect(errno(() => raw(bytes))).toBe(ENOSPC)
  })

  it('DESTROY_CQ of rdma-core 18 is two words short', () => {
    const pd = v.createCq(program, 4)
    const bytes = Buffer.alloc(16)
    bytes.writeUInt32LE(20, 0)
    bytes.writeUInt16LE(4, 4)
    bytes.writeUInt16LE(2, 6)
    expect(errno(() => raw(bytes))).toBe(ENOENT)
    v.destroyCq(program, pd)
  })
})

describe('the kernel’s checks of ioctl(2)', () => {
  beforeEach(() => program.open())

  it('requests, headers, drivers, methods and attributes', () => {
    expect(errno(() => program.file.ioctl(program.call, 0x5401, 0))).toBe(ENOTTY)
    expect(errno(() => program.file.ioctl(program.call, 0xc0181b01, 8))).toBe(EFAULT)
    expect(errno(() => program.ioctl(0, 3, [], 18))).toBe(EINVAL)
    expect(errno(() => program.ioctl(0, 9, []))).toBe(EPROTONOSUPPORT)
    expect(errno(() => program.ioctl(14, 0, []))).toBe(EPROTONOSUPPORT)
    expect(errno(() => program.ioctl(0, 4, [{ id: 7, value: 0, bytes: 4 }]))).toBe(EPROTONOSUPPORT)
    expect(program.ioctl(0, 4, [{ id: 7, value: 0, bytes: 4, optional: true }]).out.size).toBe(0)
    expect(
      errno(() =>
        program.ioctl(0, 4, [
          { id: 0, out: 4 },
          { id: 0, out: 4 },
        ]),
      ),
    ).toBe(EINVAL)
    expect(errno(() => program.ioctl(0, 4, [{ id: 0, out: 2 }]))).toBe(EINVAL)
    expect(errno(() => program.ioctl(1, 0, []))).toBe(EINVAL)
    expect(errno(() => program.ioctl(1, 0, [{ id: 0, handle: 4711 }]))).toBe(ENOENT)
    const header = Buffer.alloc(24)
    header.writeUInt16LE(25, 0)
    expect(errno(() => program.file.ioctl(program.call, 0xc0181b01, program.memory.put(header)))).toBe(EINVAL)
    header.writeUInt16LE(24, 0)
    header.writeUInt32LE(1, 20)
    expect(errno(() => program.file.ioctl(program.call, 0xc0181b01, program.memory.put(header)))).toBe(EPROTONOSUPPORT)
  })

  it('write commands in it', () => {
    expect(errno(() => program.invoke(37, Buffer.alloc(16)))).toBe(EOPNOTSUPP)
    expect(errno(() => program.invoke(0x400, Buffer.alloc(16)))).toBe(EINVAL)
    expect(errno(() => program.invoke(9, Buffer.alloc(36), 12))).toBe(ENOSPC)
    expect(errno(() => program.invoke(9, Buffer.alloc(40), 8))).toBe(ENOSPC)
    expect(errno(() => program.invoke(4, v.words(1, 1)))).toBe(EOPNOTSUPP)
    expect(errno(() => program.invoke(4, v.words(1)))).toBe(ENOENT)
    expect(failure(() => program.invoke(4, v.words(1)))[1]).toMatch(
      /^ibv_dealloc_pd: 1 is no handle of a protection domain/,
    )
  })
})

describe('queries', () => {
  beforeEach(() => program.open())

  it('device: what the adapter says, in both forms', () => {
    const attr = context.queryDevice()
    const [plain] = program.invoke(1, Buffer.alloc(8), 176)
    expect(plain.readBigUInt64BE(8)).toBe(attr.nodeGuid)
    expect(plain.readUInt32LE(52)).toBe(attr.maxQp)
    expect(plain.readUInt32LE(76)).toBe(attr.maxCqe)
    expect(plain.readUInt32LE(60) & (1 << 17)).not.toBe(0)
    expect(plain[171]).toBe(1)
    const [extended] = program.invoke(0x80000001, Buffer.alloc(8), 304)
    expect(extended.subarray(0, 176).equals(plain)).toBe(true)
    expect(extended.readUInt32LE(180)).toBe(304)
    expect(extended.readBigUInt64LE(224) & (1n << 38n)).not.toBe(0n)
    const [shorter] = program.invoke(0x80000001, Buffer.alloc(8), 200)
    expect(shorter.readUInt32LE(180)).toBe(200)
    expect(errno(() => program.invoke(0x80000001, v.words(1, 0), 304))).toBe(EINVAL)
  })

  it('port: InfiniBand, active, with a LID', () => {
    const { out } = program.ioctl(0, 2, [
      { id: 0, value: 1, bytes: 1 },
      { id: 1, out: 48 },
    ])
    const port = out.get(1)!
    expect(port.readUInt16LE(22)).toBe(context.queryPort(1).lid)
    expect([...port.subarray(26, 29)]).toEqual([4, 5, 5])
    expect([port[36], port[37], port.readUInt32LE(16)]).toEqual([5, 1, 16])
    const [byWrite] = program.invoke(2, v.request(Buffer.from([1, 0, 0, 0, 0, 0, 0, 0])), 40)
    expect(byWrite.equals(port.subarray(0, 40))).toBe(true)
    expect(
      errno(() =>
        program.ioctl(0, 2, [
          { id: 0, value: 2, bytes: 1 },
          { id: 1, out: 48 },
        ]),
      ),
    ).toBe(EINVAL)
  })

  it('GIDs: the table, an entry, and what there is not', () => {
    const gid = Buffer.from(context.queryGid(1, 0))
    const table = program.ioctl(0, 5, [
      { id: 0, value: 32, bytes: 8 },
      { id: 1, value: 0, bytes: 4 },
      { id: 2, out: 320 },
      { id: 3, out: 8 },
    ])
    expect(table.out.get(3)!.readBigUInt64LE(0)).toBe(1n)
    expect(table.out.get(2)!.subarray(0, 16).equals(gid)).toBe(true)
    const entry = (index: number, port = 1) =>
      program.ioctl(0, 6, [
        { id: 0, value: port, bytes: 4 },
        { id: 1, value: index, bytes: 4 },
        { id: 2, value: 0, bytes: 4 },
        { id: 3, out: 32 },
      ])
    expect(entry(0).out.get(3)!.subarray(0, 16).equals(gid)).toBe(true)
    expect(errno(() => entry(1))).toBe(ENODATA)
    expect(errno(() => entry(16))).toBe(EINVAL)
    expect(errno(() => entry(0, 2))).toBe(EINVAL)
  })
})

describe('memory', () => {
  let pd: number
  beforeEach(() => {
    program.open()
    pd = v.allocPd(program)
  })

  it('regions: rights, ranges, protection domains', () => {
    const { address: at } = program.buffer(8192)
    const reg = (start: number | bigint, length: number | bigint, va: number | bigint, of: number, access: number) =>
      program.invoke(9, v.request(v.long(start), v.long(length), v.long(va), v.words(of, access)), 12)
    expect(failure(() => reg(at, 8192, at, pd, 2))).toEqual([EINVAL, expect.stringContaining('IBV_ACCESS_LOCAL_WRITE')])
    expect(errno(() => reg(at, 8192, at, pd, 64 | 1))).toBe(EOPNOTSUPP)
    expect(errno(() => reg(at, 8192, at + 1, pd, 1))).toBe(EINVAL)
    expect(errno(() => reg(at, 8192, at, pd + 1, 1))).toBe(EINVAL)
    expect(errno(() => reg(at, 2n ** 63n, at, pd, 1))).toBe(EINVAL)
    expect(errno(() => reg(2 ** 45, 8192, 2 ** 45, pd, 1))).toBe(EFAULT)
    expect(errno(() => reg(2n ** 60n, 8192, 2n ** 60n, pd, 1))).toBe(EINVAL)
    // What may be left out is left out.
    const [answer] = reg(at, 8192, at, pd, 1 | 0x100000)
    const [lkey, rkey] = [answer.readUInt32LE(4), answer.readUInt32LE(8)]
    const query = program.ioctl(7, 3, [
      { id: 0, handle: answer.readUInt32LE(0) },
      ...[1, 2].map((id) => ({ id, out: 4 })),
      ...[3, 4].map((id) => ({ id, out: 8 })),
    ])
    expect([1, 2].map((id) => query.out.get(id)!.readUInt32LE(0))).toEqual([lkey, rkey])
    expect([3, 4].map((id) => query.out.get(id)!.readBigUInt64LE(0))).toEqual([8192n, BigInt(at)])
    expect(errno(() => v.destroy(program, 1, pd))).toBe(EBUSY)
    v.destroy(program, 7, answer.readUInt32LE(0))
    expect(errno(() => v.destroy(program, 7, answer.readUInt32LE(0)))).toBe(ENOENT)
    v.destroy(program, 1, pd)
  })

  it('rereg changes rights and protection domain, and moves nothing', () => {
    const mr = v.regMr(program, pd, 4096, 1)
    const rereg = (flags: number, of: number, access: number) =>
      program.invoke(11, v.request(v.words(mr.handle, flags), Buffer.alloc(24), v.words(of, access)), 8)[0]
    expect(rereg(4, 0, 7).readUInt32LE(0)).toBe(mr.lkey)
    const second = v.allocPd(program)
    rereg(2, second, 0)
    v.destroy(program, 1, pd)
    expect(errno(() => v.destroy(program, 1, second))).toBe(EBUSY)
    expect(errno(() => rereg(1, 0, 0))).toBe(EOPNOTSUPP)
    expect(errno(() => rereg(0, 0, 0))).toBe(EINVAL)
    expect(errno(() => rereg(4, 0, 2))).toBe(EINVAL)
  })

  it('windows, and address handles by number', () => {
    const mw = v.allocMw(program, pd, 2)
    expect(errno(() => v.allocMw(program, pd, 3))).toBe(EINVAL)
    expect(errno(() => v.destroy(program, 1, pd))).toBe(EBUSY)
    v.destroy(program, 8, mw.handle)
    const first = v.createAh(program, pd)
    const second = v.createAh(program, pd)
    expect([first, second]).toEqual([1, 2])
    const bytes = Buffer.alloc(56)
    bytes.writeUInt32LE(pd, 16)
    bytes[54] = 2
    expect(errno(() => program.invoke(5, bytes, 4, 8))).toBe(EINVAL)
  })
})

describe('queues', () => {
  let pd: number
  let cq: v.Cq
  beforeEach(() => {
    program.open()
    pd = v.allocPd(program)
    cq = v.createCq(program, 10)
  })

  it('a completion queue: sizes, vectors, channels', () => {
    expect(cq.cqe).toBe(15)
    expect(errno(() => v.createCq(program, 0))).toBe(EINVAL)
    expect(errno(() => v.createCq(program, 65_536))).toBe(EINVAL)
    expect(errno(() => v.createCq(program, 4, 9999))).toBe(EBADF)
    const create = (vector: number, flags: number, room = 16) =>
      program.invoke(0x80000012, Buffer.concat([v.long(1), v.words(4, vector, 0xffffffff, 0, flags, 0)]), 16, room)
    const [answer, driver] = create(0, 0)
    expect(answer.readUInt32LE(4)).toBe(7)
    expect(answer.readUInt32LE(12)).toBe(16)
    expect(program.map(driver).mask).toBe(7)
    expect(errno(() => create(1, 0))).toBe(EINVAL)
    expect(errno(() => create(0, 1))).toBe(EOPNOTSUPP)
    expect(errno(() => create(0, 0, 8))).toBe(EINVAL)
  })

  it('the descriptor of a channel may be a copy of it; another pipe is none', () => {
    const channel = v.createChannel(program)
    const events = program.ioctl(16, 0, [{ id: 0, handle: -1 }]).handles.get(0)!
    expect(errno(() => v.createCq(program, 4, events))).toBe(EBADF)
    const copy = program.call.addDescriptor(channel, false)
    expect(copy).not.toBe(channel)
    v.destroyCq(program, v.createCq(program, 4, copy))
  })

  it('a queue pair: types, limits, and what the provider gets', () => {
    const qp = v.createQp(program, pd, cq, cq, { sendWr: 10, recvWr: 20, sge: 2, inline: 100 })
    expect(qp.cap).toEqual({ sendWr: 10, recvWr: 20, sendSge: 6, recvSge: 2, inline: 100 })
    expect([qp.send.mask, qp.send.entryBytes, qp.recv.mask, qp.recv.entryBytes]).toEqual([15, 512, 31, 128])
    expect(failure(() => v.createQp(program, pd, cq, cq, { type: 8 }))).toEqual([
      EOPNOTSUPP,
      expect.stringContaining('IBV_QPT_RC'),
    ])
    expect(failure(() => v.createQp(program, pd, cq, cq, { sendWr: 16_385 }))).toEqual([
      EINVAL,
      'ibv_create_qp: cap.max_send_wr is 16385; the device allows 16384',
    ])
    expect(errno(() => v.createQp(program, pd, cq, cq, { inline: 513 }))).toBe(EINVAL)
    expect(errno(() => v.createQp(program, pd, { ...cq, handle: 1 }, cq))).toBe(ENOENT)
    expect(errno(() => v.destroyCq(program, cq))).toBe(EBUSY)
    expect(errno(() => v.destroy(program, 1, pd))).toBe(EBUSY)
    expect(v.destroyQp(program, qp)).toBe(0)
    expect(errno(() => v.destroyQp(program, qp))).toBe(ENOENT)
    expect(v.destroyCq(program, cq)).toEqual([0, 0])
  })

  it('a queue pair by write command, plain and extended', () => {
    const fields = [v.long(7), v.words(pd, cq.handle, cq.handle, 0, 4, 4, 1, 1, 0), Buffer.from([1, 2, 0, 0])]
    const [plain, driver] = program.invoke(24, v.request(...fields), 32, 32)
    expect(program.map(driver.subarray(16, 32)).mask).toBe(7)
    const [state] = program.invoke(25, v.request(v.words(plain.readUInt32LE(0), 1)), 128)
    expect([state[108], state[122], state.readUInt32LE(64)]).toEqual([0, 1, 7])
    const [extended] = program.invoke(0x80000018, Buffer.concat([...fields, v.words(0, 0, 0, 0)]), 40, 32)
    expect(extended.readUInt32LE(36)).toBe(40)
    expect(errno(() => program.invoke(0x80000018, Buffer.concat([...fields, v.words(0, 2, 0, 0)]), 40, 32))).toBe(
      EOPNOTSUPP,
    )
    expect(errno(() => program.invoke(0x80000018, Buffer.concat([...fields, v.words(1, 0, 0, 0)]), 40, 32))).toBe(
      EINVAL,
    )
    program.write(27, v.request(v.words(plain.readUInt32LE(0), 0)), 4)
    program.write(27, v.request(v.words(extended.readUInt32LE(0), 0)), 4)
  })

  it('an SRQ: types and limits', () => {
    const srq = v.createSrq(program, pd, 10, 2)
    expect(srq.queue.mask).toBe(15)
    const qp = v.createQp(program, pd, cq, cq, { srq })
    expect(qp.cap.recvWr).toBe(0)
    expect(errno(() => v.destroy(program, 5, srq.handle))).toBe(EBUSY)
    v.destroyQp(program, qp)
    expect(v.destroy(program, 5, srq.handle)).toBe(0)
    expect(errno(() => v.createSrq(program, pd, 0))).toBe(EINVAL)
    expect(errno(() => v.createSrq(program, pd, 4, 33))).toBe(EINVAL)
    expect(errno(() => v.createSrq(program, pd, 4, 1, 5))).toBe(EINVAL)
    const xsrq = (type: number) =>
      program.invoke(39, v.request(v.long(1), v.words(type, pd, 4, 1, 0), Buffer.alloc(12)), 16, 24)
    expect(errno(() => xsrq(1))).toBe(EOPNOTSUPP)
    v.destroy(program, 5, xsrq(0)[0].readUInt32LE(0))
  })

  it('the memory of the queues of a file is limited, and comes back', () => {
    const large = () => v.createQp(program, pd, cq, cq, { sendWr: 16_384, recvWr: 0, sge: 32 })
    const qps: v.Qp[] = []
    const [code, reason] = failure(() => {
      for (;;) qps.push(large())
    })
    expect([code, reason]).toEqual([12, expect.stringContaining('268435456')])
    expect(qps.length).toBeGreaterThan(5)
    for (const qp of qps) v.destroyQp(program, qp)
    v.destroyQp(program, large())
  })

  it('handles of another file are handles of nothing', () => {
    const other = another()
    other.open()
    expect(errno(() => v.destroy(other, 1, pd))).toBe(ENOENT)
    expect(errno(() => v.createQp(other, pd, cq, cq))).toBe(ENOENT)
  })

  it('all of a file goes when it is closed', () => {
    const other = another()
    other.open()
    const theirs = v.allocPd(other)
    const channel = v.createChannel(other)
    const theirCq = v.createCq(other, 4, channel)
    const srq = v.createSrq(other, theirs, 4)
    v.createQp(other, theirs, theirCq, theirCq, { srq })
    v.regMr(other, theirs, 4096)
    v.allocMw(other, theirs, 1)
    v.createAh(other, theirs)
    other.file.closed()
    other.file.rung()
    door.progress()
  })
})

describe('states', () => {
  let pd: number
  let cq: v.Cq
  let qp: v.Qp
  beforeEach(() => {
    program.open()
    pd = v.allocPd(program)
    cq = v.createCq(program, 10)
    qp = v.createQp(program, pd, cq, cq)
  })

  it('what a transition lacks or does not take is named', () => {
    expect(failure(() => v.modify(program, qp, 1, { state: 2 }))[1]).toMatch(
      /^ibv_modify_qp: RC from RESET to RTR is no transition/,
    )
    expect(failure(() => v.modify(program, qp, 1, { state: 1 }))[1]).toBe(
      'ibv_modify_qp: RC from RESET to INIT needs IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX, IBV_QP_PORT; attr_mask lacks it',
    )
    v.toInit(program, qp)
    expect(failure(() => v.modify(program, qp, 0x121101, { state: 2, mtu: 3 }))).toEqual([
      EINVAL,
      'ibv_modify_qp: RC from INIT to RTR needs IBV_QP_AV, IBV_QP_MIN_RNR_TIMER; attr_mask lacks it',
    ])
    expect(failure(() => v.modify(program, qp, 0x79, { state: 1 }))[1]).toMatch(/does not take IBV_QP_QKEY/)
    expect(failure(() => v.modify(program, qp, 0x200001, { state: 1 }))[1]).toMatch(/bits 0x200000/)
    expect(errno(() => v.modify(program, qp, 1, { state: 7 }))).toBe(EINVAL)
    expect(errno(() => v.modify(program, qp, 0x39, { state: 1, port: 9 }))).toBe(EINVAL)
    expect(v.queryState(program, qp)).toBe(1)
  })

  it('a privileged Q_Key is EPERM', () => {
    const ud = v.createQp(program, pd, cq, cq, { type: 4 })
    expect(errno(() => v.modify(program, ud, 0x71, { state: 1, port: 1, qkey: 0x80000000 }))).toBe(EPERM)
  })

  it('all attributes come back as they were given', () => {
    v.connect(program, qp, qp.number)
    const [attr] = program.invoke(25, v.request(v.words(qp.handle, 0)), 128)
    expect(attr.readUInt32LE(96)).toBe(qp.number)
    expect(attr.readUInt32LE(100)).toBe(0x10f)
    expect([...attr.subarray(108, 111)]).toEqual([3, 3, 3])
    expect([...attr.subarray(113, 120)]).toEqual([4, 4, 1, 1, 14, 7, 7])
    expect(attr.readUInt16LE(20)).toBe(context.queryPort(1).lid)
  })

  it('RATE_LIMIT is not supported, other things go by the extended form, too', () => {
    const extended = (mask: number, state: number): Buffer => {
      const bytes = v.modifyRequest(qp.handle, mask, { state, port: 1, access: 1 })
      return program.invoke(0x8000001a, Buffer.concat([bytes, Buffer.alloc(8)]), 8)[0]
    }
    expect(errno(() => extended(1 << 25, 0))).toBe(EOPNOTSUPP)
    expect(extended(0x39, 1).readUInt32LE(4)).toBe(8)
    expect(v.queryState(program, qp)).toBe(1)
  })
})
