/** Starting the other process of processes.test.ts, and one round of killing it. */
import { type ChildProcess, fork } from 'node:child_process'
import { expect } from 'vitest'
import { type Context, endpointOf, Opcode, type QpEndpoint, SendFlag, WcStatus } from '../../../src/index.ts'
import { startable } from '../../entries.ts'
import type { Role } from './peer.process.ts'
import { connectQpTo, drain, type End, makeEnd, until } from './rig.ts'

export const segmentPath = (name: string): string => `/dev/shm/verbena-${name}`

export class Peer {
  readonly child: ChildProcess
  readonly ended: Promise<void>
  readonly #arrived: unknown[] = []

  constructor(device: string) {
    const { file, execArgv } = startable(new URL('./peer.process.ts', import.meta.url))
    this.child = fork(file, [device], { execArgv, serialization: 'advanced' })
    this.child.on('message', (message) => this.#arrived.push(message))
    this.ended = new Promise((resolve) => this.child.on('exit', () => resolve()))
    peers.push(this)
  }

  async hear<T>(): Promise<T> {
    await until('word of the other process', () => {
      if (this.child.exitCode !== null) throw new Error(`the other process ended with code ${this.child.exitCode}`)
      return this.#arrived.length > 0
    })
    return this.#arrived.shift() as T
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.ended
  }

  async connect(end: End, role: Role, options: object = {}): Promise<{ addr: number; rkey: number }> {
    const { endpoint, addr, rkey } = await this.hear<{ endpoint: QpEndpoint; addr: number; rkey: number }>()
    const local = endpointOf(end.qp)
    connectQpTo(end, local, endpoint, options)
    this.child.send({ role, remote: local, addr: end.mr.addr, rkey: end.mr.rkey })
    expect(await this.hear()).toBe('playing')
    return { addr, rkey }
  }
}

const peers: Peer[] = []
export async function endPeers(): Promise<void> {
  for (const peer of peers.splice(0)) await peer.kill()
}

/** Kills a peer in this role after `delayMs`; everything that we have posted ends, and its objects are given back. */
export async function killRound(
  context: Context,
  device: string,
  role: Role,
  delayMs: number,
  options: object = {},
): Promise<void> {
  const reaped = context.counters().stale_objects_reaped!
  const end = makeEnd(context)
  const peer = new Peer(device)
  const { addr, rkey } = await peer.connect(end, role, options)
  const done: { wrId: number; status: number }[] = []
  let posted = 0
  const write = (): void =>
    end.qp.postSend({
      wrId: posted++,
      opcode: Opcode.Write,
      sendFlags: SendFlag.Signaled,
      remoteAddr: addr,
      rkey,
      sgList: [end.sge()],
    })
  const send = (): void =>
    end.qp.postSend({ wrId: posted++, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [end.sge()] })
  write()
  await until('the first completion', () => drain(end.cq, done).length > 0)
  // With 'idle' these wait for receives that never come, with rnrRetry 7.
  if (role !== 'flood') for (let i = 0; i < 40; i++) send()
  await new Promise((resolve) => setTimeout(resolve, delayMs))
  await peer.kill()
  send()
  await until('completions', () => drain(end.cq, done).length >= posted)
  expect(done.map(({ wrId }) => wrId)).toEqual(Array.from({ length: posted }, (_, i) => i))
  const first = done.findIndex(({ status }) => status !== WcStatus.Success)
  expect(first).toBeGreaterThan(0)
  expect(done[first]!.status).toBe(WcStatus.RetryExcErr)
  expect(done.slice(first + 1).every(({ status }) => status === WcStatus.WrFlushErr)).toBe(true)
  await until('reaping', () => context.counters().stale_objects_reaped! >= reaped + 5)
  end.close()
}
