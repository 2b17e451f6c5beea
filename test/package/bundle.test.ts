/** What the bundle in dist/ loads: each entry point only what it needs, each module from one file only. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { moduleAt, sourceLine } from '../../src/tools/bench-rsocket/modules.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const dist = join(root, 'dist')
const files = new Map(
  readdirSync(dist)
    .filter((name) => name.endsWith('.js'))
    .map((name) => [name, readFileSync(join(dist, name), 'utf8')]),
)
const imports = (file: string): string[] =>
  [...files.get(file)!.matchAll(/^(?:import|export) .*?"\.\/([^"]+)"/gm)].map(([, name]) => name!)

/** All files that are loaded when this one is, before anything runs. */
function loaded(file: string, found: Set<string> = new Set()): Set<string> {
  if (!found.has(file)) {
    found.add(file)
    for (const name of imports(file)) loaded(name, found)
  }
  return found
}

const thirdParty = new Set(
  [...readFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), 'utf8').matchAll(/^(\S+) \d+\.\d+\.\d+ \(/gm)].map(
    ([, name]) => name!,
  ),
)
/** Packages of others among them. */
const packages = (file: string): string[] =>
  [...loaded(file)]
    .map((name) => /^chunk-(.+)-.{8}\.js$/.exec(name)?.[1] ?? '')
    .filter((name) => thirdParty.has(name))
    .sort()
const chunkWith = (module: string): string => [...files].find(([, code]) => code.includes(`\n// ${module}\n`))![0]
const threads = [...files.keys()].filter((name) => /-(thread|end|sender|receiver|stamper)\.js$/.test(name))

describe('the library', () => {
  it.each(['index.js', 'net.js', 'dgram.js', 'preload.js', 'install.js', 'sketch.js', 'traffic.js', 'wire.js'])(
    '%s loads no package but, on demand, koffi',
    (file) => {
      expect(packages(file)).toEqual([])
    },
  )

  it('verbena/preload loads little until a rule calls for more, and verbena/wire no device', () => {
    for (const file of ['preload.js', 'install.js', 'prepare-process.js'])
      expect(loaded(file)).not.toContain(chunkWith('src/memory/native/libc.ts'))
    const bytes = [...loaded('preload.js')].reduce((sum, file) => sum + files.get(file)!.length, 0)
    expect(bytes).toBeLessThan(30_000)
    expect(loaded('wire.js')).not.toContain(chunkWith('src/memory/native/libc.ts'))
  })
})

describe('the command line', () => {
  it('loads its commands when they are asked for', () => {
    const native = chunkWith('src/memory/native/libc.ts')
    // A command may begin before the options are read (`CommandFile.early`).
    expect(packages('verbena.js')).toEqual([])
    expect(packages(chunkWith('src/cli/run.ts'))).toEqual(['commander'])
    for (const file of ['verbena.js', chunkWith('src/cli/run.ts')]) expect(loaded(file)).not.toContain(native)
  })

  it.each(['perf', 'pingpong', 'rping', 'devices'])(
    '%s loads no charts, and schemas only where they are needed',
    (command) => {
      const found = packages(chunkWith(`src/tools/${command}/command.ts`))
      expect(found).not.toContain('echarts')
      expect(found.includes('zod')).toBe(command === 'perf')
    },
  )

  it.each(['monitor/watch', 'monitor/collector', 'collect/counters', 'gateway/node', 'gateway/pipe'])(
    '%s loads its server when it serves',
    (command) => {
      const serve = chunkWith('src/web/serve/serve.ts')
      expect(packages(serve)).toEqual(['hono'])
      const file = chunkWith(`src/tools/${command}.ts`)
      expect(loaded(file)).not.toContain(serve)
      expect(packages(file)).not.toContain('hono')
    },
  )

  it.each(['check', 'show', 'info', 'convert'])('trace %s, which reads files, loads no adapter', (command) => {
    const found = loaded(chunkWith(`src/tools/trace/${command}.ts`))
    for (const module of ['devices/shm/device', 'devices/roce/device', 'verbs/api/context', 'transport/requester'])
      expect(found).not.toContain(chunkWith(`src/${module}.ts`))
  })

  it('run loads in each of its threads only what that needs, since a program waits for all of it', () => {
    const bytes = (file: string): number => [...loaded(file)].reduce((sum, name) => sum + files.get(name)!.length, 0)
    const command = chunkWith('src/tools/run/command.ts')
    for (const module of ['run/front/supervisor', 'memory/parking', 'memory/segment-layout'])
      expect(loaded(command)).not.toContain(chunkWith(`src/${module}.ts`))
    expect(bytes(command)).toBeLessThan(100_000)
    for (const module of ['capture/write-pcapng', 'devices/middleware/tap', 'devices/roce/device'])
      expect(loaded('run-thread.js')).not.toContain(chunkWith(`src/${module}.ts`))
    expect(bytes('run-thread.js')).toBeLessThan(1_000_000)
    // Of node:crypto Node.js makes the parts that nobody asks for, too.
    for (const name of loaded('spawner-thread.js')) expect(files.get(name)).not.toContain('"node:crypto"')
    expect(bytes('spawner-thread.js')).toBeLessThan(35_000)
  })

  it.each([...threads, 'service.js', 'janitor-thread.js'])('the thread %s loads no package', (file) => {
    expect(packages(file)).toEqual([])
  })
})

it('has every module once', () => {
  const seen = new Map<string, string>()
  for (const [file, code] of files)
    for (const [, module] of code.matchAll(/^\/\/ (src\/\S+)$/gm)) {
      expect(seen.get(module!), `${module} in ${file}`).toBeUndefined()
      seen.set(module!, file)
    }
  expect(seen.size).toBeGreaterThan(250)
})

it('tells of its lines which module they are of', () => {
  const file = chunkWith('src/devices/shm/fast-path.ts')
  const url = `file://${join(dist, file)}`
  const line =
    files
      .get(file)!
      .split('\n')
      .findIndex((text) => /\bclass ShmFastPath\b|ShmFastPath = class/.test(text)) + 1
  expect(sourceLine(url, line)).toContain('ShmFastPath')
  expect(moduleAt(url, line, `file://${dist}/`)).toBe('devices/shm/fast-path')
  expect(moduleAt('file:///elsewhere/chunk.js', line, `file://${dist}/`)).toBeUndefined()
  expect(moduleAt(import.meta.resolve('../../src/memory/segment.ts'), 1)).toBe('memory/segment')
})

describe('the packages that are needed for development', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { devDependencies, optionalDependencies } = manifest as Record<string, Record<string, string>>

  it.each(Object.entries({ ...devDependencies, ...optionalDependencies }))(
    // That it is used is for `npm run unused`.
    '%s has an exact version',
    (_, version) => {
      expect(version).toMatch(/^\d+\.\d+\.\d+$/)
    },
  )
})
