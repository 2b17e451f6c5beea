/**
 * Nobody is woken under a lock or inside an operation: the kernel may run the thread that is woken at once in place of the one that woke
 * it, which would then wait for what that one holds.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Context, openDevice } from '../../../src/index.ts'
import { nativeAvailable } from '../../../src/memory/index.ts'
import { Attachment, attachmentWord } from '../../../src/memory/segment-layout.ts'
import * as net from '../../../src/net.ts'
import { startable } from '../../entries.ts'
import { loopbackDevice } from '../../loopback.ts'
import { watchCalls } from './calls.ts'

const addressOf = (device: string): string => (device.startsWith('roce:') ? device.slice('roce:'.length) : '127.0.0.1')

/** Notes each wake-up by this thread in the segment of a device, and what it holds then. */
function watch(context: Context): { wakes: () => number; wrong: Set<string>; end(): void } {
  const { segment } = context.device.host
  const { i32, parking, lockValue } = segment
  const held = new Set<number>()
  const wrong = new Set<string>()
  let wakes = 0
  const look = (): void => {
    wakes++
    for (const word of held) if (i32[word] === lockValue) wrong.add(`lock ${word}: ${new Error().stack}`)
    if ((i32[attachmentWord(segment.me) + Attachment.operation]! & 1) === 1)
      wrong.add(`operation: ${new Error().stack}`)
  }
  const ends = [
    watchCalls(segment, ['lock', 'tryLock'], (_, [word]) => held.add(word as number)),
    watchCalls(segment, ['unlock'], (_, [word]) => held.delete(word as number)),
    watchCalls(segment, ['notify'], look),
    watchCalls(parking.loop, ['wake'], look),
  ]
  return {
    wakes: () => wakes,
    wrong,
    end: () => {
      for (const end of ends) end()
    },
  }
}

describe.skipIf(!nativeAvailable).each([`shm:wakes-${process.pid}`, loopbackDevice(1)])('on %s', (device) => {
  let server: ChildProcess
  let port: number
  let context: Context

  beforeAll(async () => {
    context = openDevice(device)
    const { file, execArgv } = startable(new URL('./switches.process.ts', import.meta.url))
    server = fork(file, ['server', device, addressOf(device)], { execArgv })
    const [message] = (await once(server, 'message')) as [{ port: number }]
    port = message.port
  })
  afterAll(async () => {
    const ended = once(server, 'exit')
    server.disconnect()
    await ended
    context.close()
  })

  it('connections that come and go, and what they carry', async () => {
    const watched = watch(context)
    try {
      for (let life = 0; life < 3; life++) {
        const socket = net.connect({ device, host: addressOf(device), port })
        await once(socket, 'connect')
        for (let i = 0; i < 20; i++) {
          socket.write('x')
          await once(socket, 'data')
        }
        socket.end()
        await once(socket, 'close')
      }
    } finally {
      watched.end()
    }
    expect([...watched.wrong]).toEqual([])
    // What wakes is watched: how often depends on how busy the machine is.
    expect(watched.wakes()).toBeGreaterThan(5)
  })
})
