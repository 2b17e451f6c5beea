/** Lists of ranges in the segment and in several processes, mixed at random, against a model: bytes in arrays. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Opcode, type OpenOptions, openDevice, SendFlag, WcStatus } from '../../src/index.ts'
import { nativeAvailable, nativeReason } from '../../src/memory/index.ts'
import { endMemoryProcesses, MemoryProcess } from '../memory/memory-process.ts'
import { holds } from '../property.ts'
import { connectSides, type Place, patientTiming, Side, sge } from './shm/process-rig.ts'

/** Bytes are read from the lower half of each place and written to the upper one, so that no list overlaps itself. */
const half = 128 << 10

interface Element {
  place: number
  /** Of a source its offset, of a target the gap before it. */
  skip: number
  length: number
}

const elements = fc.array(
  fc.record({
    place: fc.nat(2),
    skip: fc.nat(40),
    length: fc.oneof(fc.nat(20), fc.nat(5000), fc.integer({ min: 20_000, max: 40_000 })),
  }),
  { maxLength: 8 },
)
const steps = fc.array(
  fc.record({
    opcode: fc.constantFrom(Opcode.Send, Opcode.Write, Opcode.WriteWithImm, Opcode.Read),
    own: elements,
    peer: elements,
    seed: fc.nat(255),
  }),
  { minLength: 1, maxLength: 12 },
)

/** On two devices. `waits`: what is posted does not complete at once, and then the queue pairs are hosted. `runs`: of the property, and in the slow suite. */
export function testProcessLists(
  devices: readonly string[],
  waits: boolean,
  runs: readonly [number, number],
  options: () => OpenOptions = () => ({}),
): void {
  if (!nativeAvailable) {
    it.skip(`needs the native layer: ${nativeReason}`, () => {})
    return
  }
  const contexts = devices.map((name) => openDevice(name, options()))
  const settled = (side: Side, cq: Side['sendCq']): void => {
    if (!waits) {
      expect(side.completions(cq)).toMatchObject([{ status: WcStatus.Success }])
      return
    }
    for (const end = performance.now() + 20_000; ; ) {
      for (const { device } of contexts) device.progress()
      const all = side.completions(cq)
      if (all.length === 0 && performance.now() < end) continue
      expect(all).toMatchObject([{ status: WcStatus.Success }])
      return
    }
  }
  let processes: MemoryProcess[] = []
  beforeAll(async () => {
    processes = await Promise.all([MemoryProcess.start(2 * half), MemoryProcess.start(2 * half)])
  })
  afterAll(async () => {
    await endMemoryProcesses()
    for (const context of contexts) context.close()
  })

  it('arrive as they were sent, and nothing else is touched', () => {
    const a = new Side(contexts[0]!, { hosted: waits })
    const b = new Side(contexts[1]!, { hosted: waits })
    connectSides(a, b, waits ? patientTiming : {})
    const placesOf = (side: Side): Place[] => [
      side.inSegment(2 * half),
      ...processes.map((process) => side.inProcess(process)),
    ]
    const [own, peer] = [placesOf(a), placesOf(b)]
    // Both sides have the same processes: of these, and of each side's part of the segment, there is one model.
    const models = new Map<Place, Buffer>()
    const shared = processes.map(() => Buffer.alloc(2 * half))
    for (const places of [own, peer])
      for (const [i, place] of places.entries()) models.set(place, shared[i - 1] ?? Buffer.alloc(2 * half))
    for (const [place, model] of models) {
      for (let i = 0; i < model.length; i++) model[i] = (i * 31 + (i >> 7)) & 0xff
      place.poke(0, model)
    }
    const sources = (places: Place[], list: Element[]) =>
      list.map(({ place, skip, length }) => sge(places[place]!, skip, length))
    /** In order, without overlaps. */
    const targets = (places: Place[], list: Element[]) => {
      const next = [half, half, half]
      return list.map(({ place, skip, length }) => {
        const at = next[place]! + skip
        next[place] = Math.min(at + length, 2 * half)
        return sge(places[place]!, Math.min(at, 2 * half), Math.max(0, Math.min(length, 2 * half - at)))
      })
    }
    type Sge = ReturnType<typeof sge>
    const bytesOf = (places: Place[], list: Sge[]): Buffer =>
      Buffer.concat(
        list.map(({ addr, length, lkey }) => {
          const place = places.find(({ mr }) => mr.lkey === lkey)!
          return models.get(place)!.subarray(addr - place.mr.addr, addr - place.mr.addr + length)
        }),
      )
    const put = (places: Place[], list: Sge[], bytes: Buffer): void => {
      for (const { addr, length, lkey } of list) {
        const place = places.find(({ mr }) => mr.lkey === lkey)!
        bytes.copy(models.get(place)!, addr - place.mr.addr, 0, Math.min(length, bytes.length))
        bytes = bytes.subarray(length)
      }
    }
    const total = (list: Sge[]): number => list.reduce((sum, { length }) => sum + length, 0)

    holds(
      fc.property(steps, (steps) => {
        for (const { opcode, own: ownList, peer: peerList, seed } of steps) {
          // Else the same bytes would come again.
          for (const [place, model] of models) {
            model[seed * 16] = seed
            place.poke(seed * 16, [seed])
          }
          const place = peer[seed % 3]!
          const offset = seed % 17
          const post = (sgList: Sge[]): void =>
            a.qp.postSend({
              opcode,
              sendFlags: SendFlag.Signaled,
              sgList,
              immData: 0,
              remoteAddr: place.mr.addr + offset + (opcode === Opcode.Read ? 0 : half),
              rkey: place.mr.rkey,
            } as never)
          if (opcode === Opcode.Send) {
            const from = sources(own, ownList)
            const to = targets(peer, peerList)
            if (total(from) > total(to)) continue
            b.postRecv({ sgList: to })
            post(from)
            put(peer, to, bytesOf(own, from))
          } else if (opcode === Opcode.Read) {
            const to = targets(own, ownList)
            const length = Math.min(total(to), half - offset)
            if (length < total(to)) continue
            post(to)
            put(own, to, Buffer.from(models.get(place)!.subarray(offset, offset + length)))
          } else {
            const from = sources(own, ownList)
            if (total(from) > half - offset) continue
            if (opcode === Opcode.WriteWithImm) b.postRecv({ sgList: [] })
            post(from)
            bytesOf(own, from).copy(models.get(place)!, half + offset)
          }
          settled(a, a.sendCq)
          if (opcode === Opcode.Send || opcode === Opcode.WriteWithImm) settled(b, b.recvCq)
          for (const [place, model] of models)
            expect(Buffer.from(place.peek(0, 2 * half)).equals(model), 'all bytes').toBe(true)
        }
      }),
      ...runs,
    )
    a.close()
    b.close()
  })
}
