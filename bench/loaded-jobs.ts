/**
 * Where others run, too: two cores on which four processes compute (`busy-…`), both ends on one core (`one-core-…`), and the CPU
 * time of a request, which hardly depends on who else runs. Beside TCP in the same run, in turn; each row has the ratio to reach.
 *
 *     busy-http-1, busy-http-16           requests of programs under verbena/preload, 16 bytes each, on shm, on roce with both
 *     one-core-http-1, one-core-http-16   ends on one adapter, and on roce between two; on one core also what Node's HTTP leaves
 *                                         to any transport: as many requests as it can make and answer over streams in memory
 *     http-cpu, busy-http-cpu             CPU of a request above the floor, client and server in one process: request-cpu.ts
 *     busy-http-sparse                    a request 100 ms after the last one
 *     busy-rsocket-rr                     a request and a response of 1 byte, rsockets on roce
 */
import { fileURLToPath } from 'node:url'
import { currentCores, entryModule } from '../src/memory/index.ts'
import { type Comparison, compare } from './comparison.ts'
import { Load, onCores } from './load.ts'
import { askClient, type Meeting, overDevices, overMemory, overTcp, preloadModule, sparseRow } from './preload-jobs.ts'
import { finished, startProgram } from './programs.ts'
import type { SocketComparisons } from './socket-jobs.ts'

/** How long things take, once V8 has compiled most of what runs; `npm run bench -- --brief` has other figures. */
export interface Scale {
  warmUpMs: number
  /** Requests before those that are measured: on a busy machine no time says how much V8 has compiled. */
  warmUpRequests: number
  loadMs: number
  sparseRequests: number
  /** Of request-cpu.ts: requests, and the most seconds for them. */
  cpuRequests: number
  cpuSeconds: number
  /** Processes that compute. */
  computing: number
}

export const usualScale: Scale = {
  ...{
    warmUpMs: 2000,
    warmUpRequests: 10_000,
    loadMs: 4000,
    sparseRequests: 20,
    cpuRequests: 20_000,
    cpuSeconds: 12,
    computing: 4,
  },
}
/** Enough to see that a row can be measured. */
export const briefScale: Scale = {
  ...{ warmUpMs: 20, warmUpRequests: 0, loadMs: 300, sparseRequests: 1, cpuRequests: 400, cpuSeconds: 2, computing: 1 },
}

export interface LoadedJob {
  name: string
  run(
    rounds: number,
    devices: readonly [string, string],
    sockets: SocketComparisons,
    scale: Scale,
  ): Promise<Comparison[]>
}

/** Rounds where the command line does not say. */
export const loadedRounds = 3
const connectionsForCpu = 16
const requestModule = fileURLToPath(entryModule(import.meta.url, './request-cpu'))
const tcp = 'TCP'
/** What Node's HTTP takes by itself. */
const floorTitle = 'the floor, streams in memory'

/** What is measured beside TCP: a place where two programs meet. */
interface Place {
  title: string
  meeting(round: number): Meeting
}

/** On shm, on one adapter of a network, between two. Without such adapters on shm alone. */
function places(devices: readonly [string, string]): Place[] {
  const [, one] = devices
  const memory = { title: 'shm', meeting: (round: number) => overMemory(`shm:bench-loaded-${process.pid}-${round}`) }
  if (!one.startsWith('roce:')) return [memory]
  return [
    memory,
    { title: 'roce, one adapter', meeting: () => overDevices([one, one]) },
    { title: 'roce, two adapters', meeting: () => overDevices(devices) },
  ]
}

/** Two cores for the ends and the load: null where there are no more. */
function twoOfMany(): number[] | null {
  const cores = currentCores()
  return cores.length > 2 ? cores.slice(0, 2) : null
}

const oneCore = (): number[] => currentCores().slice(-1)

interface Condition {
  /** Of a job, and of a row. */
  name: string
  title: string
  computing: boolean
  cores: () => number[] | null
}

const busy: Condition = { name: 'busy-', title: 'busy', computing: true, cores: twoOfMany }
const alone: Condition = { name: '', title: 'alone', computing: false, cores: twoOfMany }
const onOneCore: Condition = { name: 'one-core-', title: 'one core', computing: false, cores: oneCore }

/** Beside the load of the condition. */
async function under<T>({ computing, cores }: Condition, scale: Scale, measure: () => Promise<T>): Promise<T> {
  const load = computing ? await Load.start(scale.computing, cores()) : null
  try {
    return await measure()
  } finally {
    await load?.end()
  }
}

/** In each round TCP and each place once; figures by place, TCP's first. */
async function alternating(
  rounds: number,
  devices: readonly [string, string],
  measure: (meeting: Meeting) => Promise<number>,
): Promise<{ tcp: number[]; ours: { title: string; figures: number[] }[] }> {
  const ours = places(devices).map((place) => ({ ...place, figures: [] as number[] }))
  const tcpFigures: number[] = []
  for (let round = 0; round < rounds; round++) {
    tcpFigures.push(await measure(overTcp('127.0.0.1')))
    for (const place of ours) place.figures.push(await measure(place.meeting(round)))
  }
  return { tcp: tcpFigures, ours }
}

/** Targets are of places: shm, one adapter, two. */
function http(condition: Condition, connections: number, targets: readonly [number, number, number]): LoadedJob {
  return {
    name: `${condition.name}http-${connections}`,
    async run(rounds, devices, _, scale) {
      const cores = condition.cores()
      const floors: number[] = []
      const { tcp: theirs, ours } = await under(condition, scale, () =>
        alternating(rounds, devices, async (meeting) => {
          if (condition === onOneCore && !meeting.preload)
            floors.push(1e6 / (await cpuOfRequest('memory', connections, meeting, cores, scale)))
          const where = { ...meeting, cores, responseBytes: 16 }
          const { warmUpMs, loadMs, warmUpRequests } = scale
          const [perSecond] = await askClient(where, 'load', connections, warmUpMs, loadMs, warmUpRequests)
          return perSecond!
        }),
      )
      const rows = ours.map((each, i) => ({ ...each, target: targets[i] }))
      const all = floors.length > 0 ? [...rows, { title: floorTitle, figures: floors, target: undefined }] : rows
      return all.map(({ title, figures, target }) => {
        const name = `${condition.title}: HTTP, ${connections} connection${connections === 1 ? '' : 's'}, ${title}`
        return compare(name, figures, tcp, theirs, 'requests/s', 'more is better', target)
      })
    },
  }
}

function cpu(condition: Condition, targets: readonly [number, number, number]): LoadedJob {
  return {
    name: `${condition.name}http-cpu`,
    async run(rounds, devices, _, scale) {
      const cores = condition.cores()
      const floors: number[] = []
      const { tcp: theirs, ours } = await under(condition, scale, () =>
        alternating(rounds, devices, async (meeting) => {
          // The floor of each round is measured before its TCP.
          const of = (kind: string): Promise<number> => cpuOfRequest(kind, connectionsForCpu, meeting, cores, scale)
          if (!meeting.preload) floors.push(await of('memory'))
          return (await of('socket')) - floors.at(-1)!
        }),
      )
      const name = `${condition.title}: CPU of an HTTP request`
      return [
        ...ours.map(({ title, figures }, i) =>
          compare(`${name} above the floor, ${title}`, figures, tcp, theirs, 'µs', 'less is better', targets[i]),
        ),
        compare(`${name}, ${floorTitle}`, floors, null, [], 'µs', 'less is better'),
      ]
    },
  }
}

/** Both adapters of a meeting in one process. */
async function cpuOfRequest(
  kind: string,
  connections: number,
  meeting: Meeting,
  cores: number[] | null,
  scale: Scale,
): Promise<number> {
  const { host, server, client, preload } = meeting
  const rule = (word: string, { VERBENA_DEVICE: device }: NodeJS.ProcessEnv) =>
    `${word} ${host} rdma-only device=${device}`
  const environment = preload ? { VERBENA_PRELOAD: `${rule('listen', server)},${rule('connect', client)}` } : {}
  const [program, ...args] = onCores(cores, [
    ...[process.execPath, ...(preload ? ['--import', preloadModule] : []), requestModule, kind, host],
    ...[connections, scale.cpuRequests, scale.cpuSeconds].map(String),
  ])
  const { code, output } = await finished(startProgram(program!, args, environment))
  const us = Number(output)
  if (code !== 0 || !(us > 0)) throw new Error(`ended with ${code}: ${output.trim()}`)
  return us
}

const sparse: LoadedJob = {
  name: 'busy-http-sparse',
  async run(rounds, devices, _, scale) {
    const { tcp: theirs, ours } = await under(busy, scale, () =>
      alternating(rounds, devices, async (meeting) => {
        const [ms] = await askClient({ ...meeting, cores: busy.cores() }, 'sparse', scale.sparseRequests)
        return ms!
      }),
    )
    return ours.map(({ title, figures }) => {
      const target = sparseRow.targets![title === 'shm' ? 0 : 1]
      return compare(`busy: ${sparseRow.title}, ${title}`, figures, tcp, theirs, 'ms', 'less is better', target)
    })
  },
}

const transactions: LoadedJob = {
  name: 'busy-rsocket-rr',
  async run(rounds, [first], sockets, scale) {
    const our: number[] = []
    const their: number[] = []
    const cores = busy.cores()
    // Threads of this process: on a machine with more cores they are bound to those that are busy.
    const pin = cores === null ? 'none' : cores.join(',')
    await under(busy, scale, async () => {
      for (let round = 0; round < rounds; round++) {
        their.push((await sockets.measure('rr', 'tcp', sockets.network, 1, pin)) / 1000)
        our.push((await sockets.measure('rr', 'rsocket', sockets.network, 1, pin)) / 1000)
      }
    })
    const name = `busy: TCP_RR, 1 byte, rsocket on ${first.split(':')[0]}, a transaction`
    return [compare(name, our, tcp, their, 'µs', 'less is better', 1.2)]
  },
}

export const loadedJobs: readonly LoadedJob[] = [
  http(busy, 1, [0.8, 1, 1.3]),
  http(busy, 16, [0.8, 1, 1.3]),
  sparse,
  transactions,
  http(onOneCore, 1, [0.6, 1, 1.3]),
  http(onOneCore, 16, [0.5, 1, 1.3]),
  cpu(alone, [0.35, 0.8, 1.5]),
  cpu(busy, [0.5, 1, 2]),
]
