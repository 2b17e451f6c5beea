/** Configurations as arguments: a file, or '-' for standard input. */
import { readFileSync } from 'node:fs'
import { commonOfNode, GatewayError, settingsOfNode } from '../../gateway/index.ts'
import { type LoadedConfig, loadConfig, loadText } from '../../gateway/load/index.ts'
import { loadNodeType } from '../../gateway/nodes/index.ts'
import { SuperNode } from '../../gateway/runtime/index.ts'

/** Reads a configuration. Throws a `GatewayError` if it cannot be read at all; mistakes in settings are in `errors`. */
export function readConfiguration(file: string): LoadedConfig {
  if (file !== '-') return loadConfig(file, process.env)
  return loadText({ name: 'standard input', text: readFileSync(0, 'utf8') }, process.env)
}

/** Returns all mistakes of a configuration, including those that only the types of its nodes and hooks find. */
export async function mistakesOf({ config, errors, placeOf }: LoadedConfig): Promise<string[]> {
  const mistakes = errors.map(({ message }) => message)
  const attempt = async (part: () => unknown): Promise<void> => {
    try {
      await part()
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      if (!mistakes.includes(error.message)) mistakes.push(error.message)
    }
  }
  for (const node of config.nodes)
    await attempt(async () => {
      const settings = settingsOfNode(node, placeOf)
      const type = await loadNodeType(node.type).catch((error: unknown) => {
        throw error instanceof GatewayError
          ? toldOf(() => settings.fail(`node ${node.name}: ${error.message}`, 'type'))
          : error
      })
      const parsed = type.parse(settings, commonOfNode(node))
      settings.done()
      await parsed.needs?.().catch((error: unknown) => {
        throw error instanceof GatewayError
          ? toldOf(() => settings.fail(`node ${node.name}: ${error.message}`, 'type'))
          : error
      })
    })
  // Relations between nodes can be checked only when each node is valid.
  if (mistakes.length === 0) await attempt(() => SuperNode.parse(config, { placeOf }))
  return mistakes
}

/** Returns the error that a call throws. */
function toldOf(call: () => never): unknown {
  try {
    return call()
  } catch (error) {
    return error
  }
}
