/**
 * Node.js's own tests of net, http, https, tls, http2, dgram, cluster and child processes, plain and under verbena/preload:
 * what passes plain and fails under the preload has to be in the list of known limits, test/node/node-tests.json.
 *
 *     NODE_TESTS=FOLDER npm run test:node -- [FILTER…] [--device shm,roce] [--jobs 2] [--limit 20] [--json] …
 *
 * FOLDER has `parallel`, `sequential`, `common` and `fixtures`, as the folder test/ of Node's repository. Each test runs in
 * namespaces of its own for network, processes and mounts, with an empty /dev/shm, where the machine permits that.
 * The preload does not touch dgram: its tests run too, to see that.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string', default: process.env.NODE_TESTS ?? '' },
    list: {
      type: 'string',
      default: fileURLToPath(new URL('../test/node/node-tests.json', import.meta.url)),
    },
    device: { type: 'string', default: 'shm,roce' },
    jobs: { type: 'string', short: 'j', default: '2' },
    limit: { type: 'string', default: '20' },
    again: { type: 'string', default: '60' },
    sample: { type: 'string', default: '1' },
    keep: { type: 'string' },
    commit: { type: 'string' },
    plain: { type: 'string' },
    update: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

if (options.help) {
  console.log(`usage: NODE_TESTS=FOLDER node scripts/node-tests.mjs [FILTER…] [options]

Runs Node.js's own tests plain and under verbena/preload, and compares what fails only under the preload with the list of
known limits. FILTER is a regular expression; tests run whose name it fits: '^http2-', 'net-pingpong'.

  --device LIST   devices to run on: shm, roce, or both (shm,roce)
  --jobs N        tests at the same time (2)
  --limit S       seconds that a test may take (20)
  --again S       seconds of the second try of one that failed (60); 0: no second try
  --sample N      only every Nth test
  --keep FOLDER   writes the output of each test that fails there
  --tests FOLDER  instead of NODE_TESTS
  --plain FILE    takes what passes plain from the --json of an earlier run, instead of running it again
  --commit HASH   the commit of the tests, where FOLDER is not a clone of a git repository
  --list FILE     another list than test/node/node-tests.json
  --update        writes the day, the commit and the figures of this run into the list
  --json          prints one document

Exit codes: 0 nothing fails that is not in the list, 1 something does, 2 usage error, 130 interrupted.`)
  process.exit(0)
}

const fail = (why) => {
  console.error(`node-tests: ${why}`)
  process.exit(2)
}
const atLeast = (name, least) => {
  const value = Number(options[name])
  if (!Number.isInteger(value) || value < least)
    fail(`--${name} is "${options[name]}": give a number, ${least} or more`)
  return value
}
const jobs = atLeast('jobs', 1)
const limitS = atLeast('limit', 1)
const againS = atLeast('again', 0)
const sample = atLeast('sample', 1)

/** Where a test may go over RDMA: all of the loopback networks. */
const settings = {
  shm: (name) => ({ VERBENA_DEVICE: `shm:${name}`, VERBENA_PRELOAD: 'local' }),
  roce: () => ({ VERBENA_DEVICE: 'roce:127.0.0.1', VERBENA_PRELOAD: '127.0.0.0/8' }),
}
const devices = options.device.split(',')
for (const name of devices) if (!(name in settings)) fail(`--device has no "${name}": give shm, roce, or shm,roce`)

if (options.tests === '')
  fail('name the folder of the tests: NODE_TESTS=FOLDER (the folder test/ of a clone of Node.js)')
const folder = [options.tests, join(options.tests, 'test')]
  .map((name) => resolve(name))
  .find((name) => existsSync(join(name, 'parallel')) && existsSync(join(name, 'common')))
if (!folder) fail(`${options.tests} has no folders parallel and common, as the folder test/ of Node.js has`)
const preload = fileURLToPath(new URL('../dist/preload.js', import.meta.url))
if (!existsSync(preload)) fail('dist/ is missing: run npm run build')
if (options.keep) mkdirSync(options.keep, { recursive: true })
const list = JSON.parse(readFileSync(options.list, 'utf8'))

// --- which tests -----------------------------------------------------------------------------------------------------

const groups = /^test-(?:(http2|https|http|net|tls|dgram)-?|(cluster|child-process)-)/
const connects = /require\('(net|http|https|tls|http2)'\)/

/** Those of cluster and of child processes only where they have a connection or a server. */
function findTests() {
  const found = []
  for (const part of ['parallel', 'sequential'])
    for (const file of existsSync(join(folder, part)) ? readdirSync(join(folder, part)) : []) {
      const match = groups.exec(file)
      if (!match || !/\.m?js$/.test(file)) continue
      const path = join(folder, part, file)
      const source = readFileSync(path, 'utf8')
      if (match[2] && !connects.test(source)) continue
      const flags = /\/\/ Flags:\s+(--.*)/.exec(source.slice(0, 1500))?.[1].trim().split(/\s+/) ?? []
      found.push({ name: file.replace(/^test-|\.m?js$/g, ''), group: match[1] ?? match[2], path, flags })
    }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1))
}

const patterns = filters.map((text) => new RegExp(text))
const tests = findTests()
  .filter(({ name }) => patterns.length === 0 || patterns.some((pattern) => pattern.test(name)))
  .filter((_test, index) => index % sample === 0)
if (tests.length === 0) fail('no test fits')
const commit = options.commit ?? commitOf(folder)

function commitOf(where) {
  try {
    return execFileSync('git', ['-C', where, 'rev-parse', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return 'unknown'
  }
}

// --- one test --------------------------------------------------------------------------------------------------------

const unshare = ['-n', '-m', '-p', '-f', '--mount-proc', '--kill-child']
const isolation = [unshare, ['-r', ...unshare]].find(
  (args) =>
    spawnSync('unshare', [...args, 'sh', '-c', 'ip link set lo up && mount -t tmpfs none /dev/shm']).status === 0,
)
if (!isolation) console.error('node-tests: no namespaces here (unshare, ip): tests share ports, and fail more often')
/** The last line has how many connections the kernel made: those over RDMA are not among them. */
const script = isolation
  ? `ip link set lo up; mount -t tmpfs none /dev/shm
timeout -s KILL "$LIMIT_S" "$@"; code=$?
awk '/^Tcp: [0-9]/ { print "connections of the kernel: " $6 }' /proc/net/snmp; exit $code`
  : 'exec timeout -s KILL "$LIMIT_S" "$@"'
const scratch = mkdtempSync(join(tmpdir(), 'node-tests-'))
const running = new Map()
let interrupted = false
let serial = 0

/** What became of it: passed, skipped, failed or timeout; `kernel`: connections over TCP. */
function run(test, device, seconds, slot) {
  const id = serial++
  const rules = device === 'plain' ? {} : settings[device](`nodetest${process.pid}-${id}`)
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(NODE_|VERBENA_|npm_)/.test(name))),
    ...rules,
    ...(device === 'plain' ? {} : { NODE_OPTIONS: `--require ${preload}` }),
    NODE_TEST_DIR: scratch,
    TEST_THREAD_ID: `${slot}`,
    LIMIT_S: `${seconds}`,
  }
  const argv = ['sh', '-c', script, 'sh', process.execPath, ...test.flags, test.path]
  const [command, args] = isolation ? ['unshare', [...isolation, ...argv]] : [argv[0], argv.slice(1)]
  return new Promise((done) => {
    const started = performance.now()
    const child = spawn(command, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    running.set(child, { name: `${test.name} (${device})`, started })
    let output = ''
    const keep = (chunk) => {
      if (output.length < 1_000_000) output += chunk.toString('latin1')
      else output = output.slice(-500_000) + chunk.toString('latin1')
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    // What is left when the limit has passed without an end: programs that have taken the output along.
    const timer = setTimeout(() => end(child), (seconds + 5) * 1000)
    child.on('exit', () => setTimeout(() => end(child), 500).unref())
    child.on('close', (code) => {
      clearTimeout(timer)
      running.delete(child)
      end(child)
      const kernel = /connections of the kernel: (\d+)\n$/.exec(output)?.[1]
      const outcome =
        code === 0 ? (/^1\.\.0 # Skipped/m.test(output) ? 'skipped' : 'passed') : code === 137 ? 'timeout' : 'failed'
      done({
        outcome,
        seconds: (performance.now() - started) / 1000,
        ...(kernel ? { kernel: Number(kernel) } : {}),
        output,
      })
    })
  })
}

function end(child) {
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

async function twice(test, device, slot) {
  const first = await run(test, device, limitS, slot)
  if (interrupted || againS === 0 || ['passed', 'skipped'].includes(first.outcome)) return first
  const second = await run(test, device, againS, slot)
  return second.outcome === 'passed' ? { ...second, second: true } : second
}

// --- all of them -----------------------------------------------------------------------------------------------------

const results = []
let next = 0
const knownPlain = new Map(
  options.plain
    ? JSON.parse(readFileSync(options.plain, 'utf8'))
        .results.filter(({ plain }) => plain.outcome === 'passed')
        .map(({ name, plain }) => [name, plain])
    : [],
)

async function worker(slot) {
  while (next < tests.length && !interrupted) {
    const test = tests[next++]
    const result = {
      name: test.name,
      group: test.group,
      plain: knownPlain.get(test.name) ?? (await twice(test, 'plain', slot)),
    }
    for (const device of devices)
      if (!interrupted && result.plain.outcome === 'passed') result[device] = await twice(test, device, slot)
    if (interrupted) return
    results.push(result)
    for (const where of ['plain', ...devices]) {
      const { outcome, output } = result[where] ?? {}
      if (options.keep && output !== undefined && ['failed', 'timeout'].includes(outcome))
        writeFileSync(join(options.keep, `${test.name}.${where}.txt`), output)
      if (result[where]) delete result[where].output
    }
  }
}

const fell = (result, device) => result[device] !== undefined && result[device].outcome !== 'passed'
const listed = (name, device) => {
  const entry = list.known[name]
  return entry !== undefined && (list.reasons[entry].device ?? device) === device
}
const started = performance.now()
const tty = process.stderr.isTTY
let lastLine = started

function progress(now = performance.now()) {
  const s = Math.round((now - started) / 1000)
  const bad = results.filter((result) => devices.some((device) => fell(result, device) && !listed(result.name, device)))
  const slow = [...running.values()].filter((one) => now - one.started > 2000)
  const names = slow.map((one) => `${one.name} ${Math.round((now - one.started) / 1000)} s`).join(', ')
  return `${results.length} of ${tests.length} tests, ${s} s, ${bad.length} new failures${names ? `; ${names}` : ''}`
}

const ticker = setInterval(() => {
  const now = performance.now()
  if (tty) process.stderr.write(`\r\x1b[K${progress(now).slice(0, (process.stderr.columns ?? 80) - 1)}`)
  else if (now - lastLine > 30_000) {
    lastLine = now
    console.error(progress(now))
  }
}, 1000)

function interrupt() {
  if (interrupted) process.exit(130)
  interrupted = true
  for (const child of running.keys()) end(child)
}
process.on('SIGINT', interrupt)
process.on('SIGTERM', interrupt)

await Promise.all(Array.from({ length: jobs }, (_, slot) => worker(slot)))
clearInterval(ticker)
if (tty) process.stderr.write('\r\x1b[K')
rmSync(scratch, { recursive: true, force: true, maxRetries: 3 })

// --- what came of it -------------------------------------------------------------------------------------------------

results.sort((a, b) => (a.name < b.name ? -1 : 1))
const count = (which) => results.filter(which).length
const figures = { ran: results.length, passedPlain: count(({ plain }) => plain.outcome === 'passed') }
for (const device of devices) {
  const went = results.filter((result) => result[device])
  figures[device] = {
    passed: went.filter((result) => !fell(result, device)).length,
    failed: went.filter((result) => fell(result, device)).length,
    // The kernel made fewer connections than plain; all of them: none at all.
    overRdma: went.filter((result) => result[device].kernel < result.plain.kernel).length,
    allOverRdma: went.filter((result) => result.plain.kernel > 0 && result[device].kernel === 0).length,
  }
}
const unexpected = []
const passesNow = []
for (const result of results)
  for (const device of devices)
    if (fell(result, device) && !listed(result.name, device))
      unexpected.push({ test: result.name, device, outcome: result[device].outcome })
    else if (result[device] && !fell(result, device) && listed(result.name, device))
      passesNow.push({ test: result.name, device })
const names = new Set(findTests().map(({ name }) => name))
const unknown = Object.keys(list.known).filter((name) => !names.has(name))

const report = {
  tests: { commit, folder },
  node: process.version,
  date: new Date().toISOString().slice(0, 10),
  interrupted,
  seconds: Math.round((performance.now() - started) / 1000),
  figures,
  unexpected,
  passesNow,
  unknown,
}
if (options.update && !interrupted) {
  list.lastRun = { date: report.date, node: report.node, commit, ...figures }
  writeFileSync(options.list, `${JSON.stringify(list, null, 2)}\n`)
}
if (options.json) console.log(JSON.stringify({ ...report, results }, null, 2))
else {
  console.log(`${figures.ran} tests of Node.js (commit ${commit.slice(0, 8)}), ${process.version}, ${report.seconds} s`)
  console.log(`plain    ${figures.passedPlain} passed; only these run under the preload`)
  for (const device of devices) {
    const { passed, failed, overRdma, allOverRdma } = figures[device]
    const over = isolation ? `; ${overRdma} had connections over RDMA, ${allOverRdma} nothing else` : ''
    console.log(`${device.padEnd(8)} ${passed} passed, ${failed} failed${over}`)
  }
  for (const { test, device, outcome } of unexpected) console.log(`NOT IN THE LIST: ${test} on ${device}: ${outcome}`)
  for (const { test, device } of passesNow) console.log(`in the list, but it passes: ${test} on ${device}`)
  if (unknown.length > 0) console.log(`in the list, but not in the folder: ${unknown.join(', ')}`)
}
process.exitCode = interrupted ? 130 : unexpected.length > 0 ? 1 : 0
