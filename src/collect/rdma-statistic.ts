/**
 * Counters that `rdma -j statistic` shows and sysfs does not, as optional ones of mlx5 in some kernels. The program of iproute2
 * is used where it is installed; of a recorded tree, its output in `rdma-statistic.json`.
 */
import { spawnSync } from 'node:child_process'
import { hardwareCounter } from '../counters/index.ts'
import type { Device, OtherReading, Reading } from './infiniband.ts'
import type { Tree } from './tree.ts'

const path = 'rdma-statistic.json'

/** The devices with what the program adds to them. */
export function withStatistics(tree: Tree, devices: readonly Device[]): readonly Device[] {
  if (devices.length === 0) return devices
  const text = tree.live ? printed(tree) : tree.optional(path)
  if (text === undefined || text === '') return devices
  const links = parseStatistics(text)
  if (links === undefined) {
    tree.problem(path, 'is no JSON of `rdma -j statistic`')
    return devices
  }
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

function printed(tree: Tree): string | undefined {
  const { status, stdout, stderr, error } = spawnSync('rdma', ['-j', 'statistic'], { encoding: 'utf8', timeout: 5000 })
  if (error !== undefined) return undefined
  if (status === 0) return stdout
  tree.problem(path, `rdma -j statistic: ${stderr.trim().split('\n')[0]}`)
  return undefined
}

interface Link {
  device: string
  port: number
  counters: [name: string, value: bigint][]
}

/** Undefined if the text is none of this program. */
export function parseStatistics(text: string): Link[] | undefined {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(document)) return undefined
  return document.flatMap((entry: unknown) => {
    if (typeof entry !== 'object' || entry === null) return []
    const { ifname, port, ...rest } = entry as Record<string, unknown>
    if (typeof ifname !== 'string' || typeof port !== 'number') return []
    const counters = Object.entries(rest).flatMap(([name, value]): [string, bigint][] =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? [[name, BigInt(value)]] : [],
    )
    return { device: ifname, port, counters }
  })
}
