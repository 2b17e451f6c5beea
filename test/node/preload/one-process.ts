/**
 * Programs that know nothing of RDMA, as child processes: once as they are, once under the preload. They have to print the
 * same, and the preload's log has to say that every connection went over RDMA.
 */
import { describe, expect, it } from 'vitest'
import { overFake, plainOutput, run } from '../children.ts'

export function inOneProcess(apps: readonly string[]): void {
  describe('a program and its server in one process, over sockets of the process', () => {
    for (const app of apps)
      it(app, async () => {
        const preloaded = await run([app], { ...overFake, env: { VERBENA_PRELOAD: '127.0.0.1, local' } })
        expect(preloaded.err.filter((line) => !line.startsWith('verbena: '))).toEqual([])
        expect(preloaded.out).toEqual(await plainOutput(app))
        expect(preloaded.code).toBe(0)
        const connects = preloaded.err.filter((line) => line.startsWith('verbena: connect'))
        const refused = connects.filter((line) => line.includes(':1: TCP, because connect ECONNREFUSED'))
        expect(connects.filter((line) => line.includes(': RDMA')).length).toBe(connects.length - refused.length)
        expect(connects.length).toBeGreaterThan(refused.length)
      })
  })
}
