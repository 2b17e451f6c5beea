/** Other load on the cores while a benchmark ran: the host of a virtual machine (steal), and other programs. */
import { readFileSync } from 'node:fs'
import { currentCores } from '../../memory/index.ts'
import type { Machine } from '../../report/index.ts'

/** Ticks of the kernel's accounting (a hundredth of a second each), added up over cores. */
export interface CpuTicks {
  total: number
  /** Ticks of programs, and of the kernel for them. */
  busy: number
  stolen: number
}

const ticksPerSecond = 100
/** Minimum number of ticks that make a share: the kernel counts whole ticks. */
const fewestTicks = 50

/** Parses the text of /proc/stat for these cores; for all when none is named, or none of them is there. */
export function parseCpuTicks(text: string, cores: readonly number[]): CpuTicks {
  const lines = text.split('\n').filter((line) => line.startsWith('cpu'))
  const own = lines.filter((line) => cores.includes(Number(/^cpu(\d+) /.exec(line)?.[1] ?? -1)))
  const sum: CpuTicks = { total: 0, busy: 0, stolen: 0 }
  for (const line of own.length > 0 ? own : lines.slice(0, 1)) {
    // user nice system idle iowait irq softirq steal; the guests after them are in user already.
    const ticks = line.split(/ +/).slice(1, 9).map(Number)
    const [, , , idle = 0, waiting = 0, , , stolen = 0] = ticks
    const total = ticks.reduce((a, b) => a + b, 0)
    sum.total += total
    sum.stolen += stolen
    sum.busy += total - idle - waiting - stolen
  }
  return sum
}

/** Returns the shares of the time between two readings; `ownTicks` is what this process used. Empty if the time is too short. */
export function sharesOf(before: CpuTicks, after: CpuTicks, ownTicks: number): Pick<Machine, 'stolen' | 'others'> {
  const total = after.total - before.total
  if (total < fewestTicks) return {}
  const share = (ticks: number): number => Math.min(1, Math.max(0, ticks / total))
  return { stolen: share(after.stolen - before.stolen), others: share(after.busy - before.busy - ownTicks) }
}

/**
 * Watches from now on; each call returns the shares since then. Empty where the system has no /proc/stat. `elsewhereUs`:
 * microseconds of processor time that other processes of the run have used since then.
 */
export function watchDisturbance(elsewhereUs: () => number = () => 0): () => Pick<Machine, 'stolen' | 'others'> {
  const cores = currentCores()
  const read = (): CpuTicks | undefined => {
    try {
      return parseCpuTicks(readFileSync('/proc/stat', 'latin1'), cores)
    } catch {
      return undefined
    }
  }
  const before = read()
  const ownBefore = process.cpuUsage()
  return () => {
    const after = read()
    if (!before || !after) return {}
    const { user, system } = process.cpuUsage(ownBefore)
    return sharesOf(before, after, ((user + system + elsewhereUs()) / 1e6) * ticksPerSecond)
  }
}
