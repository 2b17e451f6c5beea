/**
 * The process with the other end: end.process.ts REQUESTS ANSWERS, two FIFOs. It does what the test's proxies ask (remote.ts), in its
 * event loop, which goes on between two requests. It ends when the test does.
 */
import { constants, openSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { type CompletionQueue, openDevice, type WorkCompletion, workCompletions } from '../../../src/index.ts'
import { registerService, unregisterService } from '../../../src/verbs/provider/index.ts'
import { type Codec, decode, encode, Frames, frame, isValue, marked, type Request, symbols, thrown } from './values.ts'

const [requestsPath, answersPath] = process.argv.slice(2)

/** Objects and promises that the test knows, by their numbers. */
const objects = new Map<number, object>()
const ids = new WeakMap<object, number>()
let memory: ArrayBufferLike | undefined

function idOf(object: object): number {
  let id = ids.get(object)
  if (id === undefined) {
    id = objects.size + 1
    ids.set(object, id)
    objects.set(id, object)
  }
  return id
}

const codec: Codec = {
  memory: () => memory,
  nameOf(value) {
    if (typeof value === 'function') return marked('method', 0)
    if (value instanceof Promise) return marked('promise', idOf(value))
    return isValue(value) ? undefined : marked('object', idOf(value), value.constructor.name)
  },
  named: ({ id }) => objects.get(id),
}

/** By room: what `poll` fills. */
const room = new Map<number, WorkCompletion[]>()

function poll(cq: CompletionQueue, count: number, max: number | undefined): { n: number; taken: WorkCompletion[] } {
  const wc = room.get(count) ?? workCompletions(count)
  room.set(count, wc)
  const n = max === undefined ? cq.poll(wc) : cq.poll(wc, max)
  return { n, taken: wc.slice(0, Math.max(n, 0)) }
}

/** The states of promises: what they were fulfilled with, or an error. */
const settled = new WeakMap<object, { value: unknown } | { error: unknown }>()

function watch(promise: Promise<unknown>): void {
  promise.then(
    (value) => settled.set(promise, { value }),
    (error: unknown) => settled.set(promise, { error }),
  )
}

/** What `alloc` has returned, by its place: `free` takes the very array, and from the other process comes another one of the same bytes. */
const buffers = new Map<number, Uint8Array>()

function perform(request: Request): unknown {
  if (request.op === 'service') {
    const args = decode(codec, request.args) as Parameters<typeof registerService>
    return request.name === 'register' ? registerService(...args) : unregisterService(args[0], args[1], args[2])
  }
  if (request.op === 'open') {
    const context = openDevice(...(request.args as Parameters<typeof openDevice>))
    memory ??= context.device.host.segment.buffer
    return context
  }
  const object = objects.get(request.id) as Record<PropertyKey, unknown>
  if (request.op === 'poll') return poll(object as never, request.count, request.max)
  if (request.op === 'settled') {
    const state = settled.get(object)
    if (state !== undefined && 'error' in state) throw state.error
    return state === undefined ? null : [state.value]
  }
  const name = symbols[request.name] ?? request.name
  if (request.op === 'get') return object[name]
  if (request.op === 'set') {
    object[name] = decode(codec, request.value)
    return undefined
  }
  const args = decode(codec, request.args) as unknown[]
  if (name === 'free') args[0] = buffers.get((args[0] as Uint8Array).byteOffset) ?? args[0]
  const result = (object[name] as (...args: unknown[]) => unknown)(...args)
  if (result instanceof Promise) watch(result)
  if (name === 'alloc') buffers.set((result as Uint8Array).byteOffset, result as Uint8Array)
  return result
}

function answer(request: Request): object {
  try {
    return { value: encode(codec, perform(request)) }
  } catch (error) {
    return { error: thrown(codec, error) }
  }
}

const answers = openSync(answersPath!, constants.O_WRONLY)

function write(value: unknown): void {
  const bytes = frame(value)
  for (let at = 0; at < bytes.length; ) at += writeSync(answers, bytes, at)
}

const requests = new Frames()
const fd = openSync(requestsPath!, constants.O_RDONLY | constants.O_NONBLOCK)
const socket = new Socket({ fd, readable: true, writable: false })
socket.on('data', (bytes) => {
  requests.add(bytes)
  for (let next = requests.next<Request>(); next !== null; next = requests.next<Request>()) write(answer(next[0]))
})
socket.on('close', () => process.exit(0))
write({ value: 'ready' })
