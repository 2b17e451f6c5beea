/**
 * Counters that `rdma -j statistic` shows and sysfs does not, such as optional ones of mlx5 in some kernels, and those of queue pairs
 * (`rdma -j statistic qp`). The program of iproute2 is used if it is installed; in a recorded tree, its output is in
 * `rdma-statistic.json` and `rdma-statistic-qp.json`. Source of the formats: rdma/stat.c of iproute2.
 */
import { type ExecFileException, execFile } from 'node:child_process'
import { hardwareCounter } from '../counters/index.ts'
import type { Device, OtherReading, QueuePairCounters, Reading } from './infiniband.ts'
import type { Tree } from './tree.ts'

const path = 'rdma-statistic.json'
const qpPath = 'rdma-statistic-qp.json'

/** Returns the devices with the counters that the program adds. */
export async function withStatistics(tree: Tree, devices: readonly Device[]): Promise<readonly Device[]> {
  const entries = (await entriesOf(tree, devices, path, [])) ?? []
  const links = entries.map((entry) => linkOf(tree, entry))
  if (links.length === 0) return devices
  return devices.map((device) => ({
    ...device,
    ports: device.ports.map((port) => {
      const link = links.find(({ device: name, port: number }) => name === device.name && number === port.port)
      if (link === undefined) return port
      const sources = new Set([...port.readings, ...port.others].map(({ source }) => source.replace(/^.*\//, '')))
      const counters = new Set(port.readings.map(({ counter }) => counter))
      const readings: Reading[] = []
      const others: OtherReading[] = []
      for (const [name, value] of link.counters) {
        if (sources.has(name)) continue
        const source = `rdma/${name}`
        const mapping = hardwareCounter(device.driver, name)
        if (mapping === undefined) others.push({ source, value })
        else if (!counters.has(mapping.counter))
          readings.push({
            counter: mapping.counter,
            value: value * BigInt(mapping.scale),
            ...{ raw: value, mapping, source, lifespanMs: port.lifespanMs ?? 0 },
          })
      }
      return { ...port, readings: [...port.readings, ...readings], others: [...port.others, ...others] }
    }),
  }))
}

/** Returns the devices with the counters of queue pairs; the kernel keeps one set for one or more queue pairs that are bound to it. */
export async function withQueuePairs(tree: Tree, devices: readonly Device[]): Promise<readonly Device[]> {
  const entries = (await entriesOf(tree, devices, qpPath, ['qp'])) ?? []
  return devices.map((device) => ({
    ...device,
    ports: device.ports.map((port) => ({
      ...port,
      queuePairs: entries
        .filter(({ ifname, port: number }) => ifname === device.name && number === port.port)
        .map((entry) => queuePairsOf(tree, entry, device)),
    })),
  }))
}

function queuePairsOf(tree: Tree, entry: Entry, device: Device): QueuePairCounters {
  const { cntn, lqpn, pid, comm, 'qp-type': type } = entry
  const readings: Reading[] = []
  const others: OtherReading[] = []
  for (const [name, value] of countersOf(tree, qpPath, entry)) {
    const source = `rdma/${name}`
    const mapping = hardwareCounter(device.driver, name)
    if (mapping === undefined) others.push({ source, value })
    else {
      const { counter, scale } = mapping
      readings.push({ counter, value: value * BigInt(scale), raw: value, mapping, source, lifespanMs: 0 })
    }
  }
  return {
    set: typeof cntn === 'number' ? cntn : -1,
    qpns: Array.isArray(lqpn) ? lqpn.filter((one) => typeof one === 'number') : [],
    type: typeof type === 'string' ? type : undefined,
    pid: typeof pid === 'number' ? pid : undefined,
    program: typeof comm === 'string' ? comm : undefined,
    readings,
    others,
  }
}

/** Entry in the program's output, for a port or a set of counters. */
type Entry = Record<string, unknown> & { ifname: string; port: number }

/** Reads the entries; undefined if the program is not installed, or its output is not valid, which is a problem of the tree. */
async function entriesOf(
  tree: Tree,
  devices: readonly Device[],
  file: string,
  words: readonly string[],
): Promise<Entry[] | undefined> {
  if (devices.length === 0) return undefined
  const text = tree.live ? await printed(tree, file, words) : tree.optional(file)
  if (text === undefined || text === '') return undefined
  const entries = parseStatistics(text)
  if (entries === undefined) tree.problem(file, `is no JSON of \`${['rdma -j statistic', ...words].join(' ')}\``)
  return entries
}

/** Returns the program's output. It runs asynchronously because this thread captures packets meanwhile. */
async function printed(tree: Tree, file: string, words: readonly string[]): Promise<string | undefined> {
  const args = ['-j', 'statistic', ...words]
  return await new Promise((resolve) => {
    execFile('rdma', args, { encoding: 'utf8', timeout: mostMs, maxBuffer: mostBytes }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const failure = failureOf(error, stderr)
      if (failure !== undefined) tree.problem(file, `rdma ${args.join(' ')}: ${failure}`)
      resolve(undefined)
    })
  })
}

const mostMs = 5000
const mostBytes = 1 << 26

/** Returns the reason why the program had no output; undefined if it is not installed. */
export function failureOf(
  { code, signal, killed, message }: Pick<ExecFileException, 'code' | 'signal' | 'killed' | 'message'>,
  stderr: string,
): string | undefined {
  // A string in place of the exit code is an error of the system, or of Node.js.
  if (code === 'ENOENT') return undefined
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `it printed more than ${mostBytes >> 20} MiB`
  if (signal) return killed === true ? `it did not end within ${mostMs / 1000} s` : `it was ended by ${signal}`
  return stderr.trim().split('\n')[0] || message.split('\n')[0]
}

interface Link {
  device: string
  port: number
  counters: [name: string, value: bigint][]
}

function linkOf(tree: Tree, entry: Entry): Link {
  return { device: entry.ifname, port: entry.port, counters: countersOf(tree, path, entry) }
}

/** Properties of an entry that are not counters. */
const facts: ReadonlySet<string> = new Set(['ifindex', 'ifname', 'port', 'cntn', 'qp-type', 'pid', 'comm', 'lqpn'])

function countersOf(tree: Tree, file: string, entry: Entry): [string, bigint][] {
  return Object.entries(entry).flatMap(([name, value]): [string, bigint][] => {
    if (facts.has(name) || !(value instanceof LongNumber || typeof value === 'number')) return []
    const digits = String(value)
    if (/^\d+$/.test(digits) && BigInt(digits) < 1n << 64n) return [[name, BigInt(digits)]]
    tree.problem(file, `${name} of ${entry.ifname}/${entry.port} is no counter: ${digits}`)
    return []
  })
}

/** Digits of a number that JSON.parse would round. */
class LongNumber {
  readonly #digits: string

  constructor(digits: string) {
    this.#digits = digits
  }

  toString(): string {
    return this.#digits
  }
}

const textOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g
const mark = '\ue000'

/** Parses the output; undefined if it does not come from this program. */
function parseStatistics(text: string): Entry[] | undefined {
  const marked = text.replace(textOrNumber, (token) => (/^\d{16,}$/.test(token) ? `"${mark}${token}"` : token))
  let document: unknown
  try {
    document = JSON.parse(marked, (_key, value: unknown) =>
      typeof value === 'string' && value.startsWith(mark) ? new LongNumber(value.slice(1)) : value,
    )
  } catch {
    return undefined
  }
  if (!Array.isArray(document)) return undefined
  return document.filter((entry: unknown): entry is Entry => {
    if (typeof entry !== 'object' || entry === null) return false
    const { ifname, port } = entry as Record<string, unknown>
    return typeof ifname === 'string' && typeof port === 'number'
  })
}
