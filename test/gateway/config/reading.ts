/** Reading settings that stand in no file. */
import { type GatewayConfig, type Reading, readGateway, type Settings } from '../../../src/gateway/index.ts'

export function reading(): Reading {
  return { placeOf: () => undefined, uuidOf: (space, text) => `uuid of ${space}/${text}`, errors: [], notices: [] }
}

/** What is wrong in settings, in order. */
export function errorsOf(settings: Settings): string[] {
  const found = reading()
  readGateway(found, settings)
  return found.errors.map(({ message }) => message)
}

/** The configuration of settings without a mistake. */
export function configOf(settings: Settings): GatewayConfig {
  const found = reading()
  const config = readGateway(found, settings)
  if (found.errors.length > 0) throw found.errors[0]
  return config
}
