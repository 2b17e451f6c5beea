/**
 * VILLASnode's own integration scripts, with Verbena behind the `villas` commands: what fails has to be in the list of known limits,
 * test/gateway/villas-tests.json.
 *
 *     VILLAS_TESTS=FOLDER npm run test:villas -- [FILTER…] [--limit 60] [--keep FOLDER] [--update]
 *
 * FOLDER is tests/integration of a clone of https://github.com/VILLASframework/node. Each script runs in a network of its own where the
 * machine permits that, with a mosquitto if it wants one; bash, bc, curl, jq and gawk have to be there.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string', default: process.env.VILLAS_TESTS ?? '' },
    list: { type: 'string', default: at('test/gateway/villas-tests.json') },
    cli: { type: 'string', default: process.env.VERBENA_CLI ?? at('dist/verbena.js') },
    villas: { type: 'string' },
    limit: { type: 'string', default: '60' },
    keep: { type: 'string' },
    update: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

if (options.help) {
  console.log(`usage: VILLAS_TESTS=FOLDER node scripts/villas-tests.mjs [FILTER…] [options]

Runs VILLASnode's integration scripts with Verbena behind the villas commands, and compares what fails with the list of known limits.
FILTER is a regular expression; scripts run whose name it fits: '^hook-', 'multiplexing'.

  --tests FOLDER   instead of VILLAS_TESTS
  --limit S        seconds that a script may take (60)
  --keep FOLDER    writes the output of each script there
  --villas FOLDER  the programs of a VILLASnode, to see what its own scripts do with it
  --list FILE      another list than test/gateway/villas-tests.json
  --update         writes the day, the commit and the figures of this run into the list

Exit codes: 0 nothing fails that is not in the list, 1 something does, 2 usage error.`)
  process.exit(0)
}

function fail(why) {
  console.error(`villas-tests: ${why}`)
  process.exit(2)
}

if (options.tests === '' || !existsSync(options.tests))
  fail(`VILLAS_TESTS is "${options.tests}": give the folder tests/integration of a clone of VILLASframework/node`)
const limitS = Number(options.limit)
if (!(limitS > 0)) fail(`--limit is "${options.limit}": give seconds`)
if (!existsSync(options.cli)) fail(`${options.cli} is not there: npm run build`)

const folder = resolve(options.tests)
const list = JSON.parse(readFileSync(options.list, 'utf8'))
const wanted = filters.map((filter) => new RegExp(filter))
const scripts = readdirSync(folder)
  .filter((name) => name.endsWith('.sh'))
  .map((name) => name.slice(0, -3))
  .filter((name) => wanted.length === 0 || wanted.some((filter) => filter.test(name)))
if (scripts.length === 0) fail(`there is no script in ${folder} that fits`)

const work = mkdtempSync(join(tmpdir(), 'villas-tests-'))
const bin = join(work, 'bin')
mkdirSync(bin)

/** `villas TOOL …` and `villas-TOOL …`; options are passed on as they are. The scripts call the API without a token. */
function launcher(name, text) {
  writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`)
  chmodSync(join(bin, name), 0o755)
}
const tools = ['node', 'pipe', 'signal', 'convert', 'compare', 'hook', 'graph', 'test-config']
const commands = { 'test-config': 'check', node: 'node --no-token' }
const commandOf = (tool) =>
  options.villas === undefined
    ? `exec ${process.execPath} ${resolve(options.cli)} gateway ${commands[tool] ?? tool} "$@"`
    : `exec ${join(resolve(options.villas), `villas-${tool}`)} "$@"`
for (const tool of tools) launcher(`villas-${tool}`, commandOf(tool))
// Of a package that few machines have.
launcher('uuidgen', `exec ${process.execPath} -p 'crypto.randomUUID()'`)
launcher('villas', `tool=$1; shift; exec "${bin}/villas-$tool" "$@"`)

const isolates = spawnSync('unshare', ['-n', 'true']).status === 0
const mosquitto = ['/usr/sbin/mosquitto', '/usr/bin/mosquitto'].find(existsSync)

/** The shell line that runs a script: a network of its own, with a broker if it is about MQTT. */
function lineOf(name) {
  const broker =
    name.includes('mqtt') && mosquitto !== undefined
      ? `${mosquitto} -p 1883 >/dev/null 2>&1 & broker=$!; sleep 0.5;`
      : ''
  const inside = `${isolates ? 'ip link set lo up; ip route add 224.0.0.0/4 dev lo;' : ''} ${broker} bash ${join(folder, `${name}.sh`)}; code=$?; [ -n "$broker" ] && kill $broker; exit $code`
  return isolates ? ['unshare', ['-n', 'sh', '-c', inside]] : ['sh', ['-c', inside]]
}

async function run(name) {
  const env = {
    ...process.env,
    PATH: `${bin}:${join(folder, '../../tools')}:${process.env.PATH}`,
    SRCDIR: join(folder, '../..'),
    BUILDDIR: work,
    LOGDIR: work,
    NUM_SAMPLES: '100',
    LANG: 'C',
    TMPDIR: work,
  }
  delete env.CI
  const [program, parameters] = lineOf(name)
  const began = performance.now()
  const child = spawn(program, parameters, { env, cwd: work, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  let late = false
  const end = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has just ended.
    }
  }
  const timer = setTimeout(() => {
    late = true
    end()
  }, 1000 * limitS)
  const code = await new Promise((done) => child.on('exit', (status) => done(status)))
  clearTimeout(timer)
  // What a script has left running.
  end()
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  if (options.keep !== undefined) {
    mkdirSync(options.keep, { recursive: true })
    writeFileSync(join(options.keep, `${name}.log`), output)
  }
  const verdict = code === 0 ? 'passes' : code === 99 ? 'skips itself' : 'fails'
  const why =
    code === 99 ? output.trim().split('\n').at(-1) : late ? `still runs after ${limitS} s` : `exit code ${code}`
  return { name, verdict, why: code === 0 ? '' : why, seconds }
}

const results = []
for (const name of scripts) {
  const result = await run(name)
  results.push(result)
  const known = list.known[name]
  const note = result.verdict === 'fails' && known ? ` (known: ${known.reason})` : ''
  console.log(`${result.verdict.padEnd(12)} ${name}  ${result.seconds} s${result.why && `  ${result.why}`}${note}`)
}
rmSync(work, { recursive: true, force: true })

const of = (verdict) => results.filter((result) => result.verdict === verdict).map(({ name }) => name)
const failing = of('fails')
const unknown = failing.filter((name) => !(name in list.known))
const better = of('passes').filter((name) => name in list.known)
console.log(`\n${of('passes').length} pass, ${failing.length} fail, ${of('skips itself').length} skip themselves`)
if (unknown.length > 0) console.log(`not in the list of known limits: ${unknown.join(', ')}`)
if (better.length > 0) console.log(`in the list, and pass: ${better.join(', ')}`)
if (options.update) {
  const commit = execFileSync('git', ['-C', folder, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()
  list.lastRun = {
    day: new Date().toISOString().slice(0, 10),
    commit,
    passes: of('passes').length,
    fails: failing.length,
    skips: of('skips itself').length,
  }
  writeFileSync(options.list, `${JSON.stringify(list, null, 2)}\n`)
}
process.exit(unknown.length > 0 ? 1 : 0)
