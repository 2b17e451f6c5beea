/** What is idle does not wake: the threads of `verbena run` and of adapters that wait for descriptors. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { segmentFilePrefix, sleepMs } from '../../src/memory/index.ts'
import { command } from '../built.ts'

const library = fileURLToPath(new URL('../../dist/index.js', import.meta.url))
const net = fileURLToPath(new URL('../../dist/net.js', import.meta.url))
/** A network of its own, so that no other process has the adapter. */
const alone = ['unshare', '-rn', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
const canBeAlone = spawnSync(alone[0]!, [...alone.slice(1), 'true']).status === 0
/** The number of ppoll(2). */
const poll = process.platform === 'linux' ? { x64: 271, arm64: 73 }[process.arch as string] : undefined

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGTERM')
})
const start = (words: readonly string[]): number => {
  const child = spawn(words[0]!, words.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] })
  children.push(child)
  return child.pid!
}

/** How often each thread that blocks on descriptors has woken, by thread. Those of V8 and of the event loop wait in other ways, and have work of their own. */
function wakes(pid: number): Map<string, number> {
  const found = new Map<string, number>()
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      const folder = `/proc/${pid}/task/${task}`
      if (Number(readFileSync(`${folder}/syscall`, 'latin1').split(' ')[0]) !== poll) continue
      found.set(task, Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(readFileSync(`${folder}/status`, 'latin1'))![1]))
    } catch {
      // It has ended.
    }
  }
  return found
}

const windowMs = 4000
/** A look each 250 ms were 16. */
const mostWakes = 5

/** How many threads there are, once none of them has woken more than a few times within a while. */
async function whenAtRest(pid: number, threads: number): Promise<void> {
  await expect
    .poll(
      () => {
        const before = wakes(pid)
        sleepMs(windowMs)
        const counts = [...wakes(pid)].map(([task, count]) => count - (before.get(task) ?? 0))
        return counts.length === threads && counts.every((count) => count <= mostWakes) ? 'rests' : counts
      },
      { timeout: 60_000, interval: 10 },
    )
    .toBe('rests')
}

it('a worker that ends while all rest is cleaned up after within moments', async () => {
  const program = `import { openDevice } from ${JSON.stringify(library)}
    import { Worker } from 'node:worker_threads'
    const name = 'shm:rest-worker-' + process.pid
    const context = openDevice(name)
    const { segment } = context.device.host
    const worker = new Worker(
      'import(${JSON.stringify(library)}).then(({ openDevice }) => { openDevice(process.env.NAME); setInterval(() => {}, 1e6) })',
      { eval: true, env: { NAME: name } })
    const attached = () => [...segment.uses()].length
    while (attached() < 2) await new Promise((resolve) => setTimeout(resolve, 20))
    // Looks that came half as often each time would be 8 s apart by now.
    await new Promise((resolve) => setTimeout(resolve, 16_000))
    await worker.terminate()
    const began = performance.now()
    while (attached() > 1) await new Promise((resolve) => setTimeout(resolve, 20))
    console.log(performance.now() - began)
    context.close()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  expect(Number(await text(child.stdout))).toBeLessThan(5000)
})

it.skipIf(!canBeAlone).each([
  { instances: 0, code: 1, says: /^verbena: .*fs\.inotify\.max_user_instances.*\n$/ },
  // Enough for the doorbells of programs: who rests looks then.
  { instances: 1, code: 0, says: /^started\n$/ },
])('a run of a user with $instances watchers of files ends with $code', ({ instances, code, says }) => {
  const script = `echo ${instances} > /proc/sys/user/max_inotify_instances && exec "$@"`
  const device = `shm:rest-watchers-${process.pid}`
  const run = [process.execPath, command, 'run', '--device', device, '--', 'echo', 'started']
  const { status, stdout, stderr } = spawnSync('unshare', ['-r', 'sh', '-c', script, 'sh', ...run], {
    encoding: 'utf8',
  })
  rmSync(`/dev/shm/${segmentFilePrefix}${device.slice(4)}`, { force: true })
  expect({ status, says: stdout + stderr }).toEqual({ status: code, says: expect.stringMatching(says) })
})

describe.skipIf(poll === undefined)('at rest nothing wakes', () => {
  it('in a run on shm', async () => {
    const name = `rest-${process.pid}`
    try {
      const pid = start([process.execPath, command, 'run', '--device', `shm:${name}`, '--', 'sleep', '300'])
      await whenAtRest(pid, 1)
    } finally {
      rmSync(`/dev/shm/${segmentFilePrefix}${name}`, { force: true })
    }
  })

  it.skipIf(!canBeAlone)('in a run on roce, nor in the thread that drives the adapter', async () => {
    const pid = start([...alone, process.execPath, command, 'run', '--device', 'roce:127.0.0.1', '--', 'sleep', '300'])
    await whenAtRest(pid, 2)
  })

  it.skipIf(!canBeAlone).each([
    {
      what: 'that has a roce adapter open',
      program: `import { openDevice } from ${JSON.stringify(library)}
      openDevice('roce:127.0.0.1')
      setInterval(() => {}, 2 ** 30)`,
    },
    {
      what: 'whose rsocket listens',
      program: `import { createServer } from ${JSON.stringify(net)}
      createServer().listen(7471, '127.0.0.1')`,
    },
  ])('in a process $what', async ({ program }) => {
    const pid = start([...alone, process.execPath, '--input-type=module', '-e', program])
    await whenAtRest(pid, 1)
  })
})
