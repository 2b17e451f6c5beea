/** Traffic as saved results: a run is one set, and the record of its histograms is beside it. */
import { basename } from 'node:path'
import type { Setting, TrafficSet } from '../../report/index.ts'
import { rateText, sizeText, summaryOf, type TrafficConfig, type TrafficRecord } from '../../traffic/index.ts'

const id = '001'
const byPhase = 'by phase'
/** Maximum number of names in a setting; of more names only their number is given. */
const mostNames = 4

/** Returns the settings by which a comparison distinguishes results. `file`: of the configuration. */
export function settingsOf(config: TrafficConfig, file: string, device: string): Record<string, Setting> {
  const { phases, bandwidthBps, flow, qps, depth, servers, seed } = config
  /** Returns the value that all phases share. */
  const shared = <T>(of: (phase: TrafficConfig['phases'][number]) => T): T | undefined => {
    const [first, ...others] = phases.map(of)
    return others.every((other) => other === first) ? first : undefined
  }
  const collective = shared((phase) => phase.collective?.name)
  const load = shared((phase) => phase.load)
  const requests = shared((phase) => phase.requestsPerSecond)
  const sizes = shared((phase) =>
    textOf(phase.sizes.map(({ value }) => (typeof value === 'number' ? sizeText(value) : value.name))),
  )
  const verbs = shared((phase) => textOf(phase.verbs.map(({ verb }) => verb)))
  const types = shared((phase) => textOf(phase.types.map(({ value }) => value)))
  const destinations = shared((phase) => phase.destinations.type)
  return {
    configuration: file === '-' ? 'standard input' : basename(file),
    device,
    ...(phases.length > 1 && { phases: phases.length }),
    ...(collective === undefined && { sizes: sizes ?? byPhase }),
    ...{ verbs: verbs ?? byPhase, types: types ?? byPhase },
    ...(collective === undefined && destinations !== 'uniform' && { destinations: destinations ?? byPhase }),
    ...(collective === undefined ? { arrival: shared(({ arrival }) => arrival.type) ?? byPhase } : { collective }),
    ...(typeof load === 'number' && { load }),
    ...(typeof requests === 'number' && { requests }),
    bandwidth: rateText(bandwidthBps),
    ...{ flow, qps, depth, servers: servers.length, seed },
  }
}

function textOf(names: readonly string[]): string {
  const all = [...new Set(names)]
  return all.length > mostNames ? `${all.length} kinds` : all.join(' + ')
}

export function setOf(
  record: TrafficRecord,
  settings: Record<string, Setting>,
  counted: TrafficSet['counted'],
  error?: string,
): TrafficSet {
  const clients = record.clients.length
  return {
    ...{ id, settings: { ...settings, clients }, ...summaryOf(record), counted },
    ...(error !== undefined && { error }),
  }
}
