/**
 * Rank of a process, number of ranks, and meeting point of the ranks: from options, from `VERBENA_*`, or from a launcher's variables.
 *
 * | launcher | rank | size | one host? | the job is named by |
 * | --- | --- | --- | --- | --- |
 * | Verbena's own, or by hand | VERBENA_RANK | VERBENA_SIZE | VERBENA_JOB | VERBENA_JOB, VERBENA_MEET |
 * | Open MPI, PRRTE | OMPI_COMM_WORLD_RANK, PMIX_RANK | OMPI_COMM_WORLD_SIZE | OMPI_COMM_WORLD_LOCAL_SIZE | PMIX_NAMESPACE |
 * | MPICH, Intel MPI (Hydra) | PMI_RANK | PMI_SIZE | MPI_LOCALNRANKS | the launcher's process |
 * | Slurm | SLURM_PROCID | SLURM_STEP_NUM_TASKS, SLURM_NTASKS | SLURM_STEP_NUM_NODES | SLURM_JOB_ID, SLURM_STEP_ID |
 * | Kubernetes, indexed job | JOB_COMPLETION_INDEX | VERBENA_SIZE | no | VERBENA_MEET |
 */
import { readFileSync } from 'node:fs'
import { GroupError } from './error.ts'
import { firstHost } from './host-list.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface PlaceOptions {
  rank?: number | undefined
  size?: number | undefined
  /** Address of rank 0: `HOST:PORT` or `HOST`. */
  meet?: string | undefined
  /** Environment; default: that of the process. */
  environment?: Environment
  /** Source of processes' states; default: this system. */
  statOf?: StatOf
}

/** Returns the fields of /proc/PID/stat from the number of the parent on. Throws if the process does not exist. */
export type StatOf = (pid: string) => readonly string[]

export interface Place {
  rank: number
  size: number
  /** Name of the launcher for messages: `Open MPI`, `Slurm`, … */
  launcher: string
  /** Name of the job: the same at all of its ranks, and different from those of other jobs. */
  job: string
  /** Host and ports of rank 0: it listens at the first of these ports that is free, and the other ranks try all. */
  host: string
  ports: readonly number[]
}

const mostRanks = 4096
/** Port at which rank 0 listens if `meet` contains no port. */
const defaultMeetPort = 18516

interface Launch {
  launcher: string
  rank: string
  size: string | undefined
  job?: string
  /** True if all ranks are on one host; undefined: unknown. */
  oneHost?: boolean
  firstHost?: string | undefined
}

/** Returns the place of this process. Throws GroupError ERR_GROUP_PLACE. */
export function placeOf(options: PlaceOptions = {}): Place {
  const environment = options.environment ?? process.env
  const launch = launchOf(environment, options.statOf ?? statOf)
  const said = launch === undefined ? 'nothing says' : `${launch.launcher} does not say`
  const rankText = options.rank?.toString() ?? launch?.rank
  if (rankText === undefined)
    throw placeError(
      'no launcher says which rank this is: start it with mpirun, mpiexec or srun, or set VERBENA_RANK, VERBENA_SIZE and VERBENA_MEET (the host of rank 0) for each rank. A program can start ranks of this host itself with runRanks, as the commands do with --procs',
    )
  const sizeText = options.size?.toString() ?? launch?.size ?? environment.VERBENA_SIZE
  if (sizeText === undefined) throw placeError(`${said} how many ranks there are: set VERBENA_SIZE (commands: --ranks)`)
  const size = wholeNumber('the number of ranks', sizeText, 1, mostRanks)
  const rank = wholeNumber('the rank', rankText, 0, size - 1)
  const launcher = launch?.launcher ?? 'options'
  const meet = options.meet ?? environment.VERBENA_MEET
  if (meet !== undefined) {
    const { host, port } = meetingPoint(meet)
    // Hosts have several names, and Hydra's job is known to the ranks of one host only.
    const job = launch?.launcher === 'MPICH' ? undefined : launch?.job
    return { rank, size, launcher, job: job ?? `meet ${port}`, host, ports: [port] }
  }
  if (size === 1) return { rank, size, launcher, job: 'alone', host: '127.0.0.1', ports: [] }
  const host = launch?.oneHost ? '127.0.0.1' : launch?.firstHost
  if (launch?.job === undefined || host === undefined)
    throw placeError(
      `${said} where rank 0 is: set VERBENA_MEET (commands: --meet) to the host of rank 0, with :PORT if ${defaultMeetPort} is taken`,
    )
  return { rank, size, launcher, job: launch.job, host, ports: portsOf(launch.job) }
}

/** Returns the most specific launch: `mpirun` may run below Slurm, and `srun` may set PMI variables, too. */
function launchOf(environment: Environment, stat: StatOf): Launch | undefined {
  return (
    verbena(environment) ??
    openMpi(environment) ??
    slurm(environment) ??
    hydra(environment, stat) ??
    kubernetes(environment)
  )
}

function verbena({ VERBENA_RANK: rank, VERBENA_SIZE: size, VERBENA_JOB: job }: Environment): Launch | undefined {
  if (rank === undefined) return undefined
  return { launcher: 'VERBENA_RANK', rank, size, ...(job !== undefined && { job: `verbena ${job}`, oneHost: true }) }
}

function openMpi(environment: Environment): Launch | undefined {
  const { OMPI_COMM_WORLD_SIZE: size, OMPI_COMM_WORLD_LOCAL_SIZE: local, PMIX_NAMESPACE: namespace } = environment
  const rank = environment.OMPI_COMM_WORLD_RANK
  if (rank === undefined) {
    // This is a launcher that uses PMIx and is neither Open MPI's nor Slurm's.
    const pmix = environment.PMIX_RANK
    if (pmix === undefined || environment.SLURM_PROCID !== undefined) return undefined
    return {
      launcher: 'PMIx',
      rank: pmix,
      size: undefined,
      ...(namespace !== undefined && { job: `pmix ${namespace}` }),
    }
  }
  // The name contains the process of mpirun and its host.
  const job = namespace ?? environment.OMPI_MCA_ess_base_jobid
  return {
    ...{ launcher: 'Open MPI', rank, size, oneHost: size !== undefined && size === local },
    ...(job !== undefined && { job: `ompi ${job} ${environment.OMPI_MCA_orte_hnp_uri ?? ''}` }),
  }
}

function slurm(environment: Environment): Launch | undefined {
  const { SLURM_PROCID: rank, SLURM_JOB_ID: id, SLURM_STEP_ID: step } = environment
  // A batch script has SLURM_PROCID 0, too, and no step; Hydra's proxies are the tasks of a step.
  if (rank === undefined || step === undefined) return undefined
  const size = environment.SLURM_STEP_NUM_TASKS ?? environment.SLURM_NTASKS
  const { PMI_RANK, PMI_SIZE } = environment
  if (PMI_RANK !== undefined && (PMI_RANK !== rank || PMI_SIZE !== size)) return undefined
  const nodes = environment.SLURM_STEP_NODELIST ?? environment.SLURM_JOB_NODELIST ?? ''
  return {
    ...{ launcher: 'Slurm', rank, size, job: `slurm ${id} ${step}` },
    oneHost: (environment.SLURM_STEP_NUM_NODES ?? environment.SLURM_NNODES) === '1',
    firstHost: firstHost(nodes),
  }
}

function hydra(environment: Environment, stat: StatOf): Launch | undefined {
  const { PMI_RANK: rank, PMI_SIZE: size, MPI_LOCALNRANKS: local } = environment
  if (rank === undefined) return undefined
  const job = parentOfSession(stat)
  return {
    ...{ launcher: 'MPICH', rank, size, oneHost: size !== undefined && size === local },
    ...(job !== undefined && { job: `hydra ${job}` }),
  }
}

function kubernetes(environment: Environment): Launch | undefined {
  const rank = environment.JOB_COMPLETION_INDEX
  return rank === undefined ? undefined : { launcher: 'Kubernetes', rank, size: undefined }
}

/**
 * Returns the process of Hydra's proxy. Hydra does not name the job, but starts each rank in a session of its own: the proxy is the parent
 * of the session's leader. Undefined if that parent is outside of the container.
 */
function parentOfSession(stat: StatOf): string | undefined {
  try {
    const [, , session] = stat('self')
    const [parent] = stat(session!)
    // The start time is included because process numbers are reused.
    return `${parent} ${stat(parent!)[18]}`
  } catch {
    return undefined
  }
}

function statOf(pid: string): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return text.slice(text.lastIndexOf(')') + 4).split(' ')
}

/** Parses `HOST`, `HOST:PORT`, `[IPV6]:PORT`. Throws GroupError ERR_GROUP_PLACE. */
export function meetingPoint(text: string): { host: string; port: number } {
  const match = /^(?:\[([^[\]]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/.exec(text.trim())
  const port = Number(match?.[3] ?? defaultMeetPort)
  if (!match || port < 1 || port > 65535)
    throw placeError(`'${text}' is no place to meet. Expected HOST or HOST:PORT, for example node1:${defaultMeetPort}`)
  return { host: match[1] ?? match[2]!, port }
}

const portsTried = 8
const firstPort = 20_000
/** Number of ports below those that systems give to clients. */
const portRange = 12_000

/** Returns the ports of a job, below those that the system gives to clients: other programs may use some of them. */
export function portsOf(job: string): number[] {
  // FNV-1a
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(job)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return Array.from({ length: portsTried }, (_, i) => firstPort + ((hash + i * 1009) % portRange))
}

function wholeNumber(what: string, text: string, min: number, max: number): number {
  const value = /^\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw placeError(`${what} is '${text.slice(0, 40)}'. Expected a whole number from ${min} to ${max}`)
  return value
}

function placeError(message: string): GroupError {
  return new GroupError('ERR_GROUP_PLACE', message)
}
