/**
 * The same programs, client and server in processes of their own, over rsockets: `node --import verbena/preload`. A client
 * has to print what it prints over TCP.
 */
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { type How, overDevice, run, serve } from '../children.ts'

export const segment = `shm:net${process.pid}`

export const places: { name: string; host: string; server: How; client: How }[] = [
  { name: 'shm', host: '127.0.0.1', server: overDevice(segment, 'local'), client: overDevice(segment, 'local') },
  {
    name: 'roce',
    host: loopbackAddress(1),
    server: overDevice(loopbackDevice(1), `${loopbackAddress(0)}/24`),
    client: overDevice(loopbackDevice(2), `${loopbackAddress(0)}/24`),
  },
]

/** Over TCP a client may come from another address of the loopback network. */
export const plain = (lines: string[]): string[] => lines.map((line) => line.replace(/\b127(\.\d+){3}\b/g, 'ADDRESS'))

const overTcp = new Map<string, Promise<string[]>>()

/** What a client prints over TCP: the same from everywhere, so it runs once. */
export function printedOverTcp(app: string): Promise<string[]> {
  const running = overTcp.get(app) ?? clientOverTcp(app)
  overTcp.set(app, running)
  return running
}

async function clientOverTcp(app: string): Promise<string[]> {
  const host = loopbackAddress(1)
  const { port, stop } = await serve(app, host, {})
  const { out } = await run([app, 'use', port, host])
  await stop()
  return plain(out)
}

/** The programs `apps`, client and server in processes of their own, on the devices `names`. */
export function printTheSame(apps: readonly string[], names: readonly string[] = ['shm', 'roce']): void {
  for (const { name, host, server, client } of places.filter(({ name }) => names.includes(name)))
    describe.skipIf(!nativeAvailable)(`two processes over ${name}`, () => {
      for (const app of apps)
        it(app, async () => {
          const { port, stop } = await serve(app, host, server)
          const used = await run([app, 'use', port, host], client)
          const served = await stop()
          expect(used.err.filter((line) => !line.startsWith('verbena: '))).toEqual([])
          expect(plain(used.out)).toEqual(await printedOverTcp(app))
          expect(used.code).toBe(0)
          // Every connection went over RDMA, but the one to a port where nobody listens.
          const connects = used.err.filter((line) => line.startsWith('verbena: connect') && !/:1: TCP/.test(line))
          expect(connects.length).toBeGreaterThan(0)
          expect(connects.filter((line) => !line.includes(': RDMA ('))).toEqual([])
          expect(served.out.at(-1)).toBe('closed')
        })
    })
}
