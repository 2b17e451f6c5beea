/** Listeners whose sockets fail to accept. */
import { afterEach, expect, it } from 'vitest'
import { Listener } from '../../src/node/base/listener.ts'
import { type OpenSocket, replaceTransport } from '../../src/node/base/transport.ts'
import { Errno, type RSocketLike } from '../../src/rsocket/index.ts'

let before: OpenSocket | undefined
afterEach(() => {
  if (before) replaceTransport(before)
})

/** A listener, what it reports, and how its socket becomes readable with these results of `accept`. */
function listener(): { events: string[]; readable: (...results: (number | RSocketLike)[]) => void } {
  const results: (number | RSocketLike)[] = []
  const events: string[] = []
  let callback = (): void => {}
  const socket = {
    bind: () => 0,
    listen: () => 0,
    fcntl: () => 0,
    setsockopt: () => 0,
    accept: () => results.shift() ?? -Errno.EAGAIN,
    watch: (_events: number, called: () => void) => {
      callback = called
      return Object.assign(() => {}, { ref() {}, unref() {} })
    },
    reason: '',
  }
  before = replaceTransport(() => socket as unknown as RSocketLike)
  const opened = Listener.open(
    { address: '127.0.0.1', port: 1, family: 4, backlog: 1 },
    { connection: () => events.push('connection'), failed: ({ code }) => events.push(code) },
  )
  expect(opened).toBeInstanceOf(Listener)
  return {
    events,
    readable: (...more) => {
      results.push(...more)
      callback()
    },
  }
}

const accepted = { fcntl: () => 0 } as unknown as RSocketLike

it.each(['EMFILE', 'ENOMEM', 'ENOBUFS', 'EPROTO', 'ECONNABORTED'] as const)('one goes on after %s', (code) => {
  const { events, readable } = listener()
  readable(-Errno[code], accepted)
  readable(accepted)
  readable()
  expect(events.filter((event) => event === 'connection').length).toBeGreaterThan(0)
  expect(new Set(events)).toEqual(new Set(['connection']))
})

it.each(['EBADF', 'EINVAL', 'ENODEV'] as const)('one is over after %s', (code) => {
  const { events, readable } = listener()
  readable(accepted, -Errno[code], accepted)
  expect(events).toEqual(['connection', code])
})
