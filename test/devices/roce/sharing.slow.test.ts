/** Processes that have the same device open: traffic between them, and what is left when one of them is killed. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { RoceDev } from '../../../src/devices/roce/layout.ts'
import { sharedSegmentName } from '../../../src/devices/roce/shared-hosts.ts'
import { maxSlots, Slot } from '../../../src/devices/roce/socket-table.ts'
import { nativeAvailable, Opcode, openDevice, SendFlag, WcStatus } from '../../../src/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { endPeers, killRound, Peer, segmentPath } from '../shm/processes.ts'
import { connect, drain, makeEnd, until } from '../shm/rig.ts'

afterEach(endPeers)

/** Long enough for a machine on which other tests run. */
const patient = { timeout: 16, retryCnt: 7 } as const

/** The inodes of the UDP sockets of a process. */
function udpSockets(pid: number | string): string[] {
  const all = readFileSync('/proc/net/udp', 'latin1')
  const inodes = new Set(all.split('\n').map((line) => line.trim().split(/\s+/)[9]))
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return links.map((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? '').filter((inode) => inodes.has(inode))
}

const inUse = expect.objectContaining({ code: 'EADDRINUSE', reason: 'device-in-use' })

describe.skipIf(!nativeAvailable)('a device that processes share', () => {
  it('carries SEND, WRITE, READ and atomics between two of them', async () => {
    const name = loopbackDevice(20)
    const context = openDevice(name)
    const end = makeEnd(context)
    const peer = new Peer(name)
    const { addr, rkey } = await peer.connect(end, 'echo', patient)
    const post = async (opcode: number, offset: number, length: number, more: object = {}): Promise<void> => {
      const sgList = [end.sge(offset, length)]
      end.qp.postSend({ opcode, sendFlags: SendFlag.Signaled, remoteAddr: addr + 8192, rkey, sgList, ...more } as never)
      const done: { wrId: number; status: number }[] = []
      await until('completion', () => drain(end.cq, done).length > 0)
      expect(done).toMatchObject([{ status: WcStatus.Success }])
    }
    end.qp.postRecv({ sgList: [end.sge(4096)] })
    end.buffer.set([1, 2, 3, 4])
    await post(Opcode.Send, 0, 4)
    await until('echo', () => drain(end.recvCq).length === 1)
    expect([...end.buffer.subarray(4096, 4101)]).toEqual([1, 2, 3, 4, 0])
    await post(Opcode.Write, 0, 8)
    await post(Opcode.AtomicFetchAndAdd, 64, 8, { compareAdd: 1n })
    await post(Opcode.Read, 128, 8)
    expect([...end.buffer.subarray(64, 72)]).toEqual([1, 2, 3, 4, 0, 0, 0, 0])
    expect([...end.buffer.subarray(128, 136)]).toEqual([2, 2, 3, 4, 0, 0, 0, 0])
    peer.child.send('end')
    await peer.ended
    end.close()
    context.close()
  })

  it('takes back what a killed process had', async () => {
    const name = loopbackDevice(21)
    const context = openDevice(name)
    await killRound(context, name, 'flood', 20, { timeout: 14, retryCnt: 7 })
    context.close()
  })

  it('goes on when the process is killed that had opened it first, and others can open it after that', async () => {
    const name = loopbackDevice(22)
    const first = new Peer(name)
    const { endpoint } = await first.hear<{ endpoint: Parameters<typeof connect>[2] }>()
    expect(endpoint).toBeDefined()
    const context = openDevice(name)
    const [a, b] = [makeEnd(context), makeEnd(context)]
    connect(a, b, patient)
    const exchange = async (rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        a.buffer.fill(round + 1, 0, 64)
        b.buffer.fill(0, 0, 64)
        b.qp.postRecv({ sgList: [b.sge()] })
        a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [a.sge()] })
        const done: { wrId: number; status: number }[] = []
        await until('both ends', () => drain(a.cq, done).length + drain(b.recvCq, done).length >= 2 && done.length >= 2)
        expect(done.map(({ status }) => status)).toEqual([WcStatus.Success, WcStatus.Success])
        expect(b.buffer[63]).toBe(round + 1)
      }
    }
    await exchange(10)
    await first.kill()
    await exchange(10)
    const third = new Peer(name)
    const end = makeEnd(context)
    await third.connect(end, 'echo', patient)
    end.qp.postRecv({ sgList: [end.sge(4096)] })
    end.qp.postSend({ opcode: Opcode.Send, sgList: [end.sge()] })
    await until('echo', () => drain(end.recvCq).length === 1)
    for (const each of [a, b, end]) each.close()
    context.close()
  })

  it('is driven by another process when that is stopped which did', async () => {
    const name = loopbackDevice(26)
    const peer = new Peer(name)
    await peer.hear()
    const context = openDevice(name)
    const { host } = context.device
    const owner = host.at.meta + layout.Meta.serviceOwner
    const isOurs = (): boolean => {
      const use = Atomics.load(host.i32, owner)
      return use !== 0 && host.segment.isOwn(use)
    }
    expect(isOurs()).toBe(false)
    peer.child.kill('SIGSTOP')
    await until('a service thread of this process that drives', isOurs)
    peer.child.kill('SIGCONT')
    peer.child.send('end')
    await peer.ended
    expect(isOurs()).toBe(true)
    context.close()
  })

  it('is not to be had while the process is stopped that alone could give its sockets', async () => {
    const name = loopbackDevice(27)
    const peer = new Peer(name)
    await peer.hear()
    peer.child.kill('SIGSTOP')
    expect(() => openDevice(name)).toThrow(expect.objectContaining({ code: 'ETIMEDOUT' }))
    peer.child.kill('SIGCONT')
    openDevice(name).close()
  })

  it('is waited for where the process that has it only takes long to give its sockets', async () => {
    const name = loopbackDevice(28)
    const context = openDevice(name)
    const { host, index } = context.device
    const holders = host.i32[host.deviceWord(index) + RoceDev.sockets]! + maxSlots * Slot.words
    const own = (): number => {
      for (let word = holders; word < holders + 256 * 8; word += 8) if (host.i32[word] !== 0) return word
      return 0
    }
    await until('an entry of this process', () => own() > 0)
    // An address at which nobody listens.
    const address = own() + 4
    host.i32[address] = ~host.i32[address]!
    const peer = new Peer(name)
    let opened = false
    peer.child.once('message', () => {
      opened = true
    })
    await new Promise((resolve) => setTimeout(resolve, 8000))
    expect(opened).toBe(false)
    host.i32[address] = ~host.i32[address]!
    expect(await peer.hear()).toHaveProperty('endpoint')
    context.close()
  })

  it('gives each process the sockets of multicast groups, and has them closed when they are left', async () => {
    const name = loopbackDevice(23)
    const context = openDevice(name)
    const peer = new Peer(name)
    await peer.hear()
    const before = udpSockets('self')
    const gid = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 88, process.pid & 0xff, 1)
    context.device.joinGroup(gid)
    const [group] = udpSockets('self').filter((inode) => !before.includes(inode))
    expect(group).toBeDefined()
    const { pid } = peer.child
    await until('the descriptor of the other process', () => udpSockets(pid!).includes(group!))
    context.device.leaveGroup(gid)
    await until('its end', () => !udpSockets(pid!).includes(group!))
    context.close()
  })

  it('leaves no segment and no socket behind', async () => {
    const name = loopbackDevice(24)
    const peer = new Peer(name)
    await peer.hear()
    const file = segmentPath(sharedSegmentName(name))
    expect(existsSync(file)).toBe(true)
    peer.child.send('end')
    await peer.ended
    expect(existsSync(file)).toBe(false)
    const socket = createSocket('udp4')
    socket.bind({ address: loopbackAddress(24), port: 4791, exclusive: true })
    await once(socket, 'listening')
    socket.close()
  })

  it('is not to be had with middleware while others have it, nor where it is not shared', async () => {
    const name = loopbackDevice(25)
    const peer = new Peer(name)
    await peer.hear()
    expect(() => openDevice(name, { wrap: [{ kind: 'faults', loss: 0.1 }] })).toThrow(inUse)
    process.env.VERBENA_ROCE_SHARED = '0'
    try {
      expect(() => openDevice(name)).toThrow(inUse)
    } finally {
      delete process.env.VERBENA_ROCE_SHARED
    }
    const context = openDevice(name)
    expect(() => openDevice(name, { wrap: [{ kind: 'faults', loss: 0.1 }] })).toThrow(
      expect.objectContaining({ code: 'EBUSY' }),
    )
    context.close()
  })
})
