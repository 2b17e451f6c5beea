/**
 * Programs under `verbena run` with the libraries of other releases of Debian than the host's: what libibverbs asks the kernel, and how,
 * differs by its version.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { DebianLibraries } from './debian-libraries.ts'
import { both, run, well } from './run-kit.ts'

/** With the version of rdma-core that each has. */
const releases = { bullseye: 33, trixie: 56 }
const packages = ['ibverbs-utils', 'ibverbs-providers', 'perftest']

let nextPort = 30_000 + (process.pid % 1000) * 8

for (const [release, version] of Object.entries(releases)) {
  const folder = mkdtempSync(join(tmpdir(), `verbena-${release}-`))
  const libraries = unpacked(release, folder)
  describe.skipIf(libraries === null)(`rdma-core ${version}`, () => {
    afterAll(() => rmSync(folder, { recursive: true, force: true }))
    const of = (program: string): string => libraries!.command(program)

    test('ibv_devinfo', async () => {
      const text = well(await run(of('ibv_devinfo -v')))
      for (const line of [/hca_id:\trxe0/, /state:\t+PORT_ACTIVE/, /GID\[ +0\]:\t+fe80:/]) expect(text).toMatch(line)
    })

    const programs = [
      ...['ibv_rc_pingpong -c', 'ibv_uc_pingpong -e', 'ibv_srq_pingpong -e'],
      // Before version 39 the provider itself looks for the neighbour's address on Ethernet, which nobody has in shared memory.
      ...(version < 39 ? [] : ['ibv_ud_pingpong -s 1024']),
      ...['ib_send_lat -s 1024 -I 64', 'ib_write_bw', 'ib_read_lat', 'ib_atomic_bw'],
    ]
    for (const program of programs)
      test(program, async () => {
        const port = nextPort++
        const sized = `${program} -n 200 -p ${port}`
        expect(well(await both(of(sized), of(`${sized} localhost`), port))).toMatch(/ in .* seconds|^ *\d+ +\d+ +\d/m)
      })
  })
}

function unpacked(release: string, folder: string): DebianLibraries | null {
  try {
    return DebianLibraries.unpack(release, packages, folder)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    console.warn(`skipped: programs of Debian's ${release} under \`verbena run\`: ${(error as Error).message}`)
    return null
  }
}
