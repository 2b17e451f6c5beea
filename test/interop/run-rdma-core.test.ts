/**
 * rdma-core's own tests, with Debian's python3-pyverbs: unmodified under `verbena run`, and in a guest on the kernel's Soft-RoCE, each
 * compared with rdma-core-44.tsv. What passes on Soft-RoCE passes with us.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { images, useStage } from './encounter.ts'
import { start } from './launchers.ts'
import { lacking as programsLack, verbena } from './run-kit.ts'

const version = '44'
const path = (name: string): string => new URL(name, import.meta.url).pathname
const listFile = path(`rdma-core-${version}.tsv`)
const runner = path('programs/rdma-core-tests.py')
const examples = '/usr/share/doc/rdma-core/tests'
const python = '/usr/bin/python3'
/** Several times what they take; those that hang end with it. */
const limitSeconds = 100

/** Where they run, as the columns of the list. */
const places = ['shm', 'shm --strict', 'roce', 'rxe'] as const
type Place = (typeof places)[number]
interface Outcome {
  outcome: string
  reason: string
}
type Outcomes = Map<string, Outcome>

function missing(): string[] {
  const installed = spawnSync('dpkg-query', ['-W', 'python3-pyverbs']).stdout?.toString() ?? ''
  const reasons = [...programsLack]
  if (!installed.startsWith(`python3-pyverbs\t${version}.`))
    reasons.push(`python3-pyverbs ${version}, which the list is of`)
  if (process.getuid?.() !== 0) reasons.push('root, for a network of its own')
  return reasons
}
const lacking = missing()
if (lacking.length > 0) console.warn(`skipped: rdma-core's tests need ${lacking.join(', ')}`)

const folder = mkdtempSync(join(tmpdir(), 'verbena-rdma-core-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Debian has compressed the larger ones. */
function unpack(): void {
  const into = join(folder, 'tests')
  mkdirSync(into)
  for (const name of readdirSync(examples)) {
    const bytes = readFileSync(join(examples, name))
    writeFileSync(join(into, name.replace(/\.gz$/, '')), name.endsWith('.gz') ? gunzipSync(bytes) : bytes)
  }
}

const command = [...['timeout', '-s', 'KILL', `${limitSeconds}`, python, runner, folder, '--dev', 'rxe0']]

function outcomesOf(stdout: string): Outcomes {
  const lines = stdout.split('\n').filter((line) => /\t(ok|skipped|failed)\t/.test(line))
  return new Map(
    lines
      .map((line) => line.split('\t'))
      .map(([name, outcome, reason]) => [name!, { outcome: outcome!, reason: reason! }]),
  )
}

// --- the list --------------------------------------------------------------------------------------------------------

/** Lines of `#` are for readers; then a line for each test: its name, outcomes in the order of `places`, and why it did not pass. */
const listLines = readFileSync(listFile, 'utf8').trimEnd().split('\n')
const notes = listLines.filter((line) => line.startsWith('#'))
const listed = new Map(
  listLines
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.split('\t'))
    .map(([name, ...cells]) => [name!, cells]),
)
const column = (place: Place): Record<string, string> =>
  Object.fromEntries([...listed].map(([name, cells]) => [name, cells[places.indexOf(place)]!]))

const updates = process.env.VERBENA_UPDATE_DOCS === '1'
const seen = new Map<Place, Outcomes>()
afterAll(() => {
  if (updates && seen.size === places.length) writeFileSync(listFile, written())
})

function written(): string {
  const names = [...new Set([...seen.values()].flatMap((outcomes) => [...outcomes.keys()]))].sort()
  const lines = names.map((name) => {
    const all = places.map((place) => seen.get(place)!.get(name) ?? { outcome: 'missing', reason: '' })
    const why = new Set(all.map(({ reason }) => reason).filter((reason) => reason !== ''))
    return [name, ...all.map(({ outcome }) => outcome), [...why].join(' | ')].join('\t')
  })
  return [...notes, ...lines, ''].join('\n')
}

function compare(place: Place, outcomes: Outcomes): void {
  seen.set(place, outcomes)
  if (updates) return
  const found = Object.fromEntries([...outcomes].map(([name, { outcome }]) => [name, outcome]))
  expect(found, 'write the list again with: VERBENA_UPDATE_DOCS=1').toEqual(column(place))
}

// --- the runs --------------------------------------------------------------------------------------------------------

describe.skipIf(lacking.length > 0)("rdma-core's tests", () => {
  beforeAll(unpack)

  const under: [Place, string[]][] = [
    ['shm', ['--device', `shm:rdma-core-${process.pid}`]],
    ['shm --strict', ['--device', `shm:rdma-core-${process.pid}`, '--strict']],
    // Those of the RDMA CM ask for the first address of the adapter's interface.
    ['roce', ['--device', 'roce:127.0.0.1']],
  ]
  for (const [place, options] of under)
    it(`under verbena run on ${place}`, { timeout: 2 * limitSeconds * 1000 }, async () => {
      const run = [process.execPath, verbena, 'run', ...options, '--', ...command].join(' ')
      const { code, stdout, stderr } = await start('unshare', ['--net', 'sh', '-c', `ip link set lo up && exec ${run}`])
        .ended
      expect(code, stderr).toBe(0)
      compare(place, outcomesOf(stdout))
    })

  describe.skipIf(images === null)('in a guest', () => {
    const stage = useStage([])
    it("on the kernel's Soft-RoCE", { timeout: 2 * limitSeconds * 1000 }, async () => {
      const { guest } = stage()
      await guest.mountHost()
      const { code, output } = await guest.run(
        `in-host ${command.join(' ')} 2> /tmp/errors || cat /tmp/errors`,
        limitSeconds * 1500,
      )
      expect(code, output).toBe(0)
      compare('rxe', outcomesOf(output))
    })
  })

  it('what passes on Soft-RoCE passes on ours', () => {
    const [onRxe, onOurs] = [column('rxe'), column('roce')]
    const lost = Object.keys(onRxe).filter((name) => onRxe[name] === 'ok' && onOurs[name] !== 'ok')
    // With --strict that one does, too.
    expect(lost).toEqual(['test_qpex.QpExTestCase.test_post_send_qp_state_bad_flow'])
    expect(column('shm --strict')[lost[0]!]).toBe('ok')
  })
})
