/** Packages that Verbena does not bring, such as clients of brokers: they are loaded by name when a configuration needs them. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { GatewayError } from '../index.ts'

/**
 * Imports a package by `load` for `whose`, "the node-type mqtt": it is found beside Verbena, or from the folder in which the gateway was
 * started. Throws a `GatewayError` that names the package to install if it is in neither.
 */
export async function peerPackage<T>(whose: string, spec: string, load: () => Promise<T>): Promise<T> {
  const name = spec.slice(0, spec.lastIndexOf('@'))
  try {
    return await load()
  } catch (error) {
    if (!isMissing(error, name)) throw error
  }
  try {
    const path = createRequire(join(process.cwd(), 'package.json')).resolve(name)
    return (await import(pathToFileURL(path).href)) as T
  } catch (error) {
    if (!isMissing(error, name)) throw error
    throw new GatewayError(
      'ERR_GATEWAY_NODE',
      `${whose} needs the package ${name}, which is not installed: npm install ${spec}`,
    )
  }
}

function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException
  return (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') && message.includes(`'${name}'`)
}
