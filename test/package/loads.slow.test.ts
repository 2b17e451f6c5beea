/** What only reads captures loads no adapter, no native library and no thread: as processes see it. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const reporter = new URL('loads.mjs', import.meta.url).href
const capture = join(root, 'test/captures/rping.pcap')
const folder = mkdtempSync(join(tmpdir(), 'verbena-loads-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Loads {
  code: number
  /** Of ours, as paths below the root. */
  modules: string[]
  /** Native libraries that Node.js does not need itself. */
  libraries: string[]
  workers: number
}

async function loadsOf(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Loads> {
  const { VERBENA_CRC32: _, ...inherited } = process.env
  const outcome = await promisify(execFile)(process.execPath, ['--import', reporter, ...args], {
    cwd: root,
    env: { ...inherited, ...env },
    timeout: 60_000,
  }).then(
    ({ stderr }) => ({ code: 0, stderr }),
    (error: { code: number; stderr: string }) => error,
  )
  const report = JSON.parse(outcome.stderr.trimEnd().split('\n').at(-1)!)
  const ours = (report.files as string[]).filter((url) => url.startsWith(pathToFileURL(join(root, 'dist/')).href))
  return {
    code: outcome.code,
    modules: ours.flatMap((url) =>
      [...readFileSync(fileURLToPath(url), 'utf8').matchAll(/^\/\/ (src\/\S+)$/gm)].map(([, module]) => module!),
    ),
    libraries: (report.sharedObjects as string[]).filter((file) => /koffi|libisal|libdeflate/.test(file)),
    workers: report.workers,
  }
}

/** Folders of which nothing is loaded. */
const unwanted = /^src\/(devices|transport|verbs|cm|gsi|rsocket|memory|index\.ts)/

async function expectLight(args: readonly string[]): Promise<Loads> {
  const loads = await loadsOf(args)
  expect(loads.libraries).toEqual([])
  expect(loads.workers).toBe(0)
  expect(loads.modules.filter((module) => unwanted.test(module))).toEqual([])
  return loads
}

describe('an entry point', () => {
  it.each([
    ['capture', 'src/capture/parser.ts'],
    ['trace', 'src/trace/analysis.ts'],
    ['monitor', 'src/monitor/observer.ts'],
    ['replay', 'src/replay/packets.ts'],
  ])('verbena/%s', async (name, module) => {
    const { code, modules } = await expectLight(['--input-type=module', '-e', `await import('verbena/${name}')`])
    expect(code).toBe(0)
    expect(modules).toContain(module)
  })

  it('verbena/trace and what it reads, at work', async () => {
    const program = `
      import { fileSource } from 'verbena/capture'
      import { analyseCapture, checkCapture, showCapture } from 'verbena/trace'
      const source = fileSource(${JSON.stringify(capture)})
      const { roce } = await checkCapture(source)
      const { conversations } = await analyseCapture(source)
      await showCapture(source, () => {})
      if (roce !== 65 || conversations.length === 0) process.exitCode = 1`
    expect((await expectLight(['--input-type=module', '-e', program])).code).toBe(0)
  })

  it('this test would see an adapter and koffi', async () => {
    const program = `import { openDevice } from 'verbena'; openDevice('shm0').close()`
    const { code, modules, libraries } = await loadsOf(['--input-type=module', '-e', program])
    expect(code).toBe(0)
    expect(modules.some((module) => unwanted.test(module))).toBe(true)
    expect(libraries.some((file) => file.includes('koffi'))).toBe(nativeAvailable)
  })
})

describe('a command that reads files', () => {
  const commands: readonly (readonly string[])[] = [
    ['trace', 'check', capture],
    ['trace', 'show', capture],
    ['trace', 'show', capture, '--filter', 'retransmission or nak', '--json'],
    ['trace', 'info', capture],
    ['trace', 'convert', capture, join(folder, 'converted.pcapng')],
    ['trace', 'page', capture, '-o', join(folder, 'page.html')],
    ['monitor', capture],
    ['monitor', 'watch', capture, '--save', join(folder, 'windows')],
    ['monitor', 'compare', capture],
    ['replay', 'packets', capture, '--to', join(folder, 'lab.pcap')],
    ['replay', 'messages', capture],
    ['traffic', 'fit', capture],
    ['traffic', 'cdf', 'dctcp'],
  ]
  it.each(commands.map((words) => [words.map((word) => word.split('/').at(-1)).join(' '), words] as const))(
    'verbena %s',
    async (_title, words) => {
      expect((await expectLight(['dist/verbena.js', ...words])).code).toBe(0)
    },
  )

  it('loads of the commands beside it only the names', async () => {
    const { modules } = await loadsOf(['dist/verbena.js', 'trace', 'check', capture])
    expect(modules).toContain('src/tools/trace/check.ts')
    for (const other of ['show', 'info', 'convert', 'page'])
      expect(modules).not.toContain(`src/tools/trace/${other}.ts`)
  })

  it.skipIf(!nativeAvailable)('uses a library of the system where VERBENA_CRC32 names one', async () => {
    const { libraries } = await loadsOf(['dist/verbena.js', 'trace', 'check', capture], { VERBENA_CRC32: 'libdeflate' })
    expect(libraries.some((file) => file.includes('koffi'))).toBe(true)
  })
})
