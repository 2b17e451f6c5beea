/** Length of windows, and the memory for counting. */
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { savedWindows } from '../../monitor/host/index.ts'
import { type MonitorConfig, monitorConfig } from '../../monitor/index.ts'
import { parseNumber } from '../kit/index.ts'

export interface ConfigOptions {
  window?: string
  memory?: string
}

export function addConfigOptions(command: Command): Command {
  return command
    .option('--window <seconds>', 'length of a window (default: 1)')
    .option('--memory <MiB>', 'memory for all that grows with traffic (default: 32)')
}

/** Returns the configuration. `file`: windows of earlier runs, whose seed is used again, so that windows which agents still have fit. */
export function configFrom({ window, memory }: ConfigOptions, file?: string, seed?: number): MonitorConfig {
  const windowSeconds = parseNumber('--window', window, 1, 0.01, 3600)
  const memoryBytes = parseNumber('--memory', memory, 32, 1, 16_384) * 2 ** 20
  const before = file !== undefined && existsSync(file) ? savedWindows(file).next().value : undefined
  const known = before?.plan.seed ?? seed
  return monitorConfig({ windowSeconds, memoryBytes, ...(known !== undefined && { seed: known }) })
}
