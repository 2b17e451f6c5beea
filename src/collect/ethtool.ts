/**
 * Statistics of network drivers that concern RDMA: PFC by priority, traffic by priority, RDMA traffic of the virtual
 * port. They are read by the ioctl of ethtool, or else by the program if it is installed; in a recorded tree, the program's output
 * is in `ethtool/INTERFACE`.
 */
import { spawnSync } from 'node:child_process'
import { netdevCounter } from '../counters/index.ts'
import { ethtoolStatistics, NativeError, nativeAvailable } from '../memory/index.ts'
import type { Reading } from './infiniband.ts'
import type { Tree } from './tree.ts'

type Statistics = readonly { readonly name: string; readonly value: bigint }[]

/** Returns the readings; empty if the driver has none. An error is recorded as a problem of the tree. */
export function readEthtool(tree: Tree, netdev: string): Reading[] {
  return statisticsOf(tree, netdev).flatMap(({ name, value }) => {
    const mapping = netdevCounter(name)
    if (mapping === undefined) return []
    const { counter, scale, priority } = mapping
    return {
      counter,
      value: value * BigInt(scale),
      raw: value,
      mapping,
      source: `ethtool/${name}`,
      ...(priority !== undefined && { priority }),
      lifespanMs: 0,
    }
  })
}

function statisticsOf(tree: Tree, netdev: string): Statistics {
  const path = `ethtool/${netdev}`
  if (!tree.live) {
    const text = tree.optional(path)
    return text === undefined ? [] : parseEthtool(text)
  }
  if (nativeAvailable) {
    try {
      return ethtoolStatistics(netdev)
    } catch (error) {
      if (!(error instanceof NativeError)) throw error
      if (error.code !== 'EOPNOTSUPP') tree.problem(path, error.message)
      return []
    }
  }
  const { status, stdout, error } = spawnSync('ethtool', ['-S', netdev], { encoding: 'utf8', timeout: 5000 })
  if (error !== undefined) tree.problem(path, 'neither koffi nor the program ethtool is installed')
  return status === 0 ? parseEthtool(stdout) : []
}

/** Parses lines of `ethtool -S` such as `     rx_prio3_pause: 12`. Other lines are skipped. */
function parseEthtool(text: string): Statistics {
  return text.split('\n').flatMap((line) => {
    const [, name, value] = /^\s*(\S.*?):\s*(\d{1,20})\s*$/.exec(line) ?? []
    return name === undefined ? [] : { name, value: BigInt(value!) }
  })
}
