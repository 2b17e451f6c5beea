/** Counters of a device, as positions in `f64`, so that counting costs an addition. */
import { type Host, layout } from '../verbs/provider/index.ts'

const { counterNames, Dev } = layout

export type Counters = Readonly<Record<layout.CounterName, number>>

export function countersOf(host: Host, device: number): Counters {
  const base = (host.deviceWord(device) + Dev.counters) / 2
  return Object.fromEntries(counterNames.map((name, i) => [name, base + i])) as unknown as Counters
}
