/**
 * Which unmodified programs have run under `verbena run`, by the tests that ran them: `ran.json`, and the table of docs/internals/interop.md
 * that is made of it. `VERBENA_UPDATE_DOCS=1 npm run test:interop` writes both.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** What a test has run, as its file and name say. */
export interface Ran {
  readonly program: string
  /** Of Debian. */
  readonly package: string
  /** Where its libraries are those of another release than the host's: Debian 11. */
  readonly release?: string
  readonly other: 'both below one run' | 'another run' | 'Verbena in Node.js' | 'Soft-RoCE'
  readonly device: 'shm' | 'roce'
}

export interface RanRow extends Ran {
  /** The test: its file and name. */
  readonly test: string
  readonly version: string
  readonly result: 'passed' | 'failed'
  readonly date: string
}

const packages: readonly (readonly [name: string, programs: RegExp])[] = [
  ['ibverbs-utils', /\bibv_(?:devices|devinfo|(?:rc|uc|ud|srq)_pingpong)\b/],
  ['perftest', /\bib_(?:send|write|read|atomic)_(?:lat|bw)\b/],
  ['infiniband-diags', /\b(?:ibstat|smpquery|perfquery|ibping|ibnetdiscover|saquery|sminfo|iblinkinfo|ibaddr)\b/],
  ['opensm', /\bopensm\b/],
  [
    'rdmacm-utils',
    /\b(?:rping|ucmatose|udaddy|mckey|cmtime|rdma_x?(?:server|client)|rstream|riostream|rcopy|udpong)\b/,
  ],
  ['ucx-utils', /\bucx_perftest\b/],
  ['libfabric-bin', /\bfi_pingpong\b/],
  ['netperf', /\bnetperf\b/],
  ['netcat-traditional', /\bnc\b/],
  ['openmpi-bin', /\bOpen MPI\b/],
]

/** Files whose tests each run a program, and the one that they run where their name says none. */
const files: Readonly<Record<string, Pick<Ran, 'program' | 'package' | 'device'>>> = {
  'run-programs.test.ts': { program: 'ibv_rc_pingpong', package: 'ibverbs-utils', device: 'shm' },
  'run-debian.test.ts': { program: 'ibv_rc_pingpong', package: 'ibverbs-utils', device: 'shm' },
  'run-container.test.ts': { program: 'ibv_rc_pingpong', package: 'ibverbs-utils', device: 'shm' },
  'run-roce.test.ts': { program: 'ibv_rc_pingpong', package: 'ibverbs-utils', device: 'roce' },
  'run-umad.test.ts': { program: 'smpquery', package: 'infiniband-diags', device: 'shm' },
  'run-rdma-cm.test.ts': { program: 'rping', package: 'rdmacm-utils', device: 'shm' },
}
/** By the version of rdma-core that names of tests have. */
const releases: Readonly<Record<string, string>> = { 33: 'Debian 11', 56: 'Debian 13' }

/** Undefined for a test of another file. `name`: with those of its groups. */
export function ranOf(file: string, name: string): Ran | undefined {
  const usual = files[file]
  if (usual === undefined) return undefined
  const found = packages
    .flatMap(([of, programs]) => {
      const match = programs.exec(name)
      return match === null ? [] : [{ program: match[0], package: of, at: match.index }]
    })
    .sort((a, b) => a.at - b.at)[0]
  const release = releases[/rdma-core (\d+)/.exec(name)?.[1] ?? '']
  return {
    program: found?.program ?? usual.program,
    package: found?.package ?? usual.package,
    ...(release === undefined ? {} : { release }),
    other: otherEnd(name),
    device: usual.device,
  }
}

function otherEnd(name: string): Ran['other'] {
  if (name.includes('Soft-RoCE')) return 'Soft-RoCE'
  if (/ours is the (client|server)/.test(name)) return 'Verbena in Node.js'
  return /another run|two runs|are lost/.test(name) ? 'another run' : 'both below one run'
}

/** A line for each program and way to run it. */
export function tableOf(rows: readonly RanRow[]): string {
  const lines = new Map<string, { row: RanRow; passed: number; all: number }>()
  for (const row of rows) {
    const { program, release, other, device } = row
    const key = [row.package, program, release ?? '', device, other].join('/')
    const line = lines.get(key) ?? { row, passed: 0, all: 0 }
    const isNewer = row.date > line.row.date
    lines.set(key, {
      row: isNewer ? row : line.row,
      passed: line.passed + (row.result === 'passed' ? 1 : 0),
      all: line.all + 1,
    })
  }
  const shown = [...lines.entries()].sort(([a], [b]) => (a < b ? -1 : 1))
  return [
    '| program | package | other end | adapter | tests passed | run on |',
    '| --- | --- | --- | --- | ---: | --- |',
    ...shown.map(([, { row, passed, all }]) => {
      const from = row.release === undefined ? `${row.package} ${row.version}` : `${row.package} of ${row.release}`
      return `| \`${row.program}\` | ${from} | ${row.other} | \`${row.device}\` | ${passed} of ${all} | ${row.date} |`
    }),
  ].join('\n')
}

const page = fileURLToPath(new URL('../../docs/internals/interop.md', import.meta.url))
const [begin, end] = ['<!-- programs that ran -->', '<!-- end of programs that ran -->']

/** The page with the table of these. */
export function pageWith(rows: readonly RanRow[]): string {
  const text = readFileSync(page, 'utf8')
  return `${text.slice(0, text.indexOf(begin) + begin.length)}\n\n${tableOf(rows)}\n\n${text.slice(text.indexOf(end))}`
}

export const pageNow = (): string => readFileSync(page, 'utf8')

const list = fileURLToPath(new URL('ran.json', import.meta.url))

export const readRows = (): RanRow[] => JSON.parse(readFileSync(list, 'utf8')) as RanRow[]

export function writeRows(rows: readonly RanRow[]): void {
  writeFileSync(list, `[\n${rows.map((row) => `  ${JSON.stringify(row)}`).join(',\n')}\n]\n`)
  writeFileSync(page, pageWith(rows))
}

/** With what a run says of some tests; tests of its files that are no more have no row any more. */
export function updated(
  rows: readonly RanRow[],
  files: ReadonlySet<string>,
  skipped: ReadonlySet<string>,
  found: readonly RanRow[],
): RanRow[] {
  const kept = rows.filter(({ test }) => !files.has(test.split(' > ')[0]!) || skipped.has(test))
  return [...kept, ...found].sort((a, b) => (a.test < b.test ? -1 : 1))
}
