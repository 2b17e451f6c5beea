/** The types of nodes, loaded on demand. */
import { didYouMean } from '../../spelling/index.ts'
import { GatewayError, missingTypes, type NodeType } from '../index.ts'
import { nodeTypes } from './registry.ts'

/** Loads a type of nodes. Throws a `GatewayError` if there is none of that name. */
export async function loadNodeType(name: string): Promise<NodeType> {
  const load = Object.hasOwn(nodeTypes, name) ? nodeTypes[name] : undefined
  if (load !== undefined) return await load()
  if (Object.hasOwn(missingTypes, name))
    throw new GatewayError('ERR_GATEWAY_SETTING', `the node-type ${name} is not there: ${missingTypes[name]}`)
  const names = Object.keys(nodeTypes)
  throw new GatewayError(
    'ERR_GATEWAY_SETTING',
    `there is no type of node '${name}'.${didYouMean(name, names)} There are: ${names.join(', ')}`,
  )
}
