/** Availability of the machine's cores during a measurement. */

import { formatShare } from './format.ts'
import type { Machine } from './results.ts'

/** Shares of the machine's time above which a measurement counts as disturbed. */
const STOLEN = 0.01
const OTHERS = 0.1

/**
 * Returns the remark on figures that were taken while other programs, or other machines of the same host, used the cores, or while there
 * were fewer cores than polling threads; undefined if there is none.
 */
export function disturbance(machine: Machine): string | undefined {
  const { load, cores, boundTo, pollingThreads = 0, stolen = 0, others = 0 } = machine
  const of = cores === 1 ? 'one core' : `${cores} cores`
  const watched = boundTo === undefined ? of : coresText(boundTo)
  const reasons = [
    ...(load > cores ? [`load ${load.toFixed(1)} on ${of} at the start`] : []),
    ...(stolen > STOLEN ? [`${formatShare(stolen)} of the time stolen by the host`] : []),
    ...(others > OTHERS ? [`other programs used ${formatShare(others)} of the time of ${watched}`] : []),
    ...(pollingThreads > cores ? [`${pollingThreads} polling threads on ${of}`] : []),
  ]
  return reasons.length === 0 ? undefined : `Measured on a disturbed machine: ${reasons.join('; ')}.`
}

/** Returns the recorded facts about that, by name. */
export function machineFacts({ boundTo, stolen, others, pollingThreads }: Machine): [string, string][] {
  return [
    ...(boundTo === undefined ? [] : [['Bound to', coresText(boundTo)] as [string, string]]),
    ...(stolen === undefined ? [] : [['Time stolen by the host', formatShare(stolen)] as [string, string]]),
    ...(others === undefined ? [] : [['Time used by other programs', formatShare(others)] as [string, string]]),
    ...(pollingThreads === undefined
      ? []
      : [['Threads that poll at once', String(pollingThreads)] as [string, string]]),
  ]
}

function coresText(cores: readonly number[]): string {
  return `${cores.length === 1 ? 'core' : 'cores'} ${cores.join(', ')}`
}
