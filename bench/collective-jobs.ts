/** Collectives between processes beside those of Open MPI over its shared memory, in turn. Its loops are compiled with `mpicc`. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { entryModule } from '../src/memory/index.ts'
import { type Comparison, compare } from './comparison.ts'
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

export const collectiveJobs: readonly CollectiveJob[] = [2, 4].map((size) => ({
  name: `collective-${size}`,
  async run(rounds: number) {
    const folder = mkdtempSync(join(tmpdir(), 'verbena-bench-'))
    try {
      const loops = await compiled(folder)
      const list = calls(size)
      const args = list.flat().map(String)
      const ours: number[][] = []
      const theirs: number[][] = []
      for (let round = 0; round < rounds; round++) {
        ours.push(await verbena(size, args))
        if (loops !== null) theirs.push(await openMpi(size, loops, args))
      }
      return list.map(([name, bytes], i) => {
        const title = `${name}${bytes > 0 ? ` of ${bytes} bytes` : ''}, ${size} processes, shm`
        const column = (rows: number[][]): number[] => rows.map((row) => row[i]!)
        const peer = loops === null ? null : 'Open MPI'
        return compare(title, column(ours), peer, column(theirs), 'ns', 'less is better')
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

async function openMpi(size: number, program: string, args: string[]): Promise<number[]> {
  const options = ['--allow-run-as-root', '--oversubscribe', '-np', String(size), '--mca', 'btl', 'vader,self']
  return figures(await ended([startProgram('mpirun', [...options, program, ...args])]), args)
}

async function verbena(size: number, args: string[]): Promise<number[]> {
  const job = { VERBENA_SIZE: String(size), VERBENA_JOB: hex(), VERBENA_KEY: hex() }
  const ranks = Array.from({ length: size }, (_, rank) =>
    startProgram(process.execPath, [rankModule, ...args], { ...job, VERBENA_RANK: String(rank) }),
  )
  return figures(await ended(ranks), args)
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
