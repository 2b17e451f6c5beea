/** `verbena run` in containers as Docker makes them, without a flag: the profile, capabilities and /dev/shm that everybody has. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { containersLack, inContainer } from './containers.ts'
import { lacking as programsLack, verbena, well } from './run-kit.ts'

const lacking = [...containersLack(), ...programsLack]
if (lacking.length > 0) console.warn(`skipped: \`verbena run\` in containers needs ${lacking.join(', ')}`)

const folder = mkdtempSync(join(tmpdir(), 'verbena-containers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const pingPong = `
  ibv_rc_pingpong -c -n 200 > /tmp/server & server=$!
  until grep -qs ':4853 0*:0000 0A' /proc/net/tcp /proc/net/tcp6; do kill -0 $server || exit 99; done
  ibv_rc_pingpong -c -n 200 localhost && wait $server`

for (const [whose, uid] of Object.entries({ "root's": 0, "an ordinary user's": 65_534 }))
  test.skipIf(lacking.length > 0)(`${whose} programs run in a container`, async () => {
    const ended = await inContainer(folder, [process.execPath, verbena, 'run', '--', 'sh', '-c', pingPong], uid)
    expect(well(ended)).toMatch(/bytes in .* seconds = .* Mbit\/sec/)
  })
