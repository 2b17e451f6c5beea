/**
 * Another process of descriptors.test.ts, which does what its messages say: see `Command`. With the number of a user as its argument
 * it becomes that user first.
 */
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import {
  closeFd,
  DescriptorServer,
  fetchDescriptors,
  maxDatagramBytes,
  type NativeError,
  UdpSocket,
} from '../../src/memory/index.ts'
import { makeEventFd } from '../../src/memory/native/index.ts'
import { nativeScratch, requireLibc } from '../../src/memory/native/libc.ts'

export type Command =
  /** Serves a UDP socket, and `more` descriptors besides. Answered by its port. */
  | { readonly serve: string; readonly more?: number }
  /** Answers each connection with this, and so many descriptors; with null not at all. */
  | { readonly lie: string; readonly payload: readonly number[] | null; readonly count?: number }
  /** Answered by the tags that it got, or the code of the error; what it got is closed. */
  | { readonly fetch: string }
  /** Answered by a `State`. */
  | 'state'

export interface State {
  readonly served: number
  readonly refused: number
  readonly failed: number
  readonly descriptors: number
  readonly heapBytes: number
}

const uid = Number(process.argv[2] ?? 0)
if (uid !== 0) {
  process.setgroups!([])
  process.setgid!(uid)
  process.setuid!(uid)
}

let server: DescriptorServer | undefined

function serve(name: string, more: number): number {
  const address = Uint8Array.of(127, 0, 0, 1)
  const socket = UdpSocket.open(new SharedArrayBuffer(maxDatagramBytes), { address, port: 0 })
  const all = [{ fd: socket.fd, tag: -7 }, ...Array.from({ length: more }, (_, tag) => ({ fd: makeEventFd(), tag }))]
  server = new DescriptorServer(name, () => all)
  return socket.port
}

/** One sendmsg of anything: struct msghdr, iovec, control message and payload in native memory. */
function sendAnything(to: number, payload: readonly number[], count: number): void {
  const { u32, address } = nativeScratch(4096)
  const [vector, control, bytes] = [64, 128, 2048]
  const at = (word: number, offset: number): void => {
    u32[word] = (address + offset) >>> 0
    u32[word + 1] = Math.floor((address + offset) / 2 ** 32)
  }
  at(4, vector)
  u32[6] = 1
  at(8, control)
  u32[10] = count === 0 ? 0 : (16 + 4 * count + 7) & ~7
  at(vector / 4, bytes)
  u32[vector / 4 + 2] = payload.length * 4
  u32.set([16 + 4 * count, 0, 1, 1], control / 4)
  u32.fill(1, control / 4 + 4, control / 4 + 4 + count)
  u32.set(payload, bytes / 4)
  requireLibc('sendmsg').sendmsg(to, address, 0)
}

function lie(name: string, payload: readonly number[] | null, count: number): Promise<void> {
  const liar = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => {})
    if (payload === null) return
    sendAnything((socket as unknown as { _handle: { fd: number } })._handle.fd, payload, count)
    socket.end()
  })
  return new Promise((resolve) => liar.listen(`\0${name}`, resolve))
}

function fetch(name: string): string {
  try {
    const all = fetchDescriptors(name, 5000)
    for (const { fd } of all) closeFd(fd)
    return all.map(({ tag }) => tag).join()
  } catch (error) {
    return (error as NativeError).code
  }
}

function state(): State {
  globalThis.gc?.()
  const { served, refused, failed } = server ?? { served: 0, refused: 0, failed: 0 }
  const descriptors = readdirSync('/proc/self/fd').length
  return { served, refused, failed, descriptors, heapBytes: process.memoryUsage().heapUsed }
}

process.on('message', async (command: Command) => {
  if (command === 'state') process.send!(state())
  else if ('serve' in command) process.send!(serve(command.serve, command.more ?? 0))
  else if ('fetch' in command) process.send!(fetch(command.fetch))
  else {
    await lie(command.lie, command.payload, command.count ?? 0)
    process.send!('lies')
  }
})
process.send!('ready')
