/** Counters of a host as JSON, CSV and text for Prometheus. */
import { type MetricLabels, MetricsText, metricName, vocabulary } from '../counters/index.ts'
import type { Device, Port, Reading } from './infiniband.ts'
import type { Rates } from './rates.ts'
import type { HostReading } from './snapshot.ts'

/** Mark of the digits of a bigint until they are in the text. */
const mark = '\ue000'

/** Returns JSON with integers in full precision: counters exceed 2^53. */
export function exactJson(document: unknown): string {
  const text = JSON.stringify(document, (_key, value: unknown) =>
    typeof value === 'bigint' ? `${mark}${value}` : value === undefined ? null : value,
  )
  return text.replace(new RegExp(`"${mark}(\\d+)"`, 'g'), '$1')
}

/** Returns one reading as a document; `rates` are those since the previous reading, if there was one. */
export function readingDocument(reading: HostReading, rates?: Rates): object {
  return {
    time: new Date(reading.timeMs).toISOString(),
    devices: reading.devices.map(({ name, ports, ...facts }) => ({
      device: name,
      ...facts,
      ports: ports.map((port) => portDocument(port, rates)),
    })),
    problems: reading.problems,
    problemCount: reading.problemCount,
  }
}

function portDocument({ readings, others, queuePairs, gids: _gids, ...facts }: Port, rates: Rates | undefined): object {
  const plain = readings.filter(({ priority }) => priority === undefined)
  const priorities = [...new Set(readings.flatMap(({ priority }) => priority ?? []))].sort()
  const counted = (of: readonly Reading[]): object => ({
    counters: Object.fromEntries(of.map(({ counter, value }) => [counter, value])),
    ...(rates !== undefined && {
      perSecond: Object.fromEntries(of.map((reading) => [reading.counter, rates.get(reading)?.perSecond])),
      steps: Object.fromEntries(
        of.flatMap((reading) => {
          const { step = 'first' } = rates.get(reading) ?? {}
          return step === 'counted' ? [] : [[reading.counter, step]]
        }),
      ),
    }),
  })
  return {
    ...facts,
    ...counted(plain),
    priorities: Object.fromEntries(
      priorities.map((priority) => [priority, counted(readings.filter((reading) => reading.priority === priority))]),
    ),
    others: Object.fromEntries(others.map(({ source, value }) => [source, value])),
    sources: Object.fromEntries(plain.map(({ counter, source }) => [counter, source])),
    ...(queuePairs !== undefined && {
      queuePairs: queuePairs.map(({ readings: own, others: more, ...whose }) => ({
        ...whose,
        counters: Object.fromEntries(own.map(({ counter, value }) => [counter, value])),
        others: Object.fromEntries(more.map(({ source, value }) => [source, value])),
      })),
    }),
  }
}

export const csvHead = 'time,device,port,priority,counter,unit,value,per_second,step'

/** Returns a line for each counter. */
export function csvLines(reading: HostReading, rates: Rates): string[] {
  const time = new Date(reading.timeMs).toISOString()
  return reading.devices.flatMap((device) =>
    device.ports.flatMap((port) =>
      port.readings.map((one) => {
        const { step = 'first', perSecond } = rates.get(one) ?? {}
        const { unit = '' } = vocabulary.get(one.counter) ?? {}
        const cells = [
          time,
          device.name,
          port.port,
          one.priority ?? '',
          one.counter,
          unit,
          one.value,
          perSecond ?? '',
          step,
        ]
        return cells.map((cell) => csvCell(String(cell))).join(',')
      }),
    ),
  )
}

function csvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

type Value = readonly [labels: MetricLabels, value: number | bigint]

/** Returns one reading for Prometheus, with node_exporter's names where it has them, otherwise `verbena_infiniband_…`. */
export function prometheusText(reading: HostReading): string {
  const values = new Map<string, Value[]>()
  const add = (name: string, labels: MetricLabels, value: number | bigint | undefined): void => {
    if (value === undefined) return
    const all = values.get(name) ?? []
    values.set(name, all)
    all.push([labels, value])
  }
  const text = new MetricsText()
  const { devices } = reading
  text.family('node_infiniband_info', 'gauge', 'Board, firmware and type of each device; always 1')
  for (const device of devices) text.value(infoLabels(device), 1)
  for (const device of devices)
    for (const port of device.ports) {
      const labels = { device: device.name, port: String(port.port) }
      add('state_id', labels, port.state?.id)
      add('physical_state_id', labels, port.physicalState?.id)
      add('rate_bytes_per_second', labels, port.bytesPerSecond)
      add('lifespan_seconds', labels, port.lifespanMs === undefined ? undefined : port.lifespanMs / 1000)
      for (const { counter, priority, value } of port.readings)
        add(counter, priority === undefined ? labels : { ...labels, priority: String(priority) }, value)
    }
  for (const [name, meaning] of vocabulary) {
    const found = values.get(name)
    if (found === undefined) continue
    text.family(metricName(meaning), meaning.kind, meaning.help)
    for (const [labels, value] of found) text.value(labels, value)
  }
  others(text, devices)
  text.family('verbena_collect_problems', 'gauge', 'Files that could not be read, or held something else than expected')
  text.value({}, reading.problemCount)
  return text.toString()
}

function infoLabels({ name, board, firmware, hcaType }: Device): MetricLabels {
  return { device: name, board_id: board ?? '', firmware_version: firmware ?? '', hca_type: hcaType ?? '' }
}

/** Adds the counters that the vocabulary does not contain, under the driver's names. */
function others(text: MetricsText, devices: readonly Device[]): void {
  const all = devices.flatMap((device) =>
    device.ports.flatMap((port) =>
      port.others.map(({ source, value }) => ({
        labels: {
          device: device.name,
          port: String(port.port),
          driver: device.driver ?? '',
          counter: source,
        },
        value,
      })),
    ),
  )
  if (all.length === 0) return
  text.family('verbena_infiniband_driver_counter', 'gauge', 'Counters of drivers that have no name of their own here')
  for (const { labels, value } of all) text.value(labels, value)
}
