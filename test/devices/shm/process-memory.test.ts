/** Regions in memory of other processes: every operation between every two places, and what becomes of memory that has gone. */
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  Access,
  defaultQkey,
  EventType,
  endpointOf,
  FlushPlacement,
  faults,
  MwType,
  Opcode,
  openDevice,
  pathTo,
  QpState,
  QpType,
  ReregFlag,
  SendFlag,
  WcFlag,
  WcStatus,
} from '../../../src/index.ts'
import { nativeAvailable, nativeReason } from '../../../src/memory/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { endMemoryProcesses, MemoryProcess } from '../../memory/memory-process.ts'
import { allAccess, connectSides, type Place, Side, type SideOptions, sge } from './process-rig.ts'
import { until } from './rig.ts'

describe.skipIf(nativeAvailable)(`regions of other processes: ${nativeReason}`, () => {
  it.skip('needs the native layer', () => {})
})

const lengthBytes = 512 << 10
const places = ['segment', 'first', 'second'] as const
type PlaceName = (typeof places)[number]
const pairs = places.flatMap((from) => places.map((to) => ({ from, to })))
const name = `process-memory-${process.pid}`
const pattern = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (i * 7 + (i >> 8) * 13 + seed) & 0xff)

/** The bytes at an offset are these. `toEqual` would take a millisecond for each ten thousand. */
function holds(place: Place, offset: number, expected: (number | Uint8Array)[]): void {
  const bytes = Buffer.concat(expected.map((one) => (typeof one === 'number' ? Uint8Array.of(one) : one)))
  const found = Buffer.from(place.peek(offset, bytes.length))
  if (!found.equals(bytes)) expect([...found]).toEqual([...bytes])
}

let first: MemoryProcess
let second: MemoryProcess
beforeAll(async () => {
  if (nativeAvailable)
    [first, second] = await Promise.all([MemoryProcess.start(lengthBytes), MemoryProcess.start(lengthBytes)])
})
afterAll(async () => {
  await endMemoryProcesses()
  rmSync(`/dev/shm/verbena-${name}`, { force: true })
})

describe.skipIf(!nativeAvailable)('a region of a process that has executed something else', () => {
  it('is not there, though the new image has the same addresses', async () => {
    const contexts = [openDevice('shm0'), openDevice('shm1')]
    const [a, b] = [new Side(contexts[0]!), new Side(contexts[1]!)] as const
    connectSides(a, b)
    // The top of the stack is the same page in both: addresses are not random.
    const shell = spawn('setarch', ['-R', 'sh', '-c', 'read line; exec sleep 60'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const executes = (name: string): boolean => readFileSync(`/proc/${shell.pid}/comm`, 'latin1') === `${name}\n`
    try {
      await expect.poll(() => executes('sh')).toBe(true)
      const stack = /^[0-9a-f]+-([0-9a-f]+) .*\[stack\]$/m.exec(readFileSync(`/proc/${shell.pid}/maps`, 'latin1'))!
      const range = { pid: shell.pid!, address: Number.parseInt(stack[1]!, 16) - 4096, length: 4096 }
      const mr = b.adopt(b.pd.regProcessMr(range, allAccess))
      const to = a.inSegment(4096)
      const read = (remoteAddr: number, rkey: number): void =>
        a.qp.postSend({
          ...{ opcode: Opcode.Read, sendFlags: SendFlag.Signaled, sgList: [sge(to, 0, 4096)] },
          ...{ remoteAddr, rkey },
        })
      read(range.address, mr.rkey)
      a.sent()
      expect(Buffer.from(to.peek(0, 4096)).toString('latin1')).toContain('exec sleep 60')
      shell.stdin.write('go\n')
      await expect.poll(() => executes('sleep')).toBe(true)
      read(range.address, mr.rkey)
      await expect.poll(() => a.completions(a.sendCq)).toMatchObject([{ status: WcStatus.RetryExcErr }])
      // What it executes now is another process for who registers it.
      const again = b.adopt(b.pd.regProcessMr(range, allAccess))
      for (const { qp } of [a, b]) qp.modify({ state: QpState.Reset })
      connectSides(a, b)
      read(range.address, again.rkey)
      a.sent()
    } finally {
      shell.kill('SIGKILL')
      for (const side of [a, b]) side.close()
      for (const context of contexts) context.close()
    }
  })
})

describe.skipIf(!nativeAvailable).each([{ device: ['shm0', 'shm1'] }, { device: [`shm:${name}`, `shm:${name}/1`] }])(
  'on $device.0',
  ({ device }) => {
    const contexts = device.map((one) => openDevice(one))
    afterAll(() => {
      for (const context of contexts) context.close()
    })

    let a: Side
    let b: Side
    afterEach(() => {
      a.close()
      b.close()
    })

    function make(options: SideOptions = {}): void {
      a = new Side(contexts[0]!, options)
      b = new Side(contexts[1]!, options)
      connectSides(a, b)
    }

    /** A region of a side in this place; what it writes to is half of it, so that two of them in one process do not meet. */
    function placed(side: Side, where: PlaceName): Place {
      if (where === 'segment') return side.inSegment(lengthBytes)
      return side.inProcess(where === 'first' ? first : second)
    }

    /** Where the sides have their bytes. */
    const half = lengthBytes / 2

    describe.each(pairs)('from $from to $to', ({ from, to }) => {
      it.each([1, 8, 513, 70_000, 200_001])('SEND of %i bytes', (length) => {
        make()
        const [source, target] = [placed(a, from), placed(b, to)]
        const bytes = pattern(length, 3)
        source.poke(5, bytes)
        target.poke(half + 2, new Uint8Array(length + 1))
        b.postRecv({ wrId: 7, sgList: [sge(target, half + 2, length + 1)] })
        a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge(source, 5, length)] })
        a.sent()
        expect(b.received()).toMatchObject({ wrId: 7, byteLen: length })
        holds(target, half + 2, [bytes, 0])
      })

      it.each([1, 7, 8, 24, 513, 70_000, 200_001])('WRITE of %i bytes, and with immediate', (length) => {
        make()
        const [source, target] = [placed(a, from), placed(b, to)]
        for (const opcode of [Opcode.Write, Opcode.WriteWithImm]) {
          const bytes = pattern(length, opcode)
          source.poke(9, bytes)
          target.poke(half, new Uint8Array(length + 4))
          if (opcode === Opcode.WriteWithImm) b.postRecv({ wrId: 4, sgList: [] })
          a.qp.postSend({
            opcode,
            sendFlags: SendFlag.Signaled,
            sgList: [sge(source, 9, length)],
            remoteAddr: target.mr.addr + half + 3,
            rkey: target.mr.rkey,
            immData: 99,
          } as never)
          a.sent()
          if (opcode === Opcode.WriteWithImm) expect(b.received()).toMatchObject({ immData: 99, byteLen: length })
          holds(target, half, [0, 0, 0, bytes, 0])
        }
      })

      it.each([1, 8, 70_000, 200_001])('READ of %i bytes', (length) => {
        make()
        const [own, remote] = [placed(a, to), placed(b, from)]
        const bytes = pattern(length, 11)
        remote.poke(half + 1, bytes)
        own.poke(0, new Uint8Array(length + 1))
        a.qp.postSend({
          opcode: Opcode.Read,
          sendFlags: SendFlag.Signaled,
          sgList: [sge(own, 0, length)],
          remoteAddr: remote.mr.addr + half + 1,
          rkey: remote.mr.rkey,
        })
        expect(a.sent()).toMatchObject({ byteLen: length })
        holds(own, 0, [bytes, 0])
      })

      it('atomics and ATOMIC_WRITE', () => {
        make()
        const [own, remote] = [placed(a, from), placed(b, to)]
        const word = (place: Place, offset: number): bigint =>
          new DataView(Uint8Array.from(place.peek(offset, 8)).buffer).getBigUint64(0, true)
        const set = (place: Place, offset: number, value: bigint): void => {
          const bytes = new Uint8Array(8)
          new DataView(bytes.buffer).setBigUint64(0, value, true)
          place.poke(offset, bytes)
        }
        const post = (more: object): void => {
          a.qp.postSend({
            sendFlags: SendFlag.Signaled,
            sgList: [sge(own, 16, 8)],
            remoteAddr: remote.mr.addr + half + 8,
            rkey: remote.mr.rkey,
            ...more,
          } as never)
          a.sent()
        }
        set(remote, half + 8, 0xffff_ffff_0000_0001n)
        post({ opcode: Opcode.AtomicFetchAndAdd, compareAdd: 0x1_0000_0002n })
        expect([word(own, 16), word(remote, half + 8)]).toEqual([0xffff_ffff_0000_0001n, 3n])
        post({ opcode: Opcode.AtomicCmpAndSwp, compareAdd: 4n, swap: 5n })
        expect([word(own, 16), word(remote, half + 8)]).toEqual([3n, 3n])
        post({ opcode: Opcode.AtomicCmpAndSwp, compareAdd: 3n, swap: 6n })
        expect([word(own, 16), word(remote, half + 8)]).toEqual([3n, 6n])
        set(own, 16, 0x123456789abcdefn)
        post({ opcode: Opcode.AtomicWrite })
        expect(word(remote, half + 8)).toBe(0x123456789abcdefn)
        post({ opcode: Opcode.Flush, sgList: [], flushLength: 8, placement: FlushPlacement.Global, selectivity: 0 })
      })

      it.each([false, true])('datagrams, with a GRH: %s', (withGrh) => {
        make({ type: QpType.UD })
        const [source, target] = [placed(a, from), placed(b, to)]
        const bytes = pattern(300, 5)
        source.poke(1, bytes)
        for (const pieces of [[400], [10, 50, 340]]) {
          target.poke(half, new Uint8Array(400).fill(0xee))
          const offsets = pieces.map((_, i) => pieces.slice(0, i).reduce((sum, length) => sum + length, half))
          b.postRecv({ sgList: pieces.map((length, i) => sge(target, offsets[i]!, length)) })
          const { dlid, portNum, grh } = pathTo(endpointOf(b.qp))
          const ah = a.pd.createAh({ dlid: dlid!, portNum: portNum!, ...(withGrh ? { grh: grh! } : {}) })
          a.qp.postSend({
            opcode: Opcode.SendWithImm,
            immData: 12,
            sendFlags: SendFlag.Signaled,
            sgList: [sge(source, 1, 100), sge(source, 101, 200)],
            ah,
            remoteQpn: b.qp.qpNum,
            remoteQkey: defaultQkey,
          } as never)
          ah.close()
          a.sent()
          const wc = b.received()
          expect(wc).toMatchObject({ byteLen: 340, immData: 12, srcQp: a.qp.qpNum })
          expect((wc.wcFlags & WcFlag.Grh) !== 0).toBe(withGrh)
          expect([...target.peek(half + 40, 301)]).toEqual([...bytes, 0xee])
          if (withGrh) expect([...target.peek(half, 1)]).toEqual([0x60])
        }
      })

      it('UC', () => {
        make({ type: QpType.UC })
        const [source, target] = [placed(a, from), placed(b, to)]
        source.poke(0, pattern(100, 1))
        b.postRecv({ sgList: [sge(target, half, 100)] })
        a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge(source, 0, 100)] })
        a.sent()
        b.received()
        expect([...target.peek(half, 100)]).toEqual([...pattern(100, 1)])
      })
    })

    it('inline data goes to another process', () => {
      make()
      const [source, target] = [placed(a, 'segment'), placed(b, 'first')]
      source.poke(0, [1, 2, 3])
      for (const opcode of [Opcode.Send, Opcode.Write]) {
        target.poke(half, [0, 0, 0, 0])
        if (opcode === Opcode.Send) b.postRecv({ sgList: [sge(target, half, 4)] })
        a.qp.postSend({
          opcode,
          sendFlags: SendFlag.Signaled | SendFlag.Inline,
          sgList: [sge(source, 0, 3)],
          remoteAddr: target.mr.addr + half,
          rkey: target.mr.rkey,
        } as never)
        a.sent()
        if (opcode === Opcode.Send) b.received()
        expect([...target.peek(half, 4)]).toEqual([1, 2, 3, 0])
      }
    })

    it('a connection that was fast before finds regions of other processes, and is fast again after', () => {
      make()
      const [source, near, far] = [placed(a, 'segment'), placed(b, 'segment'), placed(b, 'first')]
      for (let i = 0; i < 100; i++) {
        const target = i % 10 === 9 ? far : near
        source.poke(0, pattern(16, i))
        b.postRecv({ sgList: [sge(target, 0, 16)] })
        a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge(source, 0, 16)] })
        a.sent()
        b.received()
        expect([...target.peek(0, 16)]).toEqual([...pattern(16, i)])
      }
    })

    describe('what is forbidden', () => {
      const fails = (side: Place, more: object, status: number, own: Place): void => {
        a.qp.postSend({
          opcode: Opcode.Write,
          sendFlags: SendFlag.Signaled,
          sgList: [sge(own, 0, 8)],
          remoteAddr: side.mr.addr,
          rkey: side.mr.rkey,
          ...more,
        } as never)
        a.sent(status)
      }

      it.each<{ what: string; more: (place: Place) => object }>([
        { what: 'before the region', more: ({ mr }) => ({ remoteAddr: mr.addr - 1 }) },
        { what: 'beyond its end', more: ({ mr }) => ({ remoteAddr: mr.addr + mr.length - 7 }) },
        { what: 'another key', more: ({ mr }) => ({ rkey: mr.rkey ^ 1 }) },
        { what: 'without the right', more: () => ({ opcode: Opcode.AtomicFetchAndAdd, compareAdd: 1n }) },
      ])('remote: $what', ({ more }) => {
        make()
        const own = placed(a, 'segment')
        const place = b.inProcess(first, Access.LocalWrite | Access.RemoteWrite)
        const before = place.peek(0, 8)
        fails(place, more(place), WcStatus.RemAccessErr, own)
        expect(b.context.pollAsyncEvent()).toMatchObject({ type: EventType.QpAccessErr })
        expect([a.qp.state, b.qp.state]).toEqual([QpState.Err, QpState.Err])
        expect([...place.peek(0, 8)]).toEqual([...before])
      })

      it.each<{ what: string; bad: (place: Place) => object }>([
        { what: 'beyond the end', bad: ({ mr }) => ({ addr: mr.addr + mr.length - 7, length: 8, lkey: mr.lkey }) },
        { what: 'another key', bad: ({ mr }) => ({ addr: mr.addr, length: 8, lkey: mr.lkey ^ 1 }) },
      ])('local: $what', ({ bad }) => {
        make()
        const own = a.inProcess(first)
        const remote = placed(b, 'segment')
        fails(remote, { sgList: [bad(own)] }, WcStatus.LocProtErr, own)
      })

      it('a READ into a region without LocalWrite', () => {
        make()
        const own = a.inProcess(first, 0)
        fails(placed(b, 'segment'), { opcode: Opcode.Read }, WcStatus.LocProtErr, own)
      })

      it('a region of another protection domain', () => {
        make()
        const own = placed(a, 'segment')
        fails(a.inProcess(first), {}, WcStatus.RemAccessErr, own)
        b.context.pollAsyncEvent()
      })

      it('a receive in a region without LocalWrite', () => {
        make()
        const [own, target] = [placed(a, 'first'), b.inProcess(second, 0)]
        b.postRecv({ sgList: [sge(target, 0, 8)] })
        a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge(own, 0, 8)] })
        a.sent(WcStatus.RemOpErr)
        b.received(WcStatus.LocProtErr)
      })
    })

    it('a region is closed, and changed, as any other', () => {
      make()
      const own = placed(a, 'segment')
      const place = b.inProcess(first, Access.LocalWrite)
      const write = (status: number, remoteAddr: number): void => {
        a.qp.postSend({
          opcode: Opcode.Write,
          sendFlags: SendFlag.Signaled,
          sgList: [sge(own, 0, 4)],
          remoteAddr,
          rkey: place.mr.rkey,
        })
        a.sent(status)
      }
      own.poke(0, [4, 3, 2, 1])
      place.mr.rereg(ReregFlag.ChangeAccess, { access: allAccess })
      write(WcStatus.Success, place.mr.addr + 8)
      expect([...first.peek(8, 4)]).toEqual([4, 3, 2, 1])
      second.poke(24, Uint8Array.of(0, 0, 0, 0))
      place.mr.rereg(ReregFlag.ChangeTranslation, {
        process: { pid: second.pid, address: second.address + 16, length: 64 },
        iova: 5000,
      })
      expect([place.mr.addr, place.mr.length]).toEqual([5000, 64])
      write(WcStatus.Success, 5008)
      expect([...second.peek(24, 4)]).toEqual([4, 3, 2, 1])
      const pd = b.adopt(b.context.allocPd())
      place.mr.rereg(ReregFlag.ChangePd, { pd })
      place.mr.rereg(ReregFlag.ChangePd, { pd: b.pd })
      write(WcStatus.Success, 5008)
      const buffer = b.inSegment(64)
      place.mr.rereg(ReregFlag.ChangeTranslation, { buffer: { addr: buffer.mr.addr, length: 64 } })
      write(WcStatus.Success, buffer.mr.addr)
      expect([...buffer.peek(0, 4)]).toEqual([4, 3, 2, 1])
      place.mr.close()
      write(WcStatus.RemAccessErr, buffer.mr.addr)
      b.context.pollAsyncEvent()
    })

    it('a region is discarded without taking memory of the segment along', () => {
      make()
      const mr = b.pd.regProcessMr(first.range, allAccess)
      mr.discard()
      expect(mr.closed).toBe(true)
    })

    it.each([MwType.Type1, MwType.Type2])('a window of type %i', (type) => {
      make()
      const own = placed(a, 'second')
      const place = b.inProcess(first)
      const mw = b.adopt(b.pd.allocMw(type))
      const bound = { mr: place.mr, addr: place.mr.addr + 64, length: 16, accessFlags: Access.RemoteWrite }
      if (type === MwType.Type1) b.qp.bindMw(mw, bound)
      else {
        const rkey = mw.rkey + ((mw.rkey & 0xff) === 0xff ? -1 : 1)
        b.qp.postSend({ opcode: Opcode.BindMw, sendFlags: SendFlag.Signaled, bindMw: { mw, rkey, ...bound } } as never)
        mw.rkey = rkey
      }
      b.sent()
      const write = (status: number, offset: number): void => {
        a.qp.postSend({
          opcode: Opcode.Write,
          sendFlags: SendFlag.Signaled,
          sgList: [sge(own, 0, 4)],
          remoteAddr: place.mr.addr + offset,
          rkey: mw.rkey,
        })
        a.sent(status)
      }
      expect(() => place.mr.close()).toThrow(/EBUSY/)
      own.poke(0, [9, 9, 9, 1])
      write(WcStatus.Success, 76)
      expect([...first.peek(76, 4)]).toEqual([9, 9, 9, 1])
      if (type === MwType.Type2) {
        b.qp.postSend({ opcode: Opcode.LocalInv, sendFlags: SendFlag.Signaled, invalidateRkey: mw.rkey })
        b.sent()
        write(WcStatus.RemAccessErr, 76)
      } else write(WcStatus.RemAccessErr, 77)
      b.context.pollAsyncEvent()
      mw.close()
    })

    it('a window that a SEND_WITH_INV closes', () => {
      make()
      const own = placed(a, 'second')
      const place = b.inProcess(first)
      const mw = b.adopt(b.pd.allocMw(MwType.Type2))
      const rkey = (mw.rkey & ~0xff) | ((mw.rkey + 1) & 0xff)
      b.qp.postSend({
        opcode: Opcode.BindMw,
        sendFlags: SendFlag.Signaled,
        bindMw: {
          mw,
          rkey: rkey >>> 0,
          mr: place.mr,
          addr: place.mr.addr,
          length: 16,
          accessFlags: Access.RemoteWrite,
        },
      } as never)
      b.sent()
      b.postRecv({ sgList: [sge(place, 32, 8)] })
      a.qp.postSend({
        opcode: Opcode.SendWithInv,
        sendFlags: SendFlag.Signaled,
        invalidateRkey: rkey >>> 0,
        sgList: [sge(own, 0, 8)],
      })
      a.sent()
      expect(b.received().wcFlags & WcFlag.WithInv).toBe(WcFlag.WithInv)
      mw.close()
    })

    describe('memory that has gone', () => {
      let third: MemoryProcess
      const page = 4096
      const size = 64 * page
      let ends = false
      const end = async (): Promise<void> => (ends ? await third.end() : third.forget())
      afterEach(end)

      async function start(options: SideOptions = {}): Promise<void> {
        make(options)
        third = ends ? await MemoryProcess.start(size) : await first.another(size)
      }

      /** The send fails with this status where the peer answers; once its process has ended, nobody does. */
      async function rejected(dies: boolean, status: number): Promise<void> {
        if (!dies) {
          a.sent(status)
          return
        }
        const statuses: number[] = []
        await until('a completion', () => {
          for (const { status } of a.completions(a.sendCq)) statuses.push(status)
          return statuses.length > 0
        })
        expect(statuses).toEqual([WcStatus.RetryExcErr])
        expect([a.qp.state, b.qp.state]).toEqual([QpState.Err, QpState.Err])
        expect(b.context.pollAsyncEvent()?.type).not.toBe(EventType.QpAccessErr)
      }

      const goes: { how: string; dies: boolean; go: (from: number) => Promise<void> }[] = [
        { how: 'is unmapped', dies: false, go: (from) => third.unmap(from, size - from) },
        { how: 'ends with its process', dies: true, go: () => third.end() },
      ]

      // Short messages are fetched before anything happens, long ones while they are delivered.
      const lengths = [2 * page, 40 * page]

      // Processes take long to start: once will do.
      describe.each(device[0] === 'shm0' ? goes : goes.slice(0, 1))('$how', ({ go, dies }) => {
        beforeAll(() => {
          ends = dies
        })

        it.each(lengths)('at the sender, %i bytes', async (length) => {
          await start()
          const [own, target] = [a.inProcess(third), placed(b, 'segment')]
          b.postRecv({ wrId: 1, sgList: [sge(target, 0, length)] })
          await go(page)
          a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge(own, 0, length)] })
          a.sent(WcStatus.LocProtErr)
          expect([a.qp.state, b.qp.state]).toEqual([QpState.Err, QpState.Rts])
          b.nothingReceived()
        })

        it.each(lengths)('at the sender, %i bytes, to an SRQ', async (length) => {
          await start({ srq: 'plain' })
          const [own, target] = [a.inProcess(third), placed(b, 'segment')]
          b.postRecv({ wrId: 1, sgList: [sge(target, 0, length)] })
          await go(page)
          a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge(own, 0, length)] })
          a.sent(WcStatus.LocProtErr)
          // A receive that is gone from the SRQ comes back; of a process that has ended it is known before one is taken.
          if (length > 65_536 && !dies) expect(b.received(WcStatus.WrFlushErr)).toMatchObject({ wrId: 1 })
          else b.nothingReceived()
          b.context.pollAsyncEvent()
        })

        it.each(lengths)('at the receiver, %i bytes', async (length) => {
          await start()
          const [own, target] = [placed(a, 'segment'), b.inProcess(third)]
          b.postRecv({ wrId: 2, sgList: [sge(target, 0, length)] })
          b.postRecv({ wrId: 3, sgList: [sge(target, 0, length)] })
          await go(page)
          a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge(own, 0, length)] })
          await rejected(dies, WcStatus.RemOpErr)
          expect(b.completions(b.recvCq)).toMatchObject([
            { wrId: 2, status: dies ? WcStatus.WrFlushErr : WcStatus.LocProtErr },
            { wrId: 3, status: WcStatus.WrFlushErr },
          ])
          expect([a.qp.state, b.qp.state]).toEqual([QpState.Err, QpState.Err])
        })

        it.each(lengths)('at the target of a WRITE, with immediate too, %i bytes', async (length) => {
          for (const opcode of [Opcode.Write, Opcode.WriteWithImm]) {
            await start({ srq: 'plain' })
            const [own, target] = [placed(a, 'first'), b.inProcess(third)]
            b.postRecv({ wrId: 5, sgList: [] })
            await go(page)
            a.qp.postSend({
              opcode,
              sendFlags: SendFlag.Signaled,
              sgList: [sge(own, 0, length)],
              remoteAddr: target.mr.addr,
              rkey: target.mr.rkey,
              immData: 1,
            } as never)
            await rejected(dies, WcStatus.RemAccessErr)
            b.nothingReceived()
            if (!dies) expect(b.context.pollAsyncEvent()).toMatchObject({ type: EventType.QpAccessErr })
            expect([a.qp.state, b.qp.state]).toEqual([QpState.Err, QpState.Err])
            while (b.context.pollAsyncEvent() !== null);
            if (opcode === Opcode.Write) {
              a.close()
              b.close()
              await end()
            }
          }
        })

        it.each(lengths)('at either end of a READ, %i bytes', async (length) => {
          for (const where of ['source', 'target']) {
            await start()
            const [own, remote] =
              where === 'source' ? [placed(a, 'first'), b.inProcess(third)] : [a.inProcess(third), placed(b, 'first')]
            await go(page)
            a.qp.postSend({
              opcode: Opcode.Read,
              sendFlags: SendFlag.Signaled,
              sgList: [sge(own, 0, length)],
              remoteAddr: remote.mr.addr,
              rkey: remote.mr.rkey,
            })
            if (where === 'source') await rejected(dies, WcStatus.RemAccessErr)
            else a.sent(WcStatus.LocProtErr)
            const event = b.context.pollAsyncEvent()
            if (where === 'source' && !dies) expect(event).toMatchObject({ type: EventType.QpAccessErr })
            else expect(event).toBe(null)
            if (where === 'source') {
              a.close()
              b.close()
              await end()
            }
          }
        })

        it('at the target of an atomic, and where the old value goes', async () => {
          for (const where of ['target', 'own']) {
            await start()
            const [own, remote] =
              where === 'target' ? [placed(a, 'first'), b.inProcess(third)] : [a.inProcess(third), placed(b, 'first')]
            await go(0)
            a.qp.postSend({
              opcode: Opcode.AtomicFetchAndAdd,
              compareAdd: 1n,
              sendFlags: SendFlag.Signaled,
              sgList: [sge(own, 0, 8)],
              remoteAddr: remote.mr.addr,
              rkey: remote.mr.rkey,
            })
            if (where === 'target') await rejected(dies, WcStatus.RemAccessErr)
            else a.sent(WcStatus.LocProtErr)
            b.context.pollAsyncEvent()
            if (where === 'target') {
              a.close()
              b.close()
              await end()
            }
          }
        })

        it('of datagrams', async () => {
          await start({ type: QpType.UD })
          const [own, target] = [placed(a, 'segment'), b.inProcess(third)]
          const lost = a.inProcess(third)
          b.postRecv({ wrId: 6, sgList: [sge(target, 0, 100)] })
          await go(0)
          const ah = a.pd.createAh(pathTo(endpointOf(b.qp)))
          const post = (from: Place): void =>
            a.qp.postSend({
              opcode: Opcode.Send,
              sendFlags: SendFlag.Signaled,
              sgList: [sge(from, 0, 20)],
              ah,
              remoteQpn: b.qp.qpNum,
              remoteQkey: defaultQkey,
            } as never)
          post(own)
          a.sent()
          expect(b.received(WcStatus.LocProtErr)).toMatchObject({ wrId: 6 })
          post(lost)
          a.sent(WcStatus.LocProtErr)
          expect(a.qp.state).toBe(QpState.Sqe)
          ah.close()
        })
      })

      it('while messages flow: no success for what did not arrive', async () => {
        ends = true
        await start()
        const [own, target] = [placed(a, 'segment'), b.inProcess(third)]
        let posted = 0
        const done: number[] = []
        const post = (): void => {
          a.qp.postSend({
            wrId: posted++,
            opcode: Opcode.Write,
            sendFlags: SendFlag.Signaled,
            sgList: [sge(own, 0, 8 * page)],
            remoteAddr: target.mr.addr,
            rkey: target.mr.rkey,
          })
          for (const { status } of a.completions(a.sendCq)) done.push(status)
        }
        post()
        setImmediate(() => third.child.kill('SIGKILL'))
        await until('an error', () => {
          for (let i = 0; i < 50 && posted - done.length < 60; i++) post()
          for (const { status } of a.completions(a.sendCq)) done.push(status)
          return done.some((status) => status !== WcStatus.Success)
        })
        const failure = done.findIndex((status) => status !== WcStatus.Success)
        expect(done[failure]).toBe(WcStatus.RetryExcErr)
        expect(done.slice(failure + 1).every((status) => status === WcStatus.WrFlushErr)).toBe(true)
        while (b.context.pollAsyncEvent() !== null);
      })
    })
  },
)

describe.skipIf(!nativeAvailable)('registering', () => {
  it('is refused with a reason', () => {
    const context = openDevice('shm0')
    const pd = context.allocPd()
    const register = (range: object, access = allAccess, options = {}) =>
      pd.regProcessMr({ ...first.range, ...range }, access, options)
    expect(() => register({ pid: 0x3ffffff })).toThrow(/there is no process 67108863 \(EINVAL\)/)
    expect(() => register({ address: 0 })).toThrow(/has no memory at 0x0 \(EINVAL\)/)
    expect(() => register({ length: 2 ** 46 })).toThrow(/has no memory at/)
    expect(() => register({ pid: 0 })).toThrow(/EINVAL/)
    expect(() => register({ length: -1 })).toThrow(/EINVAL/)
    expect(() => register({}, Access.RemoteWrite)).toThrow(/require LocalWrite/)
    expect(() => register({}, allAccess, { iova: -1 })).toThrow(/EINVAL/)
    const empty = register({ length: 0 })
    expect([empty.addr, empty.length]).toEqual([first.address, 0])
    empty.close()
    const zero = register({}, allAccess | Access.ZeroBased)
    expect(zero.addr).toBe(0)
    zero.close()
    pd.close()
    context.close()
  })

  it('is not for adapters that another thread drives', () => {
    const context = openDevice(loopbackDevice(1), { wrap: [faults({ loss: 0 })] })
    const pd = context.allocPd()
    const cq = context.createCq(4)
    expect(() => pd.regProcessMr(first.range, 0)).toThrow(/driven by another thread.*EOPNOTSUPP/)
    expect(() => pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq, hosted: true })).toThrow(/EOPNOTSUPP/)
    cq.close()
    pd.close()
    context.close()
  })
})
