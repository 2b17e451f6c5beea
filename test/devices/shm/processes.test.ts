import { spawn } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { type CompletionChannel, getDeviceList, Opcode, openDevice, SendFlag, WcStatus } from '../../../src/index.ts'
import { nativeAvailable, nativeReason, Segment } from '../../../src/memory/index.ts'
import { segmentOptions } from '../../../src/verbs/index.ts'
import { endPeers, killRound, Peer, segmentPath } from './processes.ts'
import { drain, makeEnd, Part, patienceMs, until } from './rig.ts'

afterEach(endPeers)

it('a bad name fails with advice', () => {
  for (const bad of ['shm:', 'shm:a b', 'shm:a/2', `shm:${'x'.repeat(65)}`, 'shm:../x'])
    expect(() => openDevice(bad), bad).toThrow(/shm:NAME or shm:NAME\/1, with up to 64 letters/)
})

describe.skipIf(nativeAvailable)(`between processes: ${nativeReason}`, () => {
  it.skip('needs the native layer', () => {})
})

describe.skipIf(!nativeAvailable)('between processes', () => {
  const name = `processes-test-${process.pid}`
  const context = openDevice(`shm:${name}`)
  let count = 0
  // Vitest ends this process without the 'exit' event in which a program takes its segment away.
  afterAll(() => {
    context.close()
    rmSync(segmentPath(name), { force: true })
  })

  it('SEND, WRITE, READ and atomics reach the other process', async () => {
    const end = makeEnd(context)
    const peer = new Peer(`shm:${name}/1`)
    const { addr, rkey } = await peer.connect(end, 'echo')
    const post = (opcode: number, offset: number, length: number, more: object = {}): void => {
      end.qp.postSend({
        opcode,
        sendFlags: SendFlag.Signaled,
        remoteAddr: addr + 8192,
        rkey,
        sgList: [end.sge(offset, length)],
        ...more,
      } as never)
      expect(drain(end.cq)).toMatchObject([{ status: WcStatus.Success }])
    }
    end.qp.postRecv({ sgList: [end.sge(4096)] })
    end.buffer.set([1, 2, 3, 4])
    post(Opcode.Send, 0, 4)
    await until('echo', () => drain(end.recvCq).length === 1)
    expect([...end.buffer.subarray(4096, 4101)]).toEqual([1, 2, 3, 4, 0])
    post(Opcode.Write, 0, 8)
    post(Opcode.AtomicFetchAndAdd, 64, 8, { compareAdd: 1n })
    post(Opcode.Read, 128, 8)
    expect([...end.buffer.subarray(64, 72)]).toEqual([1, 2, 3, 4, 0, 0, 0, 0])
    expect([...end.buffer.subarray(128, 136)]).toEqual([2, 2, 3, 4, 0, 0, 0, 0])
    peer.child.send('end')
    await peer.ended
    end.close()
  })

  // Whatever it does: test/slow/killing.test.ts.
  it('a peer that is killed while messages flow', async () => {
    await killRound(context, `shm:${name}/1`, 'flood', 20)
    // And the next one can connect.
    await killRound(context, `shm:${name}/1`, 'flood', 5)
  })

  it('segments of devices of another kind, or with other tables, are not listed', () => {
    const listed = (): string[] => getDeviceList().map((device) => device.name)
    expect(listed()).toContain(`shm:${name}`)
    const { staticBytes, sizeBytes } = segmentOptions()
    const others = [
      Segment.named(`other:${name}`, segmentOptions()),
      Segment.named(`other-${name}`, { staticBytes: staticBytes + 4096, sizeBytes }),
    ]
    expect(listed().filter((device) => device.includes('other'))).toEqual([])
    for (const other of others) for (const use of other.ownAttachments()) other.release(other.claim(use))
  })

  it('an existing one is opened, and one that nobody uses is not made where it has to exist', () => {
    openDevice(`shm:${name}/1`, { existing: true }).close()
    const absent = `${name}-absent`
    expect(() => openDevice(`shm:${absent}`, { existing: true })).toThrow(
      expect.objectContaining({ code: 'ENODEV', message: expect.stringContaining('no process uses a segment') }),
    )
    expect(existsSync(segmentPath(absent))).toBe(false)
    openDevice(`shm:${absent}`).close()
    expect(existsSync(segmentPath(absent))).toBe(true)
    rmSync(segmentPath(absent), { force: true })
  })

  it.each<{ how: string; leave: (channel: CompletionChannel) => unknown }>([
    { how: 'has a CQ of its own', leave: (channel) => channel.context.createCq(1, { channel }).close() },
    { how: 'blocks for the event of a CQ', leave: (channel) => channel.getEvent(1) },
    { how: 'blocks for an asynchronous event', leave: ({ context }) => context.getAsyncEvent(1) },
  ])('a thread that $how has deaths noticed by another from then on, and not before', async ({ leave }) => {
    const own = `${name}-leaves-${count++}`
    const context = openDevice(`shm:${own}`)
    const { segment } = context.device.host
    const channel = context.createCompChannel()
    context.createCq(1, { channel, inLoop: true }).close()
    expect(await channel.nextEvent(50)).toBe(null)
    expect(segment.hasJanitorThread()).toBe(false)
    leave(channel)
    await until('a thread', () => segment.hasJanitorThread())
    for (const one of [channel, context]) one.close()
    rmSync(segmentPath(own), { force: true })
  })

  it.each<{ how: string; inLoop: boolean; wait: (channel: CompletionChannel, done: () => boolean) => unknown }>([
    { how: 'waits in its event loop', inLoop: true, wait: (channel) => channel.nextEvent(patienceMs) },
    { how: 'blocks', inLoop: true, wait: (channel) => channel.getEvent(patienceMs) },
    {
      how: 'polls',
      inLoop: false,
      wait(_, done) {
        for (const end = performance.now() + patienceMs; !done() && performance.now() < end; );
      },
    },
  ])('who $how for a peer that is killed learns it', async ({ how, inLoop, wait }) => {
    const own = `${name}-waits-${count++}`
    const context = openDevice(`shm:${own}`)
    const { segment } = context.device.host
    const channel = context.createCompChannel()
    const end = makeEnd(context, { channel, inLoop })
    const peer = new Peer(`shm:${own}/1`)
    await peer.connect(end, 'idle')
    expect(segment.hasJanitorThread()).toBe(!inLoop)
    end.cq.reqNotify()
    // It waits for a receive that never comes.
    end.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [end.sge()] })
    // By another process: this one may be unable to.
    spawn('sh', ['-c', `sleep 0.2; kill -9 ${peer.child.pid}`])
    const done: { wrId: number; status: number }[] = []
    if (await wait(channel, () => drain(end.cq, done).length > 0)) end.cq.ackEvents(1)
    drain(end.cq, done)
    expect(done).toMatchObject([{ status: WcStatus.RetryExcErr }])
    if (how.includes('loop')) expect(segment.hasJanitorThread()).toBe(false)
    await peer.ended
    for (const one of [end, channel, context]) one.close()
    rmSync(segmentPath(own), { force: true })
  })

  it('threads that open a segment and end leave no descriptor behind', async () => {
    const own = `${name}-workers`
    const context = openDevice(`shm:${own}`)
    const descriptors = (): number => readdirSync('/proc/self/fd').length
    const round = async (): Promise<number> => {
      const part = new Part({ part: 'opens', device: `shm:${own}` })
      await part.hear()
      await part.worker.terminate()
      await part.ended
      return descriptors()
    }
    await round()
    const before = await round()
    let after = before
    const rounds = 4
    for (let i = 0; i < rounds; i++) after = await round()
    // Node.js opens one of its own now and then.
    expect(after - before).toBeLessThan(rounds)
    context.close()
    rmSync(segmentPath(own), { force: true })
  })

  it('the last process to end cleanly takes the segment away; one that was killed leaves it to the next', async () => {
    const isGone = async (lonely: string): Promise<boolean> => {
      // A process that opens a segment removes all that nobody uses: one of another test file may be quicker than this look.
      for (let attempt = 0; attempt < 30 && !existsSync(segmentPath(lonely)); attempt++) {
        const killed = new Peer(`shm:${lonely}`)
        await killed.hear()
        await killed.kill()
      }
      expect(existsSync(segmentPath(lonely))).toBe(true)
      const next = new Peer(`shm:${lonely}`)
      await next.hear()
      next.child.send('end')
      await next.ended
      return !existsSync(segmentPath(lonely))
    }
    // One of another test file may open all that there are, and be the last then.
    let gone = false
    for (let attempt = 0; attempt < 4 && !gone; attempt++) gone = await isGone(`${name}-lonely${attempt}`)
    expect(gone).toBe(true)
  })
})
