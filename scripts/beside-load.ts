/**
 * `node --import tsx scripts/beside-load.ts COUNT COMMAND...`: runs a command beside so many processes that compute, and ends with its exit code.
 * The processes end with this one, however it ends.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { Load } from '../bench/load.ts'

const [count, program, ...args] = process.argv.slice(2)
if (!/^\d{1,3}$/.test(count ?? '') || program === undefined) {
  console.error(
    'usage: node --import tsx scripts/beside-load.ts COUNT COMMAND..., for example: 8 npx vitest run test/wire',
  )
  process.exit(2)
}
const load = await Load.start(Number(count))
const child = spawn(program, args, { stdio: 'inherit' })
// At a terminal they are for the whole group; from elsewhere they are passed on. The exit code tells.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
try {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  process.exitCode = code ?? 128 + constants.signals[signal!]
} catch (error) {
  console.error(`${program}: ${(error as Error).message}`)
  process.exitCode = 127
} finally {
  await load.end()
}
