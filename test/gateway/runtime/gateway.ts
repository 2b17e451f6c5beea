/** A gateway in a test, from settings as a configuration has them. */
import { SuperNode } from '../../../src/gateway/runtime/index.ts'
import type { Settings } from '../../../src/gateway/settings.ts'
import { configOf } from '../config/reading.ts'

export interface Ran {
  gateway: SuperNode
  lines: string[]
}

export async function parsed(settings: Settings): Promise<Ran> {
  const lines: string[] = []
  const log = (level: string, owner: string, line: string): void => void lines.push(`${level} ${owner}: ${line}`)
  return { gateway: await SuperNode.parse(configOf(settings), { log }), lines }
}

/** Runs a gateway until all its sources have ended. */
export async function ran(settings: Settings): Promise<Ran> {
  const { gateway, lines } = await parsed({ idle_stop: true, ...settings })
  await gateway.start()
  await gateway.done
  return { gateway, lines }
}

export function countsOf({ gateway }: Ran, node: string): Readonly<Record<string, number>> {
  return gateway.nodes().find(({ name }) => name === node)!.counts
}
