/** Collectives between processes beside those of Open MPI over its shared memory, in turn. Its loops are compiled with `mpicc`. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { currentCores, entryModule } from '../src/memory/index.ts'
import { type Comparison, compare } from './comparison.ts'
import { onCores } from './load.ts'
import { finished, isInstalled, startProgram } from './programs.ts'

export interface CollectiveJob {
  name: string
  run(rounds: number): Promise<Comparison[]>
}

const rankModule = fileURLToPath(entryModule(import.meta.url, './collective-loops'))

/** Calls of each: name, bytes, how many times. */
const calls = (size: number): [string, number, number][] => {
  const times = size > 2 ? 500 : 20_000
  const sized = [8, 4096, 1 << 20].map((bytes): [number, number] => [bytes, Math.max(50, times / (1 + bytes / 4096))])
  return [
    ['barrier', 0, times],
    ...['broadcast', 'allreduce'].flatMap((name) =>
      sized.map(([bytes, n]): [string, number, number] => [name, bytes, Math.round(n)]),
    ),
  ]
}

interface Ranks {
  name: string
  size: number
  list: [name: string, bytes: number, times: number][]
  /** Cores of all of them; null leaves them to the scheduler. */
  cores: () => number[] | null
  /** The ratio of these rows to Open MPI. */
  target?: number
}

const ranks: Ranks[] = [
  ...[2, 4].map((size) => ({ name: `collective-${size}`, size, list: calls(size), cores: () => null })),
  // More ranks than cores: who waits has to let the others run.
  {
    ...{ name: 'collective-two-cores', size: 4, target: 1 },
    list: [
      ['barrier', 0, 500],
      ['allreduce', 8, 500],
    ],
    cores: () => currentCores().slice(0, 2),
  },
]

export const collectiveJobs: readonly CollectiveJob[] = ranks.map(({ name, size, list, cores, target }) => ({
  name,
  async run(rounds: number) {
    const folder = mkdtempSync(join(tmpdir(), 'verbena-bench-'))
    try {
      const loops = await compiled(folder)
      const args = list.flat().map(String)
      const ours: number[][] = []
      const theirs: number[][] = []
      for (let round = 0; round < rounds; round++) {
        ours.push(await verbena(size, args, cores()))
        if (loops !== null) theirs.push(await openMpi(size, loops, args, cores()))
      }
      return list.map(([name, bytes], i) => {
        const where = cores() === null ? '' : ' on two cores'
        const title = `${name}${bytes > 0 ? ` of ${bytes} bytes` : ''}, ${size} processes${where}, shm`
        const column = (rows: number[][]): number[] => rows.map((row) => row[i]!)
        const peer = loops === null ? null : 'Open MPI'
        return compare(title, column(ours), peer, column(theirs), 'ns', 'less is better', target)
      })
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}))

/** The program, or null where there is no Open MPI, or no compiler for it. */
async function compiled(folder: string): Promise<string | null> {
  if (!isInstalled('mpirun') || !isInstalled('mpicc')) return null
  const program = join(folder, 'loops')
  const { code, output } = await finished(startProgram('mpicc', ['-O2', '-o', program, source('collective-loops.c')]))
  if (code !== 0) throw new Error(`mpicc: ${output.trim()}`)
  return program
}

/** A file of this folder: the bundle is two levels below the root. */
function source(name: string): string {
  const beside = fileURLToPath(new URL(name, import.meta.url))
  return existsSync(beside) ? beside : fileURLToPath(new URL(`../../bench/${name}`, import.meta.url))
}

async function openMpi(size: number, program: string, args: string[], cores: number[] | null): Promise<number[]> {
  const options = ['--allow-run-as-root', '--oversubscribe', '-np', String(size), '--mca', 'btl', 'vader,self']
  const bound = cores === null ? [] : ['--bind-to', 'none']
  const [mpirun, ...rest] = onCores(cores, ['mpirun', ...options, ...bound, program, ...args])
  return figures(await ended([startProgram(mpirun!, rest)]), args)
}

async function verbena(size: number, args: string[], cores: number[] | null): Promise<number[]> {
  const job = { VERBENA_SIZE: String(size), VERBENA_JOB: hex(), VERBENA_KEY: hex() }
  const programs = Array.from({ length: size }, (_, rank) => {
    const [program, ...rest] = onCores(cores, [process.execPath, rankModule, ...args])
    return startProgram(program!, rest, { ...job, VERBENA_RANK: String(rank) })
  })
  return figures(await ended(programs), args)
}

const hex = (): string => randomBytes(16).toString('hex')

async function ended(programs: ReturnType<typeof startProgram>[]): Promise<string> {
  const ends = await Promise.all(programs.map(finished))
  for (const { code, output } of ends)
    if (code !== 0) throw new Error(`a program of the collectives ended with ${code}: ${output.trim()}`)
  return ends[0]!.output
}

/** Nanoseconds of each call, in the order of `args`. */
function figures(output: string, args: string[]): number[] {
  const found = [...output.matchAll(/^[a-z]+ \d+ ([\d.]+)$/gm)].map(([, ns]) => Number(ns))
  if (found.length !== args.length / 3) throw new Error(`the loops of collectives printed ${output.trim()}`)
  return found
}
