/**
 * The load that was asked for, on live devices. What a device can do is measured first, so that nothing depends on how fast the machine
 * is. A run counts only if the device can do as much after it as before, and if this process did not wait for
 * a processor meanwhile; neither depends on what the run has reached. Where other programs leave no such run, the test
 * is skipped: so it is among the tests that run one at a time.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { canShare, freePort, segment } from '../cli/ends.ts'
import { begin } from '../cli/in-process.ts'
import { loopbackDevice } from '../loopback.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-load-'))
afterAll(() => rmSync(folder, { recursive: true }))
const shared = segment()
const devices = [
  { on: 'shm', from: shared, to: shared },
  { on: 'roce', from: loopbackDevice(1), to: loopbackDevice(2) },
]
const bytes = 16_384
const seconds = 4
const attempts = 4
/**
 * ACK timeout, 1 s. With the default, 67 ms, requests failed where programs beside kept a thread that acknowledges from the processors for half a
 * second.
 */
const timeout = 18
/** What a thread that is busy may wait for a processor, of its time. */
const mostWaiting = 0.1

interface Rates {
  asked: { requests: number; perSecond: number; bitsPerSecond: number }
  reached: { perSecond: number; bitsPerSecond: number }
  all: { done: number; failed: number }
}

async function run(from: string, to: string, rest: string): Promise<Rates> {
  const port = await freePort()
  const file = join(folder, 'load.yaml')
  writeFileSync(file, `servers: ["127.0.0.1:${port}"]\nflow: push\nsize: ${bytes}\ntimeout: ${timeout}\n${rest}\n`)
  const server = begin(['traffic', 'server', '-d', to, '-p', port, '--once'])
  await server.says(/listening/)
  const { code, stdout, stderr } = await begin(['traffic', 'client', file, '-d', from, '--json']).outcome
  // Either says why: requests that failed are counted in what is printed.
  expect(code, `${stderr}${stdout}`).toBe(0)
  await server.outcome
  return JSON.parse(stdout) as Rates
}

const capacity = async (from: string, to: string): Promise<number> =>
  (await run(from, to, 'duration: 1\narrival: { type: closed, depth: 64 }')).reached.perSecond

interface Times {
  /** Nanoseconds. */
  ran: number
  waited: number
}

/** How long each thread ran, and was ready to run and did not, where the kernel counts that. */
function times(): Map<string, Times> {
  try {
    return new Map(
      readdirSync('/proc/self/task').map((task) => {
        const [ran, waited] = readFileSync(`/proc/self/task/${task}/schedstat`, 'utf8').split(' ').map(Number)
        return [task, { ran: ran!, waited: waited! }]
      }),
    )
  } catch {
    // A thread has ended, or there is no such file.
    return new Map()
  }
}

/** What `work` gives, and the largest share of its time that a thread waited which was busy for a second or more. */
async function waiting<T>(work: Promise<T>): Promise<[T, number]> {
  const before = times()
  const last = new Map(before)
  // Threads that have ended count until they were last looked at.
  const look = (): void => {
    for (const [task, found] of times()) last.set(task, found)
  }
  const timer = setInterval(look, 100)
  try {
    const result = await work
    look()
    const shares = [...last].map(([task, now]) => {
      const ran = now.ran - (before.get(task)?.ran ?? 0)
      const waited = now.waited - (before.get(task)?.waited ?? 0)
      return ran + waited > 1e9 ? waited / (ran + waited) : 0
    })
    return [result, Math.max(...shares)]
  } finally {
    clearInterval(timer)
  }
}

describe.skipIf(!canShare).each(devices)('on $on', ({ from, to }) => {
  it.for([{ share: 0.2 }, { share: 0.8 }])(
    'a load of $share of what the device can do is reached within 2 %',
    async ({ share }, { skip }) => {
      let before = await capacity(from, to)
      for (let i = 0; i < attempts; i++) {
        const asked = Math.floor(share * before)
        const [{ asked: due, reached, all }, waited] = await waiting(
          run(from, to, `duration: ${seconds}\nrequests: ${asked}\narrival: fixed`),
        )
        before = await capacity(from, to)
        // Nothing is left out of the schedule, and nothing is added, however slow the machine is.
        expect(Math.abs(due.requests - seconds * asked)).toBeLessThanOrEqual(1)
        expect(all).toMatchObject({ done: due.requests, failed: 0 })
        if (before * share < asked || waited > mostWaiting) continue
        expect(Math.abs(reached.bitsPerSecond / (8 * bytes * asked) - 1)).toBeLessThan(0.02)
        return
      }
      skip(`other programs used the processors during each of ${attempts} runs`)
    },
  )
})
