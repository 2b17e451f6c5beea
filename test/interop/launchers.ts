/** The launchers that people have: Open MPI, MPICH, and Slurm on one node, which runs in a folder as long as tests need it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface Running {
  child: ChildProcess
  ended: Promise<Ended>
}

export function start(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
  const child = spawn(program, args, { env: { ...process.env, ...env }, timeout: 100_000, killSignal: 'SIGKILL' })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr }))
  return { child, ended }
}

export interface Launcher {
  name: string
  /** Whether it is installed, and may be used. */
  there: boolean
  /** The command in front of the program's, and what it needs in the environment. */
  command(ranks: number): readonly string[]
  env: NodeJS.ProcessEnv
  /** Sends what the Ctrl-C of its user that ends a job would. */
  interrupt(child: ChildProcess): void
  /** Its processes have time between that signal and their end. */
  givesTime: boolean
  begin(): Promise<void>
  end(): Promise<void>
}

const has = (program: string): boolean => spawnSync('which', [program]).status === 0
const nothing = { givesTime: true, env: {}, begin: async () => undefined, end: async () => undefined }

export const openMpi: Launcher = {
  ...{ ...nothing, name: 'Open MPI', there: has('mpirun.openmpi') },
  command: (ranks) => ['mpirun.openmpi', '-np', `${ranks}`, '--allow-run-as-root', '--oversubscribe'],
  interrupt: (child) => child.kill('SIGINT'),
}

export const mpich: Launcher = {
  ...{ ...nothing, name: 'MPICH', there: has('mpiexec.hydra') },
  command: (ranks) => ['mpiexec.hydra', '-n', `${ranks}`],
  interrupt: (child) => child.kill('SIGINT'),
}

const slurmPrograms = ['munged', 'slurmctld', 'slurmd', 'srun']
const pidFiles = ['node.pid', 'controller.pid', 'munge.pid']

/** A Slurm of one node, in a folder: its own munge, controller and node daemon. */
export function slurmIn(place: string): Launcher {
  const env = { SLURM_CONF: join(place, 'slurm.conf') }
  return {
    // Right behind the signal srun forces the job's end.
    ...{ name: 'Slurm of one node', env, givesTime: false },
    there: slurmPrograms.every(has) && process.getuid?.() === 0,
    command: (ranks) => ['srun', '-n', `${ranks}`, '--overcommit'],
    interrupt(child) {
      // The first one asks how the tasks are; another within a second is for them.
      child.kill('SIGINT')
      setTimeout(() => child.kill('SIGINT'), 200)
    },
    async begin() {
      for (const name of ['state', 'spool']) mkdirSync(join(place, name), { recursive: true })
      writeFileSync(join(place, 'munge.key'), Buffer.alloc(1024, process.pid.toString()), { mode: 0o400 })
      writeFileSync(env.SLURM_CONF, `${settingsIn(place).join('\n')}\n`)
      const files = ['key-file=munge.key', 'socket=munge.sock', 'pid-file=munge.pid', 'log-file=munge.log']
      const munge = [...files, 'seed-file=munge.seed'].map((option) => `--${option.replace('=', `=${place}/`)}`)
      await start('munged', [...munge, '--force']).ended
      await start('slurmctld', [], env).ended
      await start('slurmd', [], env).ended
      const state = async (): Promise<string> => (await start('sinfo', ['-h', '-o', '%T'], env).ended).stdout.trim()
      // The node says who it is before it gets work.
      while ((await state()) !== 'idle') await delay(100)
    },
    async end() {
      for (const name of pidFiles) {
        try {
          const pid = Number(readFileSync(join(place, name), 'utf8'))
          process.kill(pid)
          // It writes until it has ended.
          while (runsStill(pid)) await delay(50)
        } catch {
          // It did not start.
        }
      }
    },
  }
}

/** Whether it has not ended; a zombie that nobody waits for has. */
const runsStill = (pid: number): boolean => !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))

function settingsIn(place: string): string[] {
  const host = hostname().split('.')[0]
  const at = (name: string): string => join(place, name)
  const cores = availableParallelism()
  const port = 20_000 + (process.pid % 10_000)
  return [
    ...['ClusterName=one', `SlurmctldHost=${host}`, 'SlurmUser=root', 'SlurmdUser=root', 'AuthType=auth/munge'],
    ...[`AuthInfo=socket=${at('munge.sock')}`, `StateSaveLocation=${at('state')}`, `SlurmdSpoolDir=${at('spool')}`],
    ...[`SlurmctldPidFile=${at('controller.pid')}`, `SlurmdPidFile=${at('node.pid')}`, `SlurmctldPort=${port}`],
    ...[`SlurmdPort=${port + 1}`, 'ProctrackType=proctrack/pgid', 'TaskPlugin=task/none', 'SelectType=select/linear'],
    ...['ReturnToService=2', 'MpiDefault=none'],
    ...[`SlurmctldLogFile=${at('controller.log')}`, `SlurmdLogFile=${at('node.log')}`],
    `NodeName=${host} CPUs=${cores} CoresPerSocket=${cores} State=UNKNOWN`,
    'PartitionName=all Nodes=ALL Default=YES',
  ]
}

/** What launchers tell a process of its rank. */
const rankNames = ['OMPI_COMM_WORLD_RANK', 'PMI_RANK', 'SLURM_PROCID']

/** The processes of a job by their rank: those of Node.js that have this variable in their environment. */
export function processesOf(variable: string): Map<number, number> {
  const found = new Map<number, number>()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const env = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
      if (!env.includes(variable) || readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')[0] !== process.execPath)
        continue
      const rank = env.find((one) => rankNames.includes(one.split('=', 1)[0]!))
      if (rank !== undefined) found.set(Number(rank.split('=')[1]), Number(pid))
    } catch {
      // It has ended meanwhile.
    }
  }
  return found
}
