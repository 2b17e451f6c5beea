/** The package as it is published: packed, installed without a network into an empty folder, and used from there. */
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { blocksOf, root, textOf } from '../docs/markdown.ts'

const consumer = fileURLToPath(new URL('./consumer', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'verbena-packed-'))
/** Nothing beside it. */
const bare = join(folder, 'bare')
/** With koffi, as npm installs it unless it is told otherwise. */
const full = join(folder, 'full')

interface Packed {
  filename: string
  unpackedSize: number
  files: { path: string; size: number }[]
}
let packed: Packed

function run(program: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = {}) {
  return promisify(execFile)(program, args, { cwd, env: { ...process.env, NO_COLOR: '1', ...env }, timeout: 60_000 })
}

beforeAll(() => {
  // What `npm run build` has made: packing would build it again.
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  packed = (JSON.parse(execFileSync('npm', pack, { cwd: root, encoding: 'utf8' })) as Packed[])[0]!
  cpSync(consumer, bare, { recursive: true })
  writeFileSync(join(bare, 'package.json'), '{ "type": "module" }')
  const install = [
    'install',
    '--offline',
    '--omit=optional',
    '--no-audit',
    '--no-fund',
    '--cache',
    join(folder, 'cache'),
  ]
  execFileSync('npm', [...install, join(folder, packed.filename)], { cwd: bare, stdio: 'ignore' })
  cpSync(bare, full, { recursive: true })
  for (const name of ['koffi', '@koromix'])
    if (existsSync(join(root, 'node_modules', name)))
      cpSync(join(root, 'node_modules', name), join(full, 'node_modules', name), { recursive: true })
  // Types of Node, as a user of TypeScript has them.
  for (const name of ['@types/node', 'undici-types'])
    cpSync(join(root, 'node_modules', name), join(folder, 'node_modules', name), { recursive: true })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function bytesBelow(path: string): number {
  const entries = readdirSync(path, { recursive: true }) as string[]
  return entries.map((entry) => statSync(join(path, entry))).reduce((sum, s) => sum + (s.isFile() ? s.size : 0), 0)
}

describe('the package', () => {
  it('brings nothing but itself and koffi, and little of that', () => {
    const installed = (at: string) => readdirSync(join(at, 'node_modules')).filter((name) => !name.startsWith('.'))
    expect(installed(bare)).toEqual(['verbena'])
    const manifest = JSON.parse(readFileSync(join(bare, 'node_modules/verbena/package.json'), 'utf8'))
    expect(manifest.dependencies).toBeUndefined()
    expect(Object.keys(manifest.optionalDependencies)).toEqual(['koffi'])
    // npm warns of a package of which it has to run one of these, and asks for leave.
    for (const script of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(manifest.scripts).not.toHaveProperty(script)
    // A clone is built when its dependencies are installed, and before it is packed.
    expect(manifest.scripts).toMatchObject({ prepublish: 'npm run build', prepack: 'npm run build' })
    expect(bytesBelow(join(full, 'node_modules'))).toBeLessThan(15e6)
  })

  it('holds what is for users only', () => {
    const top = new Set(packed.files.map(({ path }) => path.split('/')[0]))
    expect([...top].sort()).toEqual([
      'ARCHITECTURE.md',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'dist',
      'docs',
      'examples',
      'package.json',
    ])
    const strange = packed.files.filter(({ path }) => /\.map$|\.test\.|(^|\/)(test|bench|src)\//.test(path))
    expect(strange).toEqual([])
  })

  it('has the licences of all that is bundled in it', () => {
    const dist = join(bare, 'node_modules/verbena/dist')
    const text = readFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
    // Packages that our sources import, and two that those need.
    const sources = (readdirSync(join(root, 'src'), { recursive: true }) as string[]).filter((name) =>
      name.endsWith('.ts'),
    )
    const code = sources.map((name) => readFileSync(join(root, 'src', name), 'utf8')).join('\n')
    const imported = [
      ...code.matchAll(/^(?:import|export) (?!type)[^']* from '((?:@[^.'/:]+\/)?[^.'/:]+)(?:\/[^']*)?'$/gm),
    ].map(([, name]) => name)
    expect(imported).toContain('echarts')
    for (const name of [...imported, 'tslib', 'zrender'].filter((name) => name !== 'verbena'))
      expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(.+\\)$`, 'm'))
    expect(text).toContain('Apache License')
    expect(text.match(/Permission is hereby granted/g)!.length).toBeGreaterThanOrEqual(5)
  })

  it('has declarations for TypeScript 5.0: typed arrays are generic from 5.7 on', () => {
    const types = packed.files.filter(({ path }) => path.endsWith('.d.ts'))
    expect(types.length).toBeGreaterThan(50)
    for (const { path } of types)
      expect(readFileSync(join(bare, 'node_modules/verbena', path), 'utf8'), path).not.toMatch(
        /\b(Int|Uint|Float)\d+Array</,
      )
  })
})

describe('TypeScript', () => {
  it.each([
    ['node16', 'node16'],
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ])('module %s, moduleResolution %s', async (module, moduleResolution) => {
    const strict = {
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
    }
    const compilerOptions = { ...strict, module, moduleResolution, target: 'es2022', types: ['node'], outDir: module }
    const config = join(bare, `tsconfig.${module}.json`)
    writeFileSync(config, JSON.stringify({ compilerOptions, files: ['main.ts'] }))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const { stdout } = await run(process.execPath, [tsc, '-p', config], bare).catch((error) => error)
    expect(stdout).toBe('')
    const result = await run(process.execPath, [join(bare, module, 'main.js')], bare)
    expect(result.stdout).toBe('1 1 18 1 1\n3 echo function 2 RC_SEND_ONLY unit 5 0.5\n')
  })
})

/** The program of this version, or why there is none. */
function node(version: string): { program: string; missing: string } {
  if (process.versions.node.startsWith(`${version}.`)) return { program: process.execPath, missing: '' }
  try {
    const script = join(root, 'scripts/other-node.mjs')
    const program = execFileSync(process.execPath, [script, version], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    return { program: program.trim(), missing: '' }
  } catch (error) {
    return { program: '', missing: `${(error as { stderr?: string }).stderr ?? error}`.trim() }
  }
}

describe.each(['20', '22', '24'])('Node.js %s', (version) => {
  const { program, missing } = node(version)
  if (missing !== '') console.warn(`skipped: ${missing}`)
  const test = it.skipIf(missing !== '')

  blocksOf(textOf('README.md'), 'js').forEach((code, index) => {
    test(`runs program ${index + 1} of the README`, async () => {
      const file = join(bare, `readme-${index}.mjs`)
      writeFileSync(file, code)
      expect((await run(program, [file], bare)).stdout).toBe(['success 64\n', 'hello\n'][index])
    })
  })

  test('requires it in CommonJS, without koffi and with it', async () => {
    expect((await run(program, ['main.cjs'], bare)).stdout).toBe('true function RC_SEND_ONLY false\n')
    expect((await run(program, ['main.cjs'], full)).stdout).toBe(`true function RC_SEND_ONLY ${nativeAvailable}\n`)
  })

  test.each(['--import', '--require'])('%s verbena/preload', async (option) => {
    const env = { VERBENA_DEVICE: 'shm0', VERBENA_PRELOAD: 'local rdma-only', VERBENA_PRELOAD_LOG: '1' }
    const { stdout, stderr } = await run(program, [option, 'verbena/preload', 'http.mjs'], bare, env)
    expect(stdout).toBe('over HTTP\n')
    expect(stderr).toMatch(/^verbena: connect .*: RDMA /m)
  })

  test('runs the command line, which keeps what Node has compiled', async () => {
    const cache = mkdtempSync(join(folder, 'compiled-'))
    const command = join(full, 'node_modules/.bin/verbena')
    const { stdout } = await run(program, [command, 'devinfo', 'shm0'], full, { TMPDIR: cache })
    expect(stdout).toMatch(/shm0/)
    expect(readdirSync(cache)).toEqual(version === '20' ? [] : ['node-compile-cache'])
  })
})

it('npx finds the command', async () => {
  const { stdout } = await run('npx', ['--no-install', 'verbena', '--help'], bare)
  expect(stdout).toMatch(/^Usage: verbena /)
})
