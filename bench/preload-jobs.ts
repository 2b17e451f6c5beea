/**
 * Programs of Node.js, unmodified, in two processes: over rsockets under `verbena/preload`, and over TCP. The server and the
 * client are the same programs, with and without the preload.
 */
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { entryModule } from '../src/memory/index.ts'
import { type Comparison, compare, compareToGoal, type Order } from './comparison.ts'
import { onCores } from './load.ts'
import { finished, startProgram } from './programs.ts'

const sparseRequests = 20
const connections = 300
/** Milliseconds of load, and connections, before what is measured. */
const warmUpMs = 500
/** Milliseconds of load that are measured. */
const loadMs = 2000
/** Bytes of a response. */
const responseBytes = 64
/** The same until V8 has compiled what runs often, on two cores: with the preload that is several times as much code as without. */
const compiledMs = 6000
/** Connections after which connecting is measured once more. */
const earlierConnections = 500
const connectionsAtOnce = 600
/** Connections a second of clients that come and go beside those that are measured. */
const strangersPerSecond = 100
const idleConnections = 500
const manyIdle = 10_000
const manyText = manyIdle.toLocaleString('en')
const settleMs = 2000
const idleMs = 5000

export const preloadModule = fileURLToPath(entryModule(import.meta.url, '../src/preload'))
const serverModule = fileURLToPath(entryModule(import.meta.url, './preload-server'))
const clientModule = fileURLToPath(entryModule(import.meta.url, './preload-client'))

/** Where the two programs meet: the environment of each, and the address that the server listens at. */
export interface Meeting {
  host: string
  server: NodeJS.ProcessEnv
  client: NodeJS.ProcessEnv
  preload: boolean
  /** The cores of both; null leaves them to the scheduler. */
  cores?: readonly number[] | null
  responseBytes?: number
  /** What a second client does meanwhile: a task that ends with its standard input, and its numbers. */
  beside?: readonly [task: string, ...numbers: number[]]
}

export interface PreloadJob {
  name: string
  /** Whether it needs adapters on a network. */
  network: boolean
  run(rounds: number, devices: readonly [string, string]): Promise<Comparison[]>
}

interface Row {
  title: string
  /** What ours is to reach by itself, in a row of its own: where TCP has next to nothing, a ratio says nothing. */
  goal?: number
  unit: string
  order: Order
  /** The ratio to reach in memory, and on a network. */
  targets?: readonly [number | undefined, number | undefined]
}

interface Kind {
  name: string
  rows: Row[]
  /** One figure for each row. */
  measure(meeting: Meeting): Promise<number[]>
}

const http = (connections: number, warm = ''): Kind => ({
  name: `http-${warm}${connections}`,
  rows: [
    {
      title: `HTTP under verbena/preload, ${connections} connection${connections === 1 ? '' : 's'}${warm && `, after ${compiledMs / 1000} s`}`,
      unit: 'requests/s',
      order: 'more is better',
      ...(connections === 50 && !warm && { targets: [undefined, 1] }),
    },
  ],
  measure: (meeting) => askClient(meeting, 'load', connections, warm ? compiledMs : warmUpMs, loadMs),
})

/** Also in loaded-jobs.ts. */
export const sparseRow: Row = {
  ...{ title: 'HTTP, a request 100 ms after the last one', unit: 'ms', order: 'less is better' },
  targets: [1, 1.3],
}
const sparse: Kind = {
  name: 'http-sparse',
  rows: [sparseRow],
  measure: (meeting) => askClient(meeting, 'sparse', sparseRequests),
}

/** Milliseconds to reach: for the first connections of a process, and for later ones. */
const connectingGoals = { first: 1, later: 0.3 }

const connecting = (before: number): Kind => ({
  name: before > 0 ? 'connecting-warm' : 'connecting',
  rows: [
    {
      title: `connecting, one after the other, ${before > 0 ? `after ${before} others` : `the first ${connections}`}`,
      unit: 'ms',
      order: 'less is better',
      goal: before > 0 ? connectingGoals.later : connectingGoals.first,
    },
  ],
  measure: (meeting) => askClient(meeting, 'connect', connections, before),
})

const atOnce: Kind = {
  name: 'connecting-at-once',
  rows: [
    {
      ...{ title: `${connectionsAtOnce} connections made at once`, unit: 'ms', order: 'less is better' },
      targets: [2, 2],
    },
  ],
  measure: (meeting) => askClient(meeting, 'at-once', connectionsAtOnce),
}

const strangers = (connections: number): Kind => ({
  name: 'http-strangers',
  rows: [
    {
      title: `HTTP, ${connections} connections, while ${strangersPerSecond} strangers a second connect and leave`,
      unit: 'of that without them',
      order: 'more is better',
      goal: 0.95,
    },
  ],
  async measure(meeting) {
    const load = ['load', connections, compiledMs, loadMs] as const
    const beside = ['come-and-go', strangersPerSecond] as const
    const [without] = await askClient(meeting, ...load)
    const [among] = await askClient({ ...meeting, beside }, ...load)
    return [among! / without!]
  },
})

const idling: Kind = {
  name: 'idle',
  rows: [
    {
      title: `${idleConnections} idle connections, CPU of the server`,
      unit: '% of a core',
      order: 'less is better',
      goal: 0.1,
    },
    {
      title: `${idleConnections} idle connections, memory of the server`,
      unit: 'MB',
      order: 'less is better',
      goal: 80,
    },
  ],
  measure: (meeting) =>
    withClient(meeting, 'idle', [idleConnections], async (server) => {
      await pause(settleMs)
      const before = cpuMs(server)
      await pause(idleMs)
      return [((cpuMs(server) - before) / idleMs) * 100, residentMb(server)]
    }),
}

const idlingMany: Kind = {
  name: 'many-idle',
  rows: [
    {
      title: `a request 100 ms after the last one among ${manyText} idle connections`,
      unit: `times that among ${idleConnections}`,
      order: 'less is better',
      goal: 2,
    },
    { title: `${manyText} idle connections, a request 100 ms after the last one`, unit: 'ms', order: 'less is better' },
    { title: `${manyText} idle connections, memory of the server`, unit: 'MB', order: 'less is better' },
    { title: `${manyText} idle connections, descriptors of the server`, unit: 'descriptors', order: 'less is better' },
  ],
  async measure(meeting) {
    const among = (count: number): Promise<number[]> =>
      withClient({ ...meeting, beside: ['idle', count] }, 'sparse', [sparseRequests], async (server, ms) => [
        ...[ms, residentMb(server), readdirSync(`/proc/${server}/fd`).length],
      ])
    const [few] = await among(idleConnections)
    const [ms, ...rest] = await among(manyIdle)
    return [ms! / few!, ms!, ...rest]
  },
}

const kinds = (many: number): Kind[] => [
  ...[http(1), http(many), http(1, 'warm-'), http(many, 'warm-')],
  ...[sparse, connecting(0), connecting(earlierConnections), atOnce, strangers(many)],
  ...(process.platform === 'linux' ? [idling, idlingMany] : []),
]
const onMemory = kinds(16)
const onNetwork = kinds(50)

export const preloadJobs: PreloadJob[] = [
  ...onMemory.map((kind) => job(kind, false)),
  ...onNetwork.map((kind) => job(kind, true)),
]

function job(kind: Kind, network: boolean): PreloadJob {
  return {
    name: network ? kind.name.replace('-', '-wire-').replace(/^(connecting|idle)$/, '$1-wire') : kind.name,
    network,
    async run(rounds, devices) {
      const ours: number[][] = []
      const theirs: number[][] = []
      for (let round = 0; round < rounds; round++) {
        const meeting = network ? overDevices(devices) : overMemory(`shm:bench-${process.pid}-${round}`)
        ours.push(await kind.measure(meeting))
        theirs.push(await kind.measure(overTcp(meeting.host)))
      }
      const on = network ? devices[0].replace(/:.*/, '') : 'shm'
      return kind.rows.flatMap(({ title, unit, order, targets, goal }, i) => {
        const column = (rounds: number[][]): number[] => rounds.map((figures) => figures[i]!)
        const target = targets?.[network ? 1 : 0]
        const name = `${title}, ${on}`
        const beside = compare(name, column(ours), 'the same over TCP', column(theirs), unit, order, target)
        return goal === undefined ? [beside] : [beside, compareToGoal(name, column(ours), goal, unit, order)]
      })
    },
  }
}

export function overTcp(host: string): Meeting {
  return { host, server: {}, client: {}, preload: false }
}

export function overMemory(device: string): Meeting {
  return meeting('127.0.0.1', device, device)
}

/** TCP is measured between the addresses of the adapters, too. All addresses of a host lead to one adapter of a segment. */
export function overDevices([client, server]: readonly [string, string]): Meeting {
  const host = /^roce:([\d.]+)$/.exec(server)?.[1]
  return host === undefined ? meeting('127.0.0.1', client, client) : meeting(host, server, client)
}

function meeting(host: string, server: string, client: string): Meeting {
  const environment = (device: string) => ({ VERBENA_DEVICE: device, VERBENA_PRELOAD: `${host} rdma-only` })
  return { host, server: environment(server), client: environment(client), preload: true }
}

/** What the client says of its task. */
export async function askClient(meeting: Meeting, task: string, ...numbers: number[]): Promise<number[]> {
  return await withClient(meeting, task, numbers, async (_, result) => [result])
}

/** Runs both programs; `work` is done while both live, with the server's process id and what the client has said. */
async function withClient(
  { host, server: serverEnvironment, client: clientEnvironment, preload, cores = null, ...meeting }: Meeting,
  task: string,
  numbers: readonly number[],
  work: (server: number, result: number) => Promise<number[]>,
): Promise<number[]> {
  const start = (args: readonly string[], environment: NodeJS.ProcessEnv) => {
    const node = [process.execPath, ...(preload ? ['--import', preloadModule] : []), ...args]
    const [program, ...rest] = onCores(cores, node)
    const child = startProgram(program!, rest, environment, 'pipe')
    const lines = createInterface({ input: child.stdout! })
    const line = once(lines, 'line').then(([text]) => text as string)
    const end = finished(child).then(({ code, output }) =>
      Promise.reject(new Error(`ended with ${code}: ${output.trim()}`)),
    )
    end.catch(() => {})
    return { child, said: Promise.race([line, end]) }
  }
  const server = start([serverModule, host, String(meeting.responseBytes ?? responseBytes)], serverEnvironment)
  try {
    const port = await server.said
    const clientOf = (...command: (string | number)[]) =>
      start([clientModule, host, port, ...command.map(String)], clientEnvironment)
    const other = meeting.beside === undefined ? undefined : clientOf(...meeting.beside)
    try {
      await other?.said
      const client = clientOf(task, ...numbers)
      try {
        return await work(server.child.pid!, Number(await client.said))
      } finally {
        await ended(client.child)
      }
    } finally {
      if (other !== undefined) await ended(other.child)
    }
  } finally {
    await ended(server.child)
  }
}

/** Each of the two programs ends with its standard input. */
async function ended(child: ReturnType<typeof startProgram>): Promise<void> {
  child.stdin?.end()
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
}

/** CPU time of the threads of a process that rests: to the nanosecond, where `stat` would have ticks of 10 ms. */
function cpuMs(pid: number): number {
  const ran = (tid: string): number => Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'utf8').split(' ')[0])
  return readdirSync(`/proc/${pid}/task`).reduce((sum, tid) => sum + ran(tid), 0) / 1e6
}

function residentMb(pid: number): number {
  return (Number(/^VmRSS:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024) / 1e6
}
