/**
 * Clients and servers that others wrote, under the preload: they have to print what they print over TCP. Where both ends are ours,
 * every connection goes over RDMA; where the peer has TCP alone, it is reached within the two seconds that a client allows, also where
 * the rules say RDMA.
 *
 * Their packages are not the project's: `npm install --prefix test/clients`.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../loopback.ts'
import { overDevice, run } from '../node/children.ts'
import { kinds, type Peer } from './servers.ts'

const installed = existsSync(fileURLToPath(new URL('./node_modules', import.meta.url)))
if (!installed) console.warn('skipped: the clients are not installed: npm install --prefix test/clients')
/** As `run` finds it, from the folder of its own programs. */
const app = (name: string): string => `../../clients/apps/${name}.mjs`
const segment = `shm:clients${process.pid}`
const net = `${loopbackAddress(0)}/24`

/** `tcp`: an address of this host where no adapter is, so that nothing answers. On `shm` all addresses are the segment's. */
const over = [
  { device: 'shm', host: '127.0.0.1', tcp: '127.0.0.1', how: overDevice(segment, 'local') },
  { device: 'roce', host: loopbackAddress(1), tcp: loopbackAddress(2), how: overDevice(loopbackDevice(1), net) },
] as const

const expected = new Map<string, Promise<string[]>>()
/** What a program prints over TCP. */
function plain(command: readonly string[]): Promise<string[]> {
  const key = command.join(' ')
  const known = expected.get(key)
  if (known) return known
  const running = run([...command]).then(({ out, err, code }) => {
    if (code !== 0) throw new Error(`${key} alone ended with ${code}: ${err.join(' ')}`)
    return out
  })
  expected.set(key, running)
  return running
}

const log = (err: readonly string[]): string[] => err.filter((line) => line.startsWith('verbena: connect'))

describe.skipIf(!installed || !nativeAvailable)('servers and clients in one process', () => {
  for (const { device, host, how } of over)
    it.each(['http', 'websockets', 'grpc'])(`${device}: %s`, async (name) => {
      const ran = await run([app(name), host], how)
      expect(ran.err.filter((line) => !line.startsWith('verbena: '))).toEqual([])
      expect(ran.out).toEqual(await plain([app(name), host]))
      expect(ran.code).toBe(0)
      // But the one to a port where nobody listens.
      const connects = log(ran.err).filter((line) => !/:1: TCP/.test(line))
      expect(connects.length).toBeGreaterThan(0)
      expect(connects.filter((line) => !line.includes(': RDMA ('))).toEqual([])
    })
})

for (const [name, kind] of Object.entries(kinds))
  describe.skipIf(!installed || !nativeAvailable || !kind.present())(
    `${name} and ${kind.name}, which has TCP alone`,
    () => {
      let peer: Peer
      beforeAll(async () => {
        peer = await kind.start()
      })
      afterAll(() => peer.stop())

      for (const { device, tcp, how } of over)
        it(`rules for ${device}`, async () => {
          const { VERBENA_PRELOAD_TIMEOUT_MS: _, ...env } = how.env!
          const ran = await run([app(name), String(peer.port), tcp], { ...how, env })
          expect(ran.err.filter((line) => !line.startsWith('verbena: '))).toEqual([])
          expect(ran.out).toEqual(await plain([app(name), String(peer.port), tcp]))
          expect(ran.code).toBe(0)
          // The rules were asked, and every connection says that it is TCP.
          const connects = log(ran.err)
          expect(connects.length).toBeGreaterThan(0)
          expect(connects.filter((line) => !line.includes(': TCP'))).toEqual([])
        })
    },
  )
