/**
 * The middleware of a device, as the threads of a process hand it over: the thread that opens the device writes it into the segment
 * as JSON, and the thread that drives the device makes the chain of it.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { BroadcastChannel } from 'node:worker_threads'
import { type Host, layout, type OpenOptions, VerbsError, type Wrap } from '../../verbs/provider/index.ts'
import { Chain, checkWrap, wrapsOfEnvironment } from '../middleware/index.ts'
import { RoceDev } from './layout.ts'
import type { WrappedSocket } from './wrapped-socket.ts'

const { maxDevices } = layout

/** Layer in JSON: a function becomes a mark, and its lines go over a channel between threads. */
type Stored = Wrap & { lines?: true }

/** Returns the middleware that the program requests, then what the environment requests. */
export function wrapsWanted(options: OpenOptions): Wrap[] {
  return [...(options.wrap ?? []).map((wrap) => checkWrap(wrap)), ...wrapsOfEnvironment()]
}

/** Writes the middleware into the record at `dev`, whose device no context has open; under the control lock. */
export function putWraps(host: Host, dev: number, wraps: readonly Wrap[]): void {
  const { i32, segment } = host
  const stored = wraps.map((wrap): Stored => {
    if (wrap.kind === 'tap') return { kind: 'tap', path: resolve(wrap.path) }
    if (wrap.kind === 'trace' && wrap.onLine) return { kind: 'trace', lines: true }
    return wrap
  })
  for (const wrap of stored) if (wrap.kind === 'tap' && !isTapped(host, wrap.path)) makeFile(wrap.path)
  if (i32[dev + RoceDev.wrapsBytes] !== 0) segment.free(i32[dev + RoceDev.wraps]!)
  i32[dev + RoceDev.wrapsBytes] = 0
  if (stored.length > 0) {
    const text = new TextEncoder().encode(JSON.stringify(stored))
    const at = host.allocate(text.length, 'openDevice', 0)
    host.u8.set(text, at)
    i32[dev + RoceDev.wraps] = at
    i32[dev + RoceDev.wrapsBytes] = text.length
  }
  i32[dev + RoceDev.wrapsSerial] = i32[dev + RoceDev.wrapsSerial]! + 1
}

function storedAt(host: Host, dev: number): Stored[] {
  const length = host.i32[dev + RoceDev.wrapsBytes]!
  if (length === 0) return []
  const at = host.i32[dev + RoceDev.wraps]!
  return JSON.parse(new TextDecoder().decode(host.u8.slice(at, at + length))) as Stored[]
}

/** True if an open device of this process writes to the file. */
function isTapped(host: Host, path: string): boolean {
  for (let index = 0; index < maxDevices; index++) {
    const dev = host.deviceWord(index)
    if (
      host.i32[dev + RoceDev.users]! > 0 &&
      storedAt(host, dev).some((wrap) => wrap.kind === 'tap' && wrap.path === path)
    )
      return true
  }
  return false
}

/**
 * Begins the file. Sections that this process has written to it before, when other devices were open, stay: sections of pcapng follow
 * each other.
 */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, mayBeOurs(path) ? 'a' : 'w'))
  } catch (error) {
    throw new VerbsError('EINVAL', 'openDevice', `the tap cannot be written: ${(error as Error).message}`)
  }
}

/** True if the file has changed since this process started and begins with a section of pcapng, as written by another thread. */
function mayBeOurs(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats?.isFile() || stats.mtimeMs < Date.now() - process.uptime() * 1000) return false
  const head = Buffer.alloc(4)
  const descriptor = openSync(path, 'r')
  try {
    readSync(descriptor, head)
  } finally {
    closeSync(descriptor)
  }
  // The block type of a section header is the same in both byte orders.
  return head.readUInt32BE() === 0x0a0d0d0a
}

/** Returns the chain of the device whose record is at `dev`, or null. */
export function chainOf(host: Host, dev: number, name: string, index: number): Chain | null {
  const stored = storedAt(host, dev)
  if (stored.length === 0) return null
  let channel: BroadcastChannel | null = null
  const wraps = stored.map((wrap): Wrap => {
    if (wrap.kind !== 'trace') return wrap
    if (!wrap.lines) return { kind: 'trace' }
    channel ??= new BroadcastChannel(channelName(index))
    channel.unref()
    return { kind: 'trace', onLine: (line) => channel?.postMessage(line) }
  })
  const chain = new Chain(wraps, {
    device: name,
    count: (counter) => host.count(index, counter),
    toWire: (packet) => (packet.way as WrappedSocket).toWire(packet),
    toProgram: (packet) => (packet.way as WrappedSocket).toProgram(packet),
  })
  if (channel !== null) channels.set(chain, channel)
  return chain
}

/** Channel for the lines of each chain. */
const channels = new Map<Chain, BroadcastChannel>()

export function closeChain(chain: Chain): void {
  chain.close()
  const channel = channels.get(chain)
  channels.delete(chain)
  // Notifies the listeners of the end.
  channel?.postMessage(null)
  channel?.close()
}

function channelName(index: number): string {
  return `verbena trace ${process.pid} ${index}`
}

/** Passes lines on to `onLine` until any thread closes the device. */
export function listenToLines(index: number, options: OpenOptions): void {
  const found = (options.wrap ?? []).flatMap((wrap) => (wrap.kind === 'trace' && wrap.onLine ? [wrap.onLine] : []))
  if (found.length === 0) return
  const channel = new BroadcastChannel(channelName(index))
  channel.unref()
  channel.onmessage = (message) => {
    const line = (message as { data: string | null }).data
    if (line === null) channel.close()
    else for (const onLine of found) onLine(line)
  }
}
