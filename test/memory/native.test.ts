import { constants } from 'node:buffer'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { nowNs } from '../../src/memory/clock.ts'
import {
  clockMonotonicNs,
  cpuCount,
  currentCores,
  futexWait,
  futexWaitAsync,
  futexWake,
  mapPrivate,
  mapShared,
  NativeError,
  nativeAvailable,
  nativeReason,
  pinThread,
  unlinkShared,
  unmap,
} from '../../src/memory/native/index.ts'
import { startable } from '../entries.ts'

const door = startable(new URL('../../src/memory/native/index.ts', import.meta.url))
const nativeUrl = pathToFileURL(door.file).href
const prefix = `verbena-test-${process.pid}-`
let counter = 0
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'verbena-native-'))
})
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(() => {
  if (existsSync('/dev/shm'))
    for (const file of readdirSync('/dev/shm')) if (file.includes(prefix)) rmSync(`/dev/shm/${file}`)
})

function freshName(): string {
  return `${prefix}${counter++}`
}

function codeOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    expect(error).toBeInstanceOf(NativeError)
    return (error as NativeError).code
  }
  return 'no error'
}

/** Arguments of node for a program that has everything of native/index.ts as `native`. */
function program(text: string): string[] {
  const file = join(folder, `program-${counter++}.mjs`)
  writeFileSync(
    file,
    `import * as native from ${JSON.stringify(nativeUrl)}\nconst print = (value) => console.log(JSON.stringify(value))\n${text}\n`,
  )
  return [...door.execArgv, file]
}

function run(text: string, env: NodeJS.ProcessEnv = {}): unknown {
  return JSON.parse(
    execFileSync(process.execPath, program(text), { encoding: 'utf8', env: { ...process.env, ...env } }),
  )
}

function start(text: string): ChildProcess {
  return spawn(process.execPath, program(text), { stdio: ['ignore', 'pipe', 'inherit'] })
}

it('reports and throws where it is turned off', () => {
  const seen = run(
    `const code = (f) => { try { return f() } catch (e) { return [e.name, e.code, e.message] } }
print({ available: native.nativeAvailable, reason: native.nativeReason, map: code(() => native.mapShared('x', 4096, 'create')),
  udp: code(() => native.UdpSocket.open(new ArrayBuffer(8), { address: Uint8Array.of(127, 0, 0, 1), port: 0 })),
  clock: code(() => native.clockMonotonicNs()), pin: native.pinThread([0]), lock: native.lockMemory(), cores: native.currentCores(), why: native.lastError() })`,
    { VERBENA_NO_NATIVE: '1' },
  )
  expect(seen).toMatchObject({ available: false, pin: false, lock: false, cores: [] })
  expect(seen).toMatchObject({
    reason: expect.stringContaining('VERBENA_NO_NATIVE'),
    why: expect.stringContaining('VERBENA_NO_NATIVE'),
  })
  expect(seen).toMatchObject({ map: ['NativeError', 'EOPNOTSUPP', expect.stringContaining('VERBENA_NO_NATIVE')] })
  expect(seen).toMatchObject({ udp: ['NativeError', 'EOPNOTSUPP', expect.anything()] })
  expect(seen).toMatchObject({ clock: ['NativeError', 'EOPNOTSUPP', expect.anything()] })
})

describe.skipIf(!nativeAvailable)(`with the C library${nativeAvailable ? '' : ` (skipped: ${nativeReason})`}`, () => {
  describe('mapShared', () => {
    it('makes a segment of zeros that only its owner may open, once', () => {
      const name = freshName()
      const made = mapShared(name, 10_000, 'create')
      expect(made).toMatchObject({ created: true, sizeBytes: 10_000 })
      expect(made.buffer.byteLength).toBe(10_000)
      expect(new Uint8Array(made.buffer).every((byte) => byte === 0)).toBe(true)
      const stat = statSync(`/dev/shm/${name}`)
      expect(stat.mode & 0o777).toBe(0o600)
      expect(made.inode).toBe(stat.ino)
      expect(stat.nlink).toBe(1)
      expect(codeOf(() => mapShared(name, 10_000, 'create'))).toBe('EEXIST')
      expect(readdirSync('/dev/shm').filter((file) => file.includes(name))).toEqual([name])
      unmap(made.buffer)
    })

    it('opens an existing one in its own size, with the same contents', () => {
      const name = freshName()
      const a = mapShared(name, 8192, 'open-or-create')
      const b = mapShared(name, 1, 'open-or-create')
      const c = mapShared(name, 0, 'open')
      expect([a.created, b.created, c.created]).toEqual([true, false, false])
      expect([b.sizeBytes, c.sizeBytes]).toEqual([8192, 8192])
      expect(new Set([a.inode, b.inode, c.inode]).size).toBe(1)
      new Uint8Array(a.buffer)[8191] = 77
      expect(new Uint8Array(c.buffer)[8191]).toBe(77)
      expect(unlinkShared(name)).toBe(true)
      expect(unlinkShared(name)).toBe(false)
      const d = mapShared(name, 4096, 'open-or-create')
      expect(d.created).toBe(true)
      expect(d.inode).not.toBe(a.inode)
      for (const { buffer } of [a, b, c, d]) unmap(buffer)
    })

    it('says what is wrong and what to do', () => {
      const name = freshName()
      expect(codeOf(() => mapShared(name, 0, 'open'))).toBe('ENOENT')
      expect(() => mapShared(name, 0, 'open')).toThrow(/start the program that makes it first/)
      for (const size of [0, -1, 1.5, Number.NaN]) expect(codeOf(() => mapShared(name, size, 'create'))).toBe('EINVAL')
      expect(['EINVAL', 'EFBIG', 'ENOMEM']).toContain(codeOf(() => mapShared(name, 2 ** 50, 'create')))
      if (constants.MAX_LENGTH < 2 ** 40) {
        expect(['EINVAL', 'ENOSPC']).toContain(codeOf(() => mapShared(name, constants.MAX_LENGTH + 1, 'create')))
        expect(() => mapPrivate(constants.MAX_LENGTH + 1, { hugePages: true })).toThrow(/use Node 22/)
      }
      closeSync(openSync(`/dev/shm/${name}`, 'w', 0o600))
      truncateSync(`/dev/shm/${name}`, 2 ** 33)
      if (constants.MAX_LENGTH < 2 ** 33) expect(codeOf(() => mapShared(name, 4096, 'open'))).toBe('EINVAL')
      truncateSync(`/dev/shm/${name}`, 0)
      expect(() => mapShared(name, 4096, 'open')).toThrow(/not a segment.*delete it/)
      unlinkShared(name)
      symlinkSync('/dev/null', `/dev/shm/${name}`)
      expect(codeOf(() => mapShared(name, 4096, 'open'))).toBe('ELOOP')
      expect(codeOf(() => mapShared(name, 4096, 'open-or-create'))).toBe('ELOOP')
    })

    it('refuses what others can read or write', () => {
      const name = freshName()
      const path = `/dev/shm/${name}`
      unmap(mapShared(name, 8192, 'create').buffer)
      for (const mode of [0o602, 0o620, 0o604, 0o640, 0o666]) {
        chmodSync(path, mode)
        for (const how of ['open', 'open-or-create'] as const) {
          expect(codeOf(() => mapShared(name, 8192, how))).toBe('EACCES')
          expect(() => mapShared(name, 8192, how)).toThrow(`mode ${mode.toString(8)}, so other users`)
        }
      }
      chmodSync(path, 0o600)
      unmap(mapShared(name, 0, 'open').buffer)
    })

    // Only root can make what another user would have made.
    it.skipIf(process.geteuid?.() !== 0)('refuses what another user has made', () => {
      const name = freshName()
      unmap(mapShared(name, 8192, 'create').buffer)
      chownSync(`/dev/shm/${name}`, 65534, 65534)
      for (const how of ['open', 'open-or-create'] as const) {
        expect(codeOf(() => mapShared(name, 8192, how))).toBe('EACCES')
        expect(() => mapShared(name, 8192, how)).toThrow(
          /belongs to user 65534 \(mode 600\).*as user 0.*use another name/,
        )
      }
    })

    it('lets exactly one of many racing processes create', { timeout: 60_000 }, async () => {
      const name = freshName()
      const at = nowNs() + 1.5e9
      const children = Array.from({ length: 4 }, () =>
        start(`const sleepMs = (${at} - native.clockMonotonicNs()) / 1e6 - 50
if (sleepMs > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, sleepMs)
while (native.clockMonotonicNs() < ${at});
const seen = []
for (let i = 0; i < 50; i++) { const m = native.mapShared('${name}-' + i, 4096 * (1 + i % 3), 'open-or-create'); seen.push([m.created, m.sizeBytes]) }
print(seen)`),
      )
      const outputs = await Promise.all(
        children.map(async (child) => {
          let text = ''
          child.stdout!.on('data', (data) => {
            text += data
          })
          await once(child, 'close')
          return JSON.parse(text) as [boolean, number][]
        }),
      )
      for (let i = 0; i < 50; i++) {
        expect(outputs.filter((seen) => seen[i]![0])).toHaveLength(1)
        for (const seen of outputs) expect(seen[i]![1]).toBe(4096 * (1 + (i % 3)))
      }
    })

    it('is one memory with another process, also for Atomics', () => {
      const name = freshName()
      const { buffer } = mapShared(name, 4096, 'create')
      const i32 = new Int32Array(buffer)
      i32[0] = 5
      expect(
        run(
          `const i32 = new Int32Array(native.mapShared('${name}', 0, 'open').buffer); print(Atomics.add(i32, 0, 10))`,
        ),
      ).toBe(5)
      expect(Atomics.load(i32, 0)).toBe(15)
      unmap(buffer)
    })
  })

  describe('unmap', () => {
    it('leaves zeros behind, not the segment and not a crash', () => {
      const name = freshName()
      const { buffer } = mapShared(name, 4096, 'create')
      const bytes = new Uint8Array(buffer).fill(9)
      unmap(buffer)
      unmap(buffer)
      expect(bytes[0]).toBe(0)
      expect(new Uint8Array(mapShared(name, 0, 'open').buffer)[0]).toBe(9)
      expect(codeOf(() => futexWake(buffer, 0, 1))).toBe('EINVAL')
      expect(codeOf(() => futexWake(new ArrayBuffer(8), 0, 1))).toBe('EINVAL')
    })

    it('gives the address range back when the buffer is collected', () => {
      const seen = run(`
import { readFileSync } from 'node:fs'
import v8 from 'node:v8'
v8.setFlagsFromString('--expose-gc')
const gc = (await import('node:vm')).runInNewContext('gc')
// Writable ranges only: V8 reserves gigabytes without access whenever it likes.
const writableKb = () => readFileSync('/proc/self/maps', 'latin1').split('\\n').filter((line) => line.includes(' rw-p '))
  .reduce((sum, line) => { const [from, to] = line.split(' ')[0].split('-'); return sum + (parseInt(to, 16) - parseInt(from, 16)) / 1024 }, 0)
const before = writableKb()
for (let i = 0; i < 32; i++) native.unmap(native.mapPrivate(16 << 20, { hugePages: false }).buffer)
const during = writableKb()
for (let i = 0; i < 20; i++) { gc(); await new Promise((r) => setTimeout(r, 10)) }
print({ held: during - before, left: writableKb() - before })`) as { held: number; left: number }
      // Half of the ranges, in KiB.
      expect(seen.left).toBeLessThan(1 << 18)
      expect(seen.held).toBeGreaterThanOrEqual(seen.left)
    })
  })

  it.each([false, true])('mapPrivate gives writable memory of the size asked for (huge pages: %s)', (hugePages) => {
    for (const size of [1, 4096, 2 << 20, (4 << 20) + 5]) {
      const mapping = mapPrivate(size, { hugePages })
      expect(mapping.buffer.byteLength).toBe(size)
      expect(hugePages ? ['hugetlb', 'thp', false] : [false]).toContain(mapping.hugePages)
      const bytes = new Uint8Array(mapping.buffer)
      expect(bytes[size - 1]).toBe(0)
      bytes[size - 1] = 3
      unmap(mapping.buffer)
    }
    expect(codeOf(() => mapPrivate(0, { hugePages }))).toBe('EINVAL')
  })

  describe('futex', () => {
    it('does not wait for a word that differs, and waits no longer than asked', async () => {
      const { buffer } = mapPrivate(4096, { hugePages: false })
      new Int32Array(buffer)[3] = -5
      expect(futexWait(buffer, 12, 4, 60e9)).toBe('not-equal')
      expect(await futexWaitAsync(buffer, 12, 4, 60e9)).toBe('not-equal')
      for (const timeoutNs of [-1, 0, 1500.5, 3e6]) {
        const before = nowNs()
        expect(futexWait(buffer, 12, -5, timeoutNs)).toBe('timed-out')
        expect(await futexWaitAsync(buffer, 12, -5, timeoutNs)).toBe('timed-out')
        expect(nowNs() - before).toBeGreaterThanOrEqual(2 * Math.max(0, Math.floor(timeoutNs)))
      }
      // An unsigned word means the same bits.
      expect(futexWait(buffer, 12, -5 >>> 0, 1e6)).toBe('timed-out')
      expect(futexWake(buffer, 12, 1)).toBe(0)
      for (const offset of [1, 2, -4, 4096, 4094]) expect(codeOf(() => futexWake(buffer, offset, 1))).toBe('EINVAL')
      await expect(futexWaitAsync(buffer, 2, 0, 1)).rejects.toBeInstanceOf(NativeError)
      unmap(buffer)
    })

    it('wakes waiters of this thread that wait asynchronously, over several pieces', async () => {
      const { buffer } = mapPrivate(4096, { hugePages: false })
      const waits = [futexWaitAsync(buffer, 0, 0, Number.POSITIVE_INFINITY), futexWaitAsync(buffer, 0, 0, 60e9)]
      await new Promise((resolve) => setTimeout(resolve, 250))
      // Between two pieces nobody waits; a program changes the word before it wakes.
      Atomics.store(new Int32Array(buffer), 0, 1)
      futexWake(buffer, 0, 10)
      expect(await Promise.all(waits)).toEqual(['ok', 'ok'])
      unmap(buffer)
    })

    it('serves more asynchronous waits than the pool has threads', async () => {
      const { buffer } = mapPrivate(4096, { hugePages: false })
      const waits = Array.from({ length: 20 }, () => futexWaitAsync(buffer, 0, 0, 20e6))
      expect(new Set(await Promise.all(waits))).toEqual(new Set(['timed-out']))
      unmap(buffer)
    })

    it('wakes a process by another, to and fro', { timeout: 60_000 }, async () => {
      const name = freshName()
      const { buffer } = mapShared(name, 4096, 'create')
      const i32 = new Int32Array(buffer)
      const rounds = 2000
      const child = start(`const { buffer } = native.mapShared('${name}', 0, 'open')
const i32 = new Int32Array(buffer)
let waited = 0
for (let round = 0; round < ${rounds}; round++) {
  for (let seen; (seen = Atomics.load(i32, 0)) <= round; ) if (native.futexWait(buffer, 0, seen, 10e9) === 'ok') waited++
  Atomics.store(i32, 16, round + 1)
  native.futexWake(buffer, 64, 1)
}
print(waited)`)
      const closed = once(child, 'close')
      const output = once(child.stdout!, 'data')
      for (let round = 0; round < rounds; round++) {
        Atomics.store(i32, 0, round + 1)
        futexWake(buffer, 0, 1)
        for (let seen = Atomics.load(i32, 16); seen <= round; seen = Atomics.load(i32, 16))
          if (futexWait(buffer, 64, seen, 30e9) === 'timed-out') throw new Error(`no answer in round ${round}`)
      }
      expect(Number(String((await output)[0]))).toBeGreaterThan(0)
      await closed
      unmap(buffer)
    })

    it('wakes an asynchronous wait from another process', { timeout: 60_000 }, async () => {
      const name = freshName()
      const { buffer } = mapShared(name, 4096, 'create')
      const i32 = new Int32Array(buffer)
      const child = start(`const { buffer } = native.mapShared('${name}', 0, 'open')
Atomics.store(new Int32Array(buffer), 1, 1)
native.futexWake(buffer, 4, 1)`)
      const closed = once(child, 'close')
      while (Atomics.load(i32, 1) === 0) expect(await futexWaitAsync(buffer, 4, 0, 30e9)).not.toBe('timed-out')
      await closed
      unmap(buffer)
    })

    it('does not hold up the end of the process', () => {
      const before = nowNs()
      run(`const { buffer } = native.mapPrivate(4096, { hugePages: false })
void native.futexWaitAsync(buffer, 0, 0, 3600e9)
setTimeout(() => { print(1); process.exit() }, 20)`)
      expect(nowNs() - before).toBeLessThan(60e9)
    })
  })

  it('reads the clock that process.hrtime reads', () => {
    const before = nowNs()
    const now = clockMonotonicNs()
    expect(Number.isSafeInteger(now)).toBe(true)
    expect(now).toBeGreaterThanOrEqual(before)
    expect(nowNs()).toBeGreaterThanOrEqual(now)
  })

  it('chooses cores for the calling thread', () => {
    const cores = currentCores()
    expect(cores.length).toBeGreaterThan(0)
    expect(cpuCount).toBeGreaterThan(0)
    expect(
      run(`const cores = native.currentCores()
const pinned = native.pinThread([cores[0]])
const now = native.currentCores()
print({ pinned, one: now.length === 1 && now[0] === cores[0], back: native.pinThread(cores), all: native.currentCores().length === cores.length,
  none: native.pinThread([]), far: native.pinThread([8191]), bad: native.pinThread([-1]), why: native.lastError() })`),
    ).toEqual({
      pinned: true,
      one: true,
      back: true,
      all: true,
      none: false,
      far: false,
      bad: false,
      why: 'there is no core -1',
    })
    expect(pinThread(cores)).toBe(true)
  })

  it('locks memory, or says why not, leaves large mappings unpopulated, and lets workers end', () => {
    const seen = run(`import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
const status = (field) => Number(new RegExp(field + ':\\\\s+(\\\\d+)').exec(readFileSync('/proc/self/status', 'latin1'))[1])
const before = native.mapPrivate(64 << 10, { hugePages: false }).buffer
const wasm = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
const locked = native.lockMemory(wasm.buffer, new ArrayBuffer(0))
const lockedKb = status('VmLck')
const { buffer } = native.mapShared('${freshName()}', 4 << 20, 'create')
new Uint8Array(buffer)[0] = 1
const laterKb = status('VmLck')
const rssKb = status('RssShmem')
await once(new Worker('', { eval: true }), 'exit')
native.unmap(before)
native.unmap(buffer)
print({ locked, why: native.lastError(), lockedKb, laterKb, rssKb, afterKb: status('VmLck') })`) as Record<
      string,
      number | string | boolean
    >
    if (seen.locked) {
      expect(seen).toMatchObject({ why: '', lockedKb: 128, laterKb: 128 + 4096, afterKb: 64 })
    } else expect(seen.why).toMatch(/ulimit -l|CAP_IPC_LOCK/)
    expect(seen.rssKb).toBeLessThan(1024)
  })
})
