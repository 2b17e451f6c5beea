/** What a program under the preload loads, and when: nothing of RDMA before a socket of it has a rule. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { plainOutput, run } from '../children.ts'

const dist = new URL('../../../dist/', import.meta.url)
/** The file of the bundle that has a module. */
const fileWith = (module: string): string =>
  readdirSync(dist).find(
    (name) => name.endsWith('.js') && readFileSync(new URL(name, dist), 'utf8').includes(`\n// src/${module}\n`),
  )!

interface Step {
  step: string
  native: boolean
  large: number
  workers: number
  files: string[]
}

it.skipIf(!nativeAvailable)('loads nothing of RDMA until a socket has a rule', async () => {
  const { out, err, code } = await run(['start.cjs'], {
    node: ['--import', 'verbena/preload'],
    env: { VERBENA_DEVICE: `shm:start${process.pid}`, VERBENA_PRELOAD: 'connect 127.0.0.9' },
  })
  expect([err, code]).toEqual([[expect.stringMatching(/127\.0\.0\.9.*TCP, because connect ECONNREFUSED/)], 0])
  const [plain] = (await run(['start.cjs'])).out.map((line) => JSON.parse(line) as Step)
  const steps = new Map(out.map((line) => JSON.parse(line) as Step).map((step) => [step.step, step]))
  expect([...steps.keys()]).toEqual(['started', 'tcp', 'worker', 'name', 'rdma'])
  const [libc, sockets, segment] = ['memory/native/libc.ts', 'node/preload/sockets.ts', 'memory/segment.ts'].map(
    fileWith,
  )
  // A program that has no rule for what it does pays for what it watches with, and no thread runs.
  for (const name of ['started', 'tcp', 'worker']) {
    const { files, native, workers, large } = steps.get(name)!
    expect(files, name).toContain('preload.js')
    for (const file of [libc, sockets, segment, 'index.js']) expect(files, name).not.toContain(file)
    expect([name, native, workers]).toEqual([name, false, 0])
    // What threads share is there once a thread was started.
    expect([name, large - plain!.large]).toEqual([name, name === 'worker' ? 1 : 0])
  }
  // A name may have an address with a rule: the socket is prepared, and nothing opened.
  expect(steps.get('name')).toMatchObject({ native: false, workers: 0 })
  expect(steps.get('name')!.files).toEqual(expect.arrayContaining([sockets]))
  expect(steps.get('name')!.files).not.toContain(libc)
  expect(steps.get('rdma')).toMatchObject({ native: true })
  expect(steps.get('rdma')!.files).toEqual(expect.arrayContaining([libc, segment, 'index.js']))
})

it.each(['rdma', 'rdma-only'])(
  'where the rest of it cannot be loaded any more, and the rule says %s',
  async (transport) => {
    // As after a change of the root folder, or of the user.
    const folder = mkdtempSync(join(tmpdir(), 'verbena-late-'))
    try {
      mkdirSync(join(folder, 'dist'))
      cpSync(new URL('../package.json', dist), join(folder, 'package.json'))
      for (const file of staticallyLoaded('preload.js')) cpSync(new URL(file, dist), join(folder, 'dist', file))
      const how = {
        node: ['--import', join(folder, 'dist/preload.js')],
        env: { VERBENA_PRELOAD: `connect * ${transport}` },
      }
      const { out, err, code } = await run(['refused.mjs'], how)
      if (transport === 'rdma') {
        expect([out, code]).toEqual([await plainOutput('refused.mjs'), 0])
        expect(err).toEqual([expect.stringMatching(/^verbena: RDMA cannot be used: Cannot find module .*install\.js/)])
      } else {
        expect([out, code]).toEqual([[], 1])
        expect(err).toContainEqual(expect.stringMatching(/Cannot find module .*install\.js/))
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
)

/** The files that are there when this one has been loaded. */
function staticallyLoaded(file: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  const code = readFileSync(new URL(file, dist), 'utf8')
  for (const [, name] of code.matchAll(/^(?:import|export) .*?"\.\/([^"]+)"/gm)) staticallyLoaded(name!, found)
  return found
}
