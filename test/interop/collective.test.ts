/** `verbena bench collective` under the launchers that people have: Open MPI, MPICH, and Slurm on one node. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { command } from '../built.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-launchers-'))
// Slurm writes until it has ended.
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 }))

const has = (program: string): boolean => spawnSync('which', [program]).status === 0

const options = [
  '--transport',
  'RC,multicast',
  '--mode',
  'SEND',
  '--size',
  '1',
  '--repetitions',
  '10',
  '--warmup',
  '1',
  '--json',
]

interface Document {
  runs: { settings: { transport: string; processes: number }; time: { count: number } }[]
}

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

async function launch(program: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, timeout: 100_000, killSignal: 'SIGKILL' })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}

const bench = (out: string): string[] => [
  process.execPath,
  command,
  'bench',
  'collective',
  ...options,
  '--out',
  join(folder, out),
]

/** Rank 0 alone printed, and measured with 1 to n − 1 others. */
function expectAll({ code, stdout, stderr }: Ended, ranks: number): void {
  expect(code, stderr).toBe(0)
  const { runs } = JSON.parse(stdout) as Document
  const expected = ['RC', 'multicast'].flatMap((transport) =>
    Array.from({ length: ranks - 1 }, (_, i) => [transport, i + 1]),
  )
  expect(runs.map(({ settings }) => [settings.transport, settings.processes])).toEqual(expected)
}

describe.skipIf(!has('mpirun.openmpi'))('Open MPI', () => {
  const mpirun = ['--allow-run-as-root', '--oversubscribe']

  it('mpirun -np 8', async () => {
    expectAll(await launch('mpirun.openmpi', ['-np', '8', ...mpirun, ...bench('openmpi')]), 8)
  })

  it('a wrong option is said once by each rank, and mpirun fails', async () => {
    const { code, stderr } = await launch('mpirun.openmpi', [
      '-np',
      '2',
      ...mpirun,
      ...bench('wrong'),
      '--mode',
      'ATOMIC',
    ])
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/--mode: 'ATOMIC' is not valid/)
  })
})

describe.skipIf(!has('mpiexec.hydra'))('MPICH', () => {
  it('mpiexec -n 4', async () => {
    expectAll(await launch('mpiexec.hydra', ['-n', '4', ...bench('mpich')]), 4)
  })

  it('through a shell', async () => {
    const line = bench('mpich-shell')
      .map((word) => `'${word}'`)
      .join(' ')
    expectAll(await launch('mpiexec.hydra', ['-n', '3', 'sh', '-c', `${line}; exit $?`]), 3)
  })
})

/** A Slurm of one node, in a folder: its own munge, controller and node daemon. */
const slurmPrograms = ['munged', 'slurmctld', 'slurmd', 'srun']

describe.skipIf(!slurmPrograms.every(has) || process.getuid?.() !== 0)('Slurm of one node', () => {
  const place = join(folder, 'slurm')
  const env = { SLURM_CONF: join(place, 'slurm.conf') }
  const pids = ['node.pid', 'controller.pid', 'munge.pid']

  beforeAll(async () => {
    for (const name of ['state', 'spool']) mkdirSync(join(place, name), { recursive: true })
    const host = hostname().split('.')[0]
    const at = (name: string): string => join(place, name)
    writeFileSync(at('munge.key'), Buffer.alloc(1024, process.pid.toString()), { mode: 0o400 })
    const cores = availableParallelism()
    const port = 20_000 + (process.pid % 10_000)
    const settings = [
      ...['ClusterName=one', `SlurmctldHost=${host}`, 'SlurmUser=root', 'SlurmdUser=root', 'AuthType=auth/munge'],
      ...[`AuthInfo=socket=${at('munge.sock')}`, `StateSaveLocation=${at('state')}`, `SlurmdSpoolDir=${at('spool')}`],
      ...[`SlurmctldPidFile=${at('controller.pid')}`, `SlurmdPidFile=${at('node.pid')}`, `SlurmctldPort=${port}`],
      ...[`SlurmdPort=${port + 1}`, 'ProctrackType=proctrack/pgid', 'TaskPlugin=task/none', 'SelectType=select/linear'],
      ...[
        'ReturnToService=2',
        'MpiDefault=none',
        `SlurmctldLogFile=${at('controller.log')}`,
        `SlurmdLogFile=${at('node.log')}`,
      ],
      ...[
        `NodeName=${host} CPUs=${cores} CoresPerSocket=${cores} State=UNKNOWN`,
        'PartitionName=all Nodes=ALL Default=YES',
      ],
    ]
    writeFileSync(env.SLURM_CONF, `${settings.join('\n')}\n`)
    const munge = [
      'key-file=munge.key',
      'socket=munge.sock',
      'pid-file=munge.pid',
      'log-file=munge.log',
      'seed-file=munge.seed',
    ]
    await launch('munged', [...munge.map((option) => `--${option.replace('=', `=${place}/`)}`), '--force'])
    await launch('slurmctld', [], env)
    await launch('slurmd', [], env)
    const idle = async (): Promise<string> => (await launch('sinfo', ['-h', '-o', '%T'], env)).stdout.trim()
    // The node says who it is before it gets work.
    while ((await idle()) !== 'idle') await delay(100)
  })
  afterAll(async () => {
    for (const name of pids) {
      try {
        process.kill(Number(readFileSync(join(place, name), 'utf8')))
      } catch {
        // It did not start.
      }
    }
  })

  it('srun -n 4', async () => {
    expectAll(await launch('srun', ['-n', '4', '--overcommit', ...bench('slurm')], env), 4)
  })
})
