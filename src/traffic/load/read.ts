/**
 * Conversion of settings of the right shape to a `TrafficConfig`: reads quantities, distributions and servers, and checks them together.
 */
import { didYouMean } from '../../spelling/index.ts'
import {
  type Arrival,
  bitsPerSecondOf,
  bytesOf,
  type Cdf,
  type Collective,
  type Destinations,
  type Interpolation,
  impossible,
  joint,
  meanRequestBytes,
  nanosecondsOf,
  noFaults,
  type Phase,
  perSecondOf,
  presets,
  type ServerAddress,
  type SizeSource,
  serverText,
  type TrafficConfig,
  TrafficError,
  type TrafficFaults,
  type Verb,
  type VerbShare,
  type Weighted,
} from '../index.ts'
import type { Path, Problem } from './problems.ts'
import type { PhaseSettings, Quantity, Settings } from './settings.ts'

export const defaultPort = 18515
const defaultDurationNs = 10e9
const defaultBandwidthBps = 10e9
const defaultLoad = 0.1
const defaultSize = 65536
/** Maximum number of bytes of a request: more does not fit a buffer. */
const mostRequestBytes = 2 ** 40

export interface ReadContext {
  /** Returns the distribution of a preset or a file; throws its error. */
  cdf(name: string, options: { interpolation?: Interpolation | undefined; unit?: number | undefined }): Cdf
  /** Returns the distribution of points; throws likewise. */
  points(points: readonly (readonly [number, number])[], interpolation: Interpolation | undefined): Cdf
}

/** Reads settings and adds errors to `problems`; the configuration is valid only if none was added. */
export function readSettings(settings: Settings, context: ReadContext, problems: Problem[]): TrafficConfig {
  return new Reader(settings, context, problems).config()
}

class Reader {
  readonly #settings: Settings
  readonly #context: ReadContext
  readonly #problems: Problem[]
  readonly #said = new Set<string>()
  readonly #servers: ServerAddress[]

  constructor(settings: Settings, context: ReadContext, problems: Problem[]) {
    this.#settings = settings
    this.#context = context
    this.#problems = problems
    this.#servers = settings.servers.map((server, i) => this.#server(server, i))
  }

  config(): TrafficConfig {
    const settings = this.#settings
    const { client = 0, clients = 1 } = settings
    if (client >= clients && settings.clients !== undefined)
      this.#wrong(['client'], `there are ${clients} clients, 0 to ${clients - 1}`)
    const phases = this.#phases()
    const count = settings.count ?? null
    const lasting = phases.every(({ durationNs }) => Number.isFinite(durationNs))
    const closing = phases.every(({ collective }) => collective !== null)
    const duration = this.#time(['duration'], settings.duration)
    return {
      seed: settings.seed ?? 1,
      servers: this.#servers,
      client,
      clients: Math.max(clients, client + 1),
      count,
      durationNs: duration ?? (count === null && !lasting && !closing ? defaultDurationNs : null),
      bandwidthBps:
        this.#quantity(['bandwidth'], settings.bandwidth, bitsPerSecondOf, 'a rate such as 10Gbps') ??
        defaultBandwidthBps,
      flow: settings.flow ?? 'reply',
      phases,
      qps: settings.qps ?? 1,
      mtu: settings.mtu ?? 0,
      depth: settings.depth ?? 128,
      timeout: settings.timeout ?? 14,
      retries: settings.retries ?? 7,
      rnrRetries: settings.rnrRetries ?? 7,
      faults: this.#faults(),
    }
  }

  #server(server: Settings['servers'][number], i: number): ServerAddress {
    if (typeof server !== 'string')
      return {
        host: server.host,
        port: server.port ?? defaultPort,
        rack: server.rack ?? '',
        weight: server.weight ?? 1,
      }
    const [, bracketed, plain, port] = /^(?:\[([0-9a-f:.%\w]+)\]|([^:[\]\s]+))(?::(\d+))?$/i.exec(server) ?? []
    const host = bracketed ?? plain
    const number = port === undefined ? defaultPort : Number(port)
    if (host === undefined || number < 1 || number > 65535) {
      this.#wrong(['servers', i], `'${server}' is no address: expected host:port, such as 10.0.0.2:18515`)
      return { host: '', port: 0, rack: '', weight: 1 }
    }
    return { host, port: number, rack: '', weight: 1 }
  }

  #phases(): Phase[] {
    const { phases } = this.#settings
    if (phases === undefined) return [this.#phase([], this.#settings, 'all', undefined)]
    return phases.map((own, i) => {
      if (own.duration === undefined && i < phases.length - 1)
        this.#wrong(['phases', i, 'duration'], 'only the last phase may go on without end')
      return this.#phase(['phases', i], own, own.name ?? `phase ${i + 1}`, own.duration)
    })
  }

  #phase(path: Path, own: PhaseSettings, name: string, duration: string | number | undefined): Phase {
    const root = this.#settings
    /** Returns the effective value, and the path where it is written. */
    const of = <K extends keyof PhaseSettings>(key: K): [Path, PhaseSettings[K]] =>
      own[key] === undefined ? [[key], root[key]] : [[...path, key], own[key]]
    const [sizePath, size] = of('size')
    const [verbsPath, verbs] = of('verbs')
    const [typesPath, types] = of('types')
    const [collectivePath, collective] = of('collective')
    // A phase that has one of them does not inherit the other one.
    const ownRate = own.load !== undefined || own.requests !== undefined
    const { load, requests } = ownRate ? own : root
    const ratePath: Path = ownRate ? [...path, 'requests'] : ['requests']
    if (load !== undefined && requests !== undefined) this.#wrong(ratePath, 'load and requests exclude each other')
    const phase: Phase = {
      name,
      durationNs: this.#time([...path, 'duration'], duration) ?? Number.POSITIVE_INFINITY,
      sizes: this.#sizes(sizePath, size ?? defaultSize),
      verbs: this.#verbs(verbsPath, verbs ?? (collective === undefined ? 'send' : 'write')),
      types: weightedOf(types ?? 'RC', (text) => text as Phase['types'][number]['value']),
      rates: this.#rates(...of('rate')),
      dscps: this.#integers(...of('dscp'), 0, 0, 63),
      serviceLevels: this.#integers(...of('sl'), 0, 0, 15),
      fanouts: this.#integers(...of('fanout'), 1, 1, 65536),
      fanoutSize: of('fanoutSize')[1] ?? 'split',
      arrival: this.#arrival(...of('arrival')),
      destinations: this.#destinations(...of('destinations')),
      load: requests === undefined ? (load ?? (collective === undefined ? defaultLoad : 1)) : null,
      requestsPerSecond: this.#quantity(ratePath, requests, perSecondOf, 'a rate of requests such as 100k/s') ?? null,
      collective: collective === undefined ? null : this.#collective(collectivePath, collective),
    }
    this.#checkTogether(phase, verbs === undefined ? typesPath : verbsPath, sizePath, path)
    return phase
  }

  #checkTogether(phase: Phase, pairPath: Path, sizePath: Path, path: Path): void {
    if (!this.#hasWeight(pairPath, phase.verbs) || !this.#hasWeight(pairPath, phase.types)) return
    const pairs = joint(
      phase.verbs.map(({ verb, weight }) => ({ value: verb, weight })),
      phase.types,
    )
    if (typeof pairs === 'string') this.#wrong(pairPath, pairs)
    if (phase.collective !== null || phase.arrival.type === 'closed' || phase.load === null) {
      if (phase.requestsPerSecond === 0)
        this.#wrong([...path, 'requests'], 'no requests per second: leave the phase out')
      return
    }
    if (phase.load === 0) this.#wrong([...path, 'load'], 'a load of 0 sends nothing: leave the phase out')
    else if (!(meanRequestBytes(phase) > 0)) this.#wrong(sizePath, 'requests of no bytes make no load: give requests')
  }

  #hasWeight(path: Path, entries: readonly { weight: number }[]): boolean {
    if (entries.some(({ weight }) => weight > 0)) return true
    this.#wrong(path, 'all weights are 0')
    return false
  }

  #verbs(path: Path, verbs: NonNullable<PhaseSettings['verbs']>): VerbShare[] {
    if (typeof verbs === 'string') return [{ verb: verbs, weight: 1 }]
    return Object.entries(verbs).map(([name, entry]) => {
      const verb = name as Verb
      if (typeof entry === 'number') return { verb, weight: entry }
      const { weight, rate, size } = entry!
      return {
        verb,
        weight,
        ...(rate !== undefined && { rates: this.#rates([...path, verb, 'rate'], rate) }),
        ...(size !== undefined && { sizes: this.#sizes([...path, verb, 'size'], size) }),
      }
    })
  }

  #sizes(path: Path, size: NonNullable<PhaseSettings['size']>): Weighted<SizeSource>[] {
    if (typeof size !== 'object') return [{ value: this.#size(path, size), weight: 1 }]
    if ('cdf' in size && typeof size.cdf === 'string') {
      const { cdf, interpolation, unit } = size as { cdf: string; interpolation?: Interpolation; unit?: Quantity }
      const bytes = this.#quantity([...path, 'unit'], unit, bytesOf, 'a size such as 1460')
      return [{ value: this.#cdf(path, cdf, { interpolation, unit: bytes }), weight: 1 }]
    }
    if ('points' in size && Array.isArray(size.points)) {
      const { points, interpolation } = size as { points: [number, number][]; interpolation?: Interpolation }
      return [{ value: this.#attempt(path, () => this.#context.points(points, interpolation)), weight: 1 }]
    }
    const entries = Object.entries(size as Record<string, number>)
    const values = entries.map(([text, weight]) => ({ value: this.#size([...path, text], text), weight }))
    this.#hasWeight(path, values)
    return values
  }

  #size(path: Path, value: string | number): SizeSource {
    const bytes = bytesOf(value)
    if (bytes === undefined) return this.#cdf(path, String(value), {})
    if (bytes > mostRequestBytes) this.#wrong(path, `${bytes} bytes are more than 1 TiB`)
    return bytes
  }

  #cdf(path: Path, name: string, options: Parameters<ReadContext['cdf']>[1]): SizeSource {
    return this.#attempt(path, () => this.#context.cdf(name, options))
  }

  #attempt(path: Path, make: () => Cdf): SizeSource {
    try {
      return make()
    } catch (error) {
      if (!(error instanceof TrafficError)) throw error
      this.#wrong(path, error.message)
      return 1
    }
  }

  #rates(path: Path, rate: PhaseSettings['rate']): Weighted<number>[] {
    if (rate === undefined) return [{ value: 0, weight: 1 }]
    const read = (at: Path, value: unknown): number =>
      this.#quantity(at, value, bitsPerSecondOf, 'a rate such as 500Mbps') ?? 0
    if (typeof rate !== 'object') return [{ value: read(path, rate), weight: 1 }]
    const values = Object.entries(rate).map(([text, weight]) => ({ value: read([...path, text], text), weight }))
    this.#hasWeight(path, values)
    return values
  }

  #integers(
    path: Path,
    value: number | Record<string, number> | undefined,
    fallback: number,
    min: number,
    max: number,
  ): Weighted<number>[] {
    if (typeof value !== 'object') return [{ value: value ?? fallback, weight: 1 }]
    const values = Object.entries(value).map(([text, weight]) => {
      const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
      if (!(number >= min && number <= max))
        this.#wrong([...path, text], `'${text}' is not a whole number from ${min} to ${max}`)
      return { value: number, weight }
    })
    this.#hasWeight(path, values)
    return values
  }

  #arrival(path: Path, arrival: PhaseSettings['arrival']): Arrival {
    if (arrival === undefined) return { type: 'poisson' }
    if (typeof arrival === 'string') return { type: arrival }
    switch (arrival.type) {
      case 'lognormal':
        return { type: 'lognormal', sigma: arrival.sigma ?? 1 }
      case 'onoff': {
        const onNs = this.#time([...path, 'on'], arrival.on) ?? 1
        if (onNs <= 0) this.#wrong([...path, 'on'], 'a burst takes time')
        return { type: 'onoff', onNs, offNs: this.#time([...path, 'off'], arrival.off) ?? 0 }
      }
      case 'closed':
        return {
          type: 'closed',
          depth: arrival.depth ?? 1,
          thinkNs: this.#time([...path, 'think'], arrival.think) ?? 0,
        }
      default:
        return { type: arrival.type }
    }
  }

  #destinations(path: Path, destinations: PhaseSettings['destinations']): Destinations {
    if (destinations === undefined) return { type: 'uniform' }
    if (typeof destinations === 'string') return { type: destinations }
    if ('incast' in destinations) return { type: 'incast', degree: destinations.incast }
    if ('hotspot' in destinations) {
      const names = this.#servers.map(serverText)
      const server = names.findIndex((name, i) => [name, this.#servers[i]!.host].includes(destinations.hotspot))
      if (server < 0)
        this.#wrong(
          [...path, 'hotspot'],
          `'${destinations.hotspot}' is none of the servers.${didYouMean(destinations.hotspot, names)}`,
        )
      return { type: 'hotspot', server: Math.max(0, server), share: destinations.share }
    }
    const racks = this.#servers.map(({ rack }) => rack)
    if (!racks.includes(destinations.rack))
      this.#wrong(
        [...path, 'rack'],
        `no server has the rack '${destinations.rack}'.${didYouMean(destinations.rack, racks)}`,
      )
    return { type: 'rack', rack: destinations.rack, share: destinations.share }
  }

  #collective(path: Path, asked: NonNullable<PhaseSettings['collective']>): Collective {
    const ranks = this.#servers.length
    const rank = asked.rank ?? this.#settings.client ?? 0
    const why = impossible(asked.name, ranks)
    if (why !== undefined) this.#wrong([...path, 'name'], why)
    else if (rank >= ranks) this.#wrong([...path, 'rank'], `the servers are the ranks 0 to ${ranks - 1}, not ${rank}`)
    return {
      name: asked.name,
      bytes: this.#quantity([...path, 'size'], asked.size, bytesOf, 'a size such as 64MiB') ?? 0,
      rank,
      channels: asked.channels ?? 1,
      iterations: asked.iterations ?? 1,
      computeNs: this.#time([...path, 'compute'], asked.compute) ?? 0,
      skew: asked.skew ?? 1,
    }
  }

  #faults(): TrafficFaults {
    const { delay, jitter, ...rates } = this.#settings.faults ?? {}
    const given = Object.fromEntries(Object.entries(rates).filter(([, value]) => value !== undefined))
    return {
      ...noFaults,
      ...given,
      delayMs: (this.#time(['faults', 'delay'], delay) ?? 0) / 1e6,
      jitterMs: (this.#time(['faults', 'jitter'], jitter) ?? 0) / 1e6,
    }
  }

  #time(path: Path, value: string | number | undefined): number | undefined {
    return this.#quantity(path, value, nanosecondsOf, 'a time such as 10ms')
  }

  #quantity(
    path: Path,
    value: unknown,
    read: (value: unknown) => number | undefined,
    expected: string,
  ): number | undefined {
    if (value === undefined) return undefined
    const number = read(value)
    if (number === undefined) this.#wrong(path, `'${String(value).slice(0, 60)}' is not ${expected}`)
    return number
  }

  #wrong(path: Path, what: string): void {
    // A problem of a value that several phases inherit is reported once.
    const said = [what, ...path].join('\0')
    if (this.#said.has(said)) return
    this.#said.add(said)
    this.#problems.push({ path, what })
  }
}

function weightedOf<T>(value: string | Partial<Record<string, number>>, read: (text: string) => T): Weighted<T>[] {
  if (typeof value === 'string') return [{ value: read(value), weight: 1 }]
  return Object.entries(value).map(([text, weight]) => ({ value: read(text), weight: weight ?? 0 }))
}

/** Returns a hint for a name that is neither a preset nor a file. */
export function nearPreset(name: string): string {
  return didYouMean(
    name,
    presets.flatMap((preset) => [preset.name, ...preset.aliases]),
  )
}
