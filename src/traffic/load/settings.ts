/** Configuration as it is written: quantities are numbers or text with a unit. `schema.ts` has the same as a schema. */
import type { CollectiveName, Interpolation, TrafficQpType, Verb } from '../index.ts'

/** Quantity: `64KiB`, `10Gbps`, `1.5ms`, or a number. */
export type Quantity = number | string
/** Values, with the frequency of each. */
export type Weights = Record<string, number>

export type SizeSetting =
  | number
  | string
  | { cdf: string; interpolation?: Interpolation | undefined; unit?: Quantity | undefined }
  | { points: [number, number][]; interpolation?: Interpolation | undefined }
  | Weights

export type RateSetting = Quantity | Weights

export type VerbsSetting =
  | Verb
  | Partial<Record<Verb, number | { weight: number; rate?: RateSetting | undefined; size?: SizeSetting | undefined }>>

export type ArrivalSetting =
  | 'poisson'
  | 'fixed'
  | 'uniform'
  | { type: 'poisson' | 'fixed' | 'uniform' }
  | { type: 'lognormal'; sigma?: number | undefined }
  | { type: 'onoff'; on: Quantity; off: Quantity }
  | { type: 'closed'; depth?: number | undefined; think?: Quantity | undefined }

export type DestinationsSetting =
  | 'uniform'
  | 'permutation'
  | { incast: number }
  | { hotspot: string; share: number }
  | { rack: string; share: number }

export interface CollectiveSetting {
  name: CollectiveName
  size: Quantity
  rank?: number | undefined
  channels?: number | undefined
  iterations?: number | undefined
  compute?: Quantity | undefined
  skew?: number | undefined
}

/** Settings that a phase can have. */
export interface PhaseSettings {
  size?: SizeSetting | undefined
  load?: number | undefined
  requests?: Quantity | undefined
  verbs?: VerbsSetting | undefined
  types?: TrafficQpType | Partial<Record<TrafficQpType, number>> | undefined
  rate?: RateSetting | undefined
  dscp?: number | Weights | undefined
  sl?: number | Weights | undefined
  fanout?: number | Weights | undefined
  fanoutSize?: 'split' | 'each' | undefined
  arrival?: ArrivalSetting | undefined
  destinations?: DestinationsSetting | undefined
  collective?: CollectiveSetting | undefined
}

export type ServerSetting =
  | string
  | { host: string; port?: number | undefined; rack?: string | undefined; weight?: number | undefined }

export interface FaultSettings {
  loss?: number | undefined
  duplication?: number | undefined
  corruption?: number | undefined
  reordering?: number | undefined
  marking?: number | undefined
  delay?: Quantity | undefined
  jitter?: Quantity | undefined
}

export interface Settings extends PhaseSettings {
  $schema?: string | undefined
  seed?: number | undefined
  servers: ServerSetting[]
  client?: number | undefined
  clients?: number | undefined
  count?: number | undefined
  duration?: Quantity | undefined
  bandwidth?: Quantity | undefined
  flow?: 'reply' | 'push' | undefined
  phases?: (PhaseSettings & { name?: string | undefined; duration?: Quantity | undefined })[] | undefined
  qps?: number | undefined
  mtu?: 256 | 512 | 1024 | 2048 | 4096 | undefined
  depth?: number | undefined
  timeout?: number | undefined
  retries?: number | undefined
  rnrRetries?: number | undefined
  faults?: FaultSettings | undefined
}
