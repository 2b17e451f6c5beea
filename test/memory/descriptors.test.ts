/** Descriptors that processes pass to each other, and what other users, silent clients and lying servers achieve: nothing. */
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { fstatSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  closeFd,
  DescriptorServer,
  fetchDescriptors,
  maxPassed,
  NativeError,
  nativeAvailable,
  nativeReason,
  type Passed,
  UdpSocket,
} from '../../src/memory/index.ts'
import { startable } from '../entries.ts'
import { startDescriptorThread } from './descriptor-thread.ts'
import type { Command, State } from './descriptors.process.ts'

const nobody = 65534
const { file, execArgv } = startable(new URL('./descriptors.process.ts', import.meta.url))
const open = (): number => readdirSync('/proc/self/fd').length

let names = 0
/** As long as can be: Node 20 knows abstract names of this length only, others it fills up with zeros. */
const freshName = (): string => `verbena-test-${process.pid}-${names++}-`.padEnd(107, 'x')

function codeOf(action: () => unknown): string {
  try {
    action()
    return 'no error'
  } catch (error) {
    expect(error).toBeInstanceOf(NativeError)
    return (error as NativeError).code
  }
}

describe.skipIf(nativeAvailable)(`passing descriptors: ${nativeReason}`, () => {
  it.skip('needs the native layer', () => {})
})

describe.skipIf(!nativeAvailable)('passing descriptors', () => {
  const children: ChildProcess[] = []
  afterEach(async () => {
    const running = children.splice(0).filter((child) => child.exitCode === null && child.signalCode === null)
    const exits = running.map((child) => once(child, 'exit'))
    for (const child of running) child.kill('SIGKILL')
    await Promise.all(exits)
  })

  async function start(uid = 0): Promise<ChildProcess> {
    const child = fork(file, [`${uid}`], { execArgv: [...execArgv, '--expose-gc'] })
    children.push(child)
    await once(child, 'message')
    return child
  }

  async function ask<T>(child: ChildProcess, command: Command): Promise<T> {
    child.send(command)
    const [answer] = await once(child, 'message')
    return answer as T
  }

  // What is made once and kept: scratch memory, and what Node opens for its first process.
  beforeAll(() => {
    expect(codeOf(() => fetchDescriptors(freshName(), 1000))).toBe('ECONNREFUSED')
  })

  it('a socket goes on receiving when the process that opened it has been killed', async () => {
    const owner = await start()
    const name = freshName()
    const port = await ask<number>(owner, { serve: name })
    const owned: Passed[] = []
    const all = fetchDescriptors(name, 5000, (passed) => owned.push(...passed))
    expect(all.map(({ tag }) => tag)).toEqual([-7])
    expect(owned).toEqual(all)
    const { fd } = all[0]!
    // O_CLOEXEC
    expect(Number.parseInt(/flags:\s+(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))![1]!, 8)).toSatisfy(
      (flags: number) => (flags & 0o2000000) !== 0,
    )
    owner.kill('SIGKILL')
    await once(owner, 'exit')
    const memory = new SharedArrayBuffer(65_536)
    const socket = UdpSocket.adopt(memory, fd, 4)
    expect(socket.port).toBe(port)
    const sender = createSocket('udp4')
    sender.send(Uint8Array.of(1, 2, 3), port, '127.0.0.1')
    await expect.poll(() => socket.receive(0, 65_536)).toBe(3)
    expect([...new Uint8Array(memory, 0, 3)]).toEqual([1, 2, 3])
    sender.close()
    socket.close()
    closeFd(fd)
  })

  it('as many as one message takes, in order', async () => {
    const name = freshName()
    const [server, client] = [await start(), await start()]
    await ask(server, { serve: name, more: maxPassed - 1 })
    expect(await ask(client, { fetch: name })).toBe([-7, ...Array(maxPassed - 1).keys()].join())
    expect(codeOf(() => fetchDescriptors(freshName(), 1000))).toBe('ECONNREFUSED')
    const tooMany = freshName()
    await ask(server, { serve: tooMany, more: maxPassed })
    expect(await ask(client, { fetch: tooMany })).toBe('EACCES')
    expect(await ask<State>(server, 'state')).toMatchObject({ served: 0, failed: 1 })
  })

  it('none, and an offer that throws', async () => {
    const client = await start()
    const name = freshName()
    let offer = (): Passed[] => []
    const server = new DescriptorServer(name, () => offer())
    expect(await ask(client, { fetch: name })).toBe('')
    offer = () => {
      throw new Error('as a program may')
    }
    expect(await ask(client, { fetch: name })).toBe('EACCES')
    // One that is closed already.
    offer = () => [{ fd: 1_000_000, tag: 1 }]
    expect(await ask(client, { fetch: name })).toBe('EACCES')
    expect(server).toMatchObject({ served: 1, refused: 0, failed: 2 })
    expect(codeOf(() => new DescriptorServer(name, offer))).toBe('EADDRINUSE')
    server.close()
    expect(await ask(client, { fetch: name })).toBe('ECONNREFUSED')
    server.close()
    expect(codeOf(() => new DescriptorServer('x'.repeat(108), offer))).toBe('EINVAL')
  })

  it('a client without room gets none', async () => {
    const server = await start()
    const name = freshName()
    await ask(server, { serve: name, more: 99 })
    const door = JSON.stringify(startable(new URL('../../src/memory/index.ts', import.meta.url)).file)
    const script = `
      const { fetchDescriptors } = await import(${door})
      const { readdirSync } = await import('node:fs')
      const before = readdirSync('/proc/self/fd').length
      try { fetchDescriptors(${JSON.stringify(name)}, 5000) } catch ({ code }) {
        console.log(code, readdirSync('/proc/self/fd').length - before)
      }`
    const limited = ['-c', 'ulimit -n 64 && exec "$0" "$@"', process.execPath, ...execArgv]
    const { stdout } = spawnSync('sh', [...limited, '--input-type=module', '-e', script], { encoding: 'utf8' })
    expect(stdout).toBe('EMFILE 0\n')
  })

  it('a server keeps neither its process nor its thread alive, and ends with it', async () => {
    const before = open()
    const name = freshName()
    const told = startDescriptorThread(name)
    await once(told, 'message')
    expect(fetchDescriptors(name, 5000)).toEqual([])
    told.postMessage('close')
    expect(await once(told, 'exit')).toEqual([0])
    const ended = startDescriptorThread(name)
    await once(ended, 'message')
    expect(fetchDescriptors(name, 5000)).toEqual([])
    await ended.terminate()
    expect(codeOf(() => fetchDescriptors(name, 5000))).toBe('ECONNREFUSED')
    await expect.poll(open).toBe(before)
    const child = await start()
    await ask(child, { serve: name })
    child.disconnect()
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  it('a thousand clients that say nothing and read nothing leave nothing', async () => {
    const server = await start()
    const name = freshName()
    await ask(server, { serve: name, more: 3 })
    const round = async (): Promise<void> => {
      const clients = Array.from({ length: 100 }, () => connect(`\0${name}`).pause())
      await Promise.all(clients.map((client) => once(client, 'connect')))
      // All have been accepted: each has something to read.
      await Promise.all(
        clients.map((client) => new Promise<void>((resolve) => client.once('readable', () => resolve()))),
      )
      for (const client of clients) client.destroy()
    }
    await round()
    const before = await ask<State>(server, 'state')
    for (let n = 0; n < 9; n++) await round()
    const after = await ask<State>(server, 'state')
    expect(after).toMatchObject({ served: 1000, failed: 0, descriptors: before.descriptors })
    expect(after.heapBytes - before.heapBytes).toBeLessThan(500_000)
  })

  const lies: [string, { payload: number[]; count: number }][] = [
    ['no descriptors, but says so', { payload: [2, 0, 0], count: 0 }],
    ['more descriptors than it says', { payload: [1, 0], count: 2 }],
    ['fewer descriptors than it says', { payload: [3, 0, 0, 0], count: 2 }],
    ['too few tags', { payload: [2, 0], count: 2 }],
    ['too many tags', { payload: [2, 0, 0, 0], count: 2 }],
    ['a count beyond all bounds', { payload: [0xffff_ffff, 0, 0], count: 2 }],
    ['as many descriptors as the kernel takes', { payload: [1, 0], count: 253 }],
    ['more payload than there is room for', { payload: Array(400).fill(1), count: 2 }],
  ]
  it('what a lying server sends is closed', async () => {
    const liar = await start()
    for (const [what, { payload, count }] of lies) {
      const name = freshName()
      await ask(liar, { lie: name, payload, count })
      const before = open()
      expect(
        codeOf(() => fetchDescriptors(name, 5000)),
        what,
      ).toBe('EPROTO')
      expect(open(), what).toBe(before)
    }
    // Standard output, which it has sent, is still open here.
    expect(fstatSync(1).ino).toBeGreaterThan(0)
  })

  it('a server that does not answer is not waited for beyond the time', async () => {
    const liar = await start()
    const name = freshName()
    await ask(liar, { lie: name, payload: null })
    const before = open()
    const startMs = performance.now()
    expect(codeOf(() => fetchDescriptors(name, 30))).toBe('ETIMEDOUT')
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(29)
    expect(codeOf(() => fetchDescriptors(name, 0))).toBe('ETIMEDOUT')
    expect(open()).toBe(before)
  })

  it.skipIf(process.geteuid?.() !== 0)('another user gets nothing, and nothing is taken from it', async () => {
    const [server, stranger] = [await start(), await start(nobody)]
    const name = freshName()
    await ask(server, { serve: name })
    expect(await ask(stranger, { fetch: name })).toBe('EACCES')
    expect(await ask<State>(server, 'state')).toMatchObject({ served: 0, refused: 1, failed: 0 })
    const theirs = freshName()
    await ask(stranger, { serve: theirs })
    const before = open()
    expect(codeOf(() => fetchDescriptors(theirs, 5000))).toBe('EPERM')
    expect(open()).toBe(before)
    // Of two processes of that user, each trusts the other, and both trust root.
    expect(await ask(await start(nobody), { fetch: theirs })).toBe('-7')
  })
})
