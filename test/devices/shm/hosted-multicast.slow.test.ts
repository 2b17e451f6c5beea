/** Datagrams to groups whose members several processes host: each of them delivers to its own. */
import { rmSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  connectQp,
  defaultQkey,
  endpointOf,
  Opcode,
  openDevice,
  QpType,
  SendFlag,
  WcStatus,
} from '../../../src/index.ts'
import { nativeAvailable } from '../../../src/memory/index.ts'
import { endMemoryProcesses, MemoryProcess } from '../../memory/memory-process.ts'
import { Hosting } from '../hand-over.ts'
import { type Place, Side, sge, timing } from './process-rig.ts'
import { until } from './rig.ts'

const bytes = 8192
const length = 32
const name = `hosted-multicast-${process.pid}`
const gid = Uint8Array.of(0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7)
const grh = { dgid: gid, sgidIndex: 0, hopLimit: 1, trafficClass: 0, flowLabel: 0 }
const all = [
  { from: 'a queue pair of the segment', hosted: false },
  { from: 'a hosted queue pair', hosted: true },
]

describe.skipIf(!nativeAvailable).each(all)('a datagram to a group from $from', ({ hosted }) => {
  const device = `shm:${name}-${hosted}`
  const context = openDevice(device)
  let memory: MemoryProcess
  const sides: Side[] = []
  const others: Hosting[] = []

  beforeAll(async () => {
    memory = await MemoryProcess.start(bytes)
  })
  afterEach(async () => {
    for (const other of others.splice(0)) await other.end()
    for (const side of sides.splice(0)) side.close()
  })
  afterAll(async () => {
    await endMemoryProcesses()
    context.close()
    rmSync(`/dev/shm/verbena-${name}-${hosted}`, { force: true })
  })

  function side(hosted: boolean): { side: Side; place: Place } {
    const made = new Side(context, { type: QpType.UD, hosted })
    sides.push(made)
    connectQp(made.qp, endpointOf(made.qp), null, timing)
    return { side: made, place: hosted ? made.inProcess(memory) : made.inSegment(bytes) }
  }

  async function otherMember(): Promise<Hosting> {
    const other = await new Hosting(`${device}/1`, { type: QpType.UD, bytes }).begin()
    others.push(other)
    await other.order({ connect: endpointOf(sides[0]!.qp) })
    await other.order({ join: gid })
    await other.order({ receive: { wrId: 5, addr: other.address, length: 1024 } })
    return other
  }

  async function send({ side, place }: { side: Side; place: Place }, fill: number): Promise<void> {
    place.poke(4096, new Uint8Array(length).fill(fill))
    const ah = side.pd.createAh({ portNum: 1, sl: 0, dlid: 0xc001, grh })
    side.qp.postSend({
      opcode: Opcode.Send,
      sendFlags: SendFlag.Signaled,
      sgList: [sge(place, 4096, length)],
      ah,
      remoteQpn: 0xffffff,
      remoteQkey: defaultQkey,
    } as never)
    const statuses: number[] = []
    await until('a completion', () => {
      context.device.progress()
      for (const { status } of side.completions(side.sendCq)) statuses.push(status)
      return statuses.length > 0
    })
    expect(statuses).toEqual([WcStatus.Success])
    ah.close()
  }

  it('reaches each member once, wherever it is', async () => {
    const sender = side(hosted)
    const plain = side(false)
    const own = side(true)
    const here = [plain, own]
    for (const { side } of here) side.qp.attachMcast(gid, 0xc001)
    const { host } = context.device
    host.refill = () => own.side.postRecv({ wrId: 2, sgList: [sge(own.place, 0, 1024)] })
    const two = [await otherMember(), await otherMember()]
    for (const other of two) await other.order({ receive: { wrId: 6, addr: other.address, length: 1024 } })
    let sent = 0
    // On a busy machine a process may not answer in time.
    while (two.some(({ completions }) => completions.length === 0)) {
      plain.side.postRecv({ wrId: 1, sgList: [sge(plain.place, 0, 1024)] })
      await send(sender, 7)
      sent++
      for (const { side, place } of here) {
        expect(side.completions(side.recvCq)).toEqual([expect.objectContaining({ status: 0, byteLen: 40 + length })])
        expect([...place.peek(40, length)]).toEqual(Array(length).fill(7))
        place.poke(0, new Uint8Array(1024))
      }
    }
    for (const other of two) {
      expect(other.completions.length).toBeLessThanOrEqual(sent)
      expect(other.completions[0]).toMatchObject({ wrId: 5, status: 0, byteLen: 40 + length })
      expect([...other.peek(40, length)]).toEqual(Array(length).fill(7))
    }
    host.refill = null
    for (const { side } of here) side.qp.detachMcast(gid, 0xc001)
  })

  it('leaves out a host that is stopped, and one that has ended', async () => {
    const sender = side(hosted)
    const [stopped, ended, last] = [await otherMember(), await otherMember(), await otherMember()]
    stopped.child.kill('SIGSTOP')
    await ended.end()
    const before = context.counters().drops_no_qp ?? 0
    // On a busy machine the last one may not answer in time, either.
    while (last.completions.length === 0) await send(sender, 9)
    expect([...last.peek(40, length)]).toEqual(Array(length).fill(9))
    expect(context.counters().drops_no_qp).toBeGreaterThan(before)
    expect(stopped.completions).toEqual([])
    stopped.child.kill('SIGCONT')
    while (stopped.completions.length === 0) await send(sender, 10)
    expect([...stopped.peek(40, length)]).toEqual(Array(length).fill(10))
  })
})
