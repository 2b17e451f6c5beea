/** Settings that many node-types have: formats, addresses. */
import { type Format, formatOf, GatewayError, type Settings, type SettingsReader } from '../../index.ts'

/** Formats with a line of names at their begin, which a message does without, as in VILLASnode. */
const withHeader: readonly string[] = ['villas.human', 'csv', 'tsv']

/** The setting `format`. `frames`: each message has to be read by itself, so that a header is written only if the settings ask for it. */
export function formatSetting(settings: SettingsReader, fallback: string, frames: boolean): Format {
  const value = (settings.any('format') ?? fallback) as string | Settings
  const given: Settings = typeof value === 'string' ? { type: value } : value
  const plain = frames && withHeader.includes(given.type as string)
  try {
    return formatOf(plain ? { header: false, ...given } : given)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    settings.fail(`format: ${error.message}`, 'format')
  }
}

export interface Address {
  /** '*': all addresses of this machine. */
  readonly host: string
  readonly port: number
}

/** "127.0.0.1:12000", "[::1]:12000", "*:12000", "name:12000". `key` must be there. */
export function addressSetting(settings: SettingsReader, key: string, leastPort: number): Address {
  const text = settings.string(key, null, '127.0.0.1:12000')
  const [, six, host, port] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? []
  const number = Number(port)
  if (port === undefined || number > 65_535 || number < leastPort || (six ?? host) === '')
    settings.refuse(key, `a host and a port from ${leastPort} to 65535`, '"127.0.0.1:12000"')
  return { host: six ?? host!, port: number }
}

export function describeAddress({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
