/** The program cluster.mjs: over RDMA it has to print what it prints over TCP, without a connection over TCP. */
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { type How, plainOutput, run } from '../children.ts'

/** `alone`: without TCP. */
export function sharesItsPort(name: string, how: How, { host = '127.0.0.1', alone = false } = {}): void {
  describe.skipIf(!nativeAvailable)(`a cluster, ${name}`, () => {
    it('shares one port over RDMA', async () => {
      const { out, err, code } = await run(['cluster.mjs', host], how)
      const plain = await plainOutput('cluster.mjs')
      expect(out).toEqual(host === '127.0.0.1' ? plain : plain.filter((line) => !line.startsWith('another address')))
      expect(code).toBe(0)
      const listens = err.filter((line) => line.startsWith('verbena: listen'))
      expect(listens.map((line) => /: (RDMA.*) \(/.exec(line)?.[1])).toEqual(
        Array(3).fill(alone ? 'RDMA' : 'RDMA and TCP'),
      )
      const connects = err.filter((line) => line.startsWith('verbena: connect'))
      const here = connects.filter((line) => line.startsWith(`verbena: connect ${host}:`))
      expect(here.slice(0, -1).filter((line) => !/: RDMA \(/.test(line))).toEqual([])
      expect(connects.at(-1)).toMatch(/connect ECONNREFUSED/)
    })
  })
}
