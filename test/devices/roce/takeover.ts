/** A process that drives a shared device is killed, again and again: the connections of the others go on without an error. */
import { expect, it } from 'vitest'
import { Opcode, openDevice, SendFlag, WcStatus, workCompletions } from '../../../src/index.ts'
import { endPeers, Peer } from '../shm/processes.ts'
import { connect, makeEnd } from '../shm/rig.ts'

const messageBytes = 12_000
const depth = 8

/** Until so many have been killed in the middle of it. */
export function driversAreKilled(device: string, deaths: number, timeout: number): void {
  it(`goes on for the others when ${deaths} of them are killed while they drive it`, { timeout }, async () => {
    const context = openDevice(device)
    const bytes = messageBytes * depth
    const [a, b] = [makeEnd(context, { bytes }), makeEnd(context, { bytes })]
    connect(a, b, { timeout: 16, retryCnt: 7 })
    const wc = workCompletions(32)
    let sent = 0
    let done = 0
    let received = 0
    const byte = (message: number, at: number): number => (message * 31 + at * 7) & 0xff
    const post = (): void => {
      for (; received + depth > posted; posted++)
        b.qp.postRecv({ wrId: posted, sgList: [b.sge((posted % depth) * messageBytes, messageBytes)] })
      for (; sent < posted && sent < done + depth; sent++) {
        const from = (sent % depth) * messageBytes
        for (let at = 0; at < messageBytes; at += 61) a.buffer[from + at] = byte(sent, at)
        const sgList = [a.sge(from, messageBytes)]
        a.qp.postSend({ wrId: sent, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList })
      }
    }
    let posted = 0
    const poll = (): void => {
      for (let n = a.cq.poll(wc), i = 0; i < n; i++)
        expect([wc[i]!.status, wc[i]!.wrId]).toEqual([WcStatus.Success, done++])
      for (let n = b.recvCq.poll(wc), i = 0; i < n; i++) {
        const { status, wrId, byteLen } = wc[i]!
        expect([status, wrId, byteLen]).toEqual([WcStatus.Success, received, messageBytes])
        const from = (wrId % depth) * messageBytes
        for (let at = 0; at < messageBytes; at += 61)
          if (b.buffer[from + at] !== byte(wrId, at)) throw new Error(`byte ${at} of message ${wrId} is wrong`)
        received++
      }
    }
    let ended = false
    const traffic = (async (): Promise<void> => {
      while (!ended || done < sent || received < sent) {
        if (!ended) post()
        poll()
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    const killing = (async (): Promise<void> => {
      while (context.counters().takeovers! < deaths) {
        const end = makeEnd(context)
        const peer = new Peer(device)
        await peer.connect(end, 'drives')
        const before = received
        // It works, for others.
        await expect.poll(() => received, { timeout, interval: 1 }).toBeGreaterThan(before + Math.random() * 50)
        await peer.kill()
        end.close()
      }
    })().finally(() => {
      ended = true
    })
    await Promise.all([traffic, killing])
    expect(received).toBe(sent)
    await endPeers()
    a.close()
    b.close()
    context.close()
  })
}
