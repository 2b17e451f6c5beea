/** Settings that many node-types have: formats, addresses. */
import {
  type Format,
  formatOf,
  GatewayError,
  type ParsedNode,
  type Settings,
  type SettingsReader,
} from '../../index.ts'

/** Settings of text formats for which a node has other defaults. */
interface TextDefaults {
  /** True for a line of names at the beginning. */
  readonly header?: boolean
  /** True for the values. */
  readonly data?: boolean
  /** True if messages are written, and not samples that follow each other. */
  readonly messages?: boolean
}

/** Defaults of messages, each of which has to be read by itself: a header is written only if the settings request it, as in VILLASnode. */
export const inMessages: TextDefaults = { header: false, messages: true }

const keysOf: Readonly<Record<string, readonly ('header' | 'data')[]>> = {
  'villas.human': ['header', 'data'],
  csv: ['header', 'data'],
  tsv: ['header', 'data'],
  json: ['data'],
}

/** Returns a format by its name or settings, with other defaults than its own where it has such settings. */
export function formatWith(given: string | Settings, defaults: TextDefaults): Format {
  const settings: Settings = typeof given === 'string' ? { type: given } : given
  const keys = keysOf[settings.type as string] ?? []
  const known = Object.entries(defaults).filter(([key]) => (keys as readonly string[]).includes(key))
  return formatOf({ ...Object.fromEntries(known), ...settings }, defaults.messages)
}

/** Returns the `ParsedNode.check` of a node with a setting `format`, which makes its codecs when it starts. */
export function carries(settings: SettingsReader, format: Format): NonNullable<ParsedNode['check']> {
  return (signals, directions) => {
    try {
      if (directions.in) format.decoder(signals.in)
      if (directions.out) format.encoder(signals.out)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      settings.fail(`${settings.of}: format: ${error.message}`, 'format')
    }
  }
}

/** Reads the setting `format`. */
export function formatSetting(settings: SettingsReader, fallback: string, defaults: TextDefaults = {}): Format {
  try {
    return formatWith((settings.any('format') ?? fallback) as string | Settings, defaults)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    settings.fail(`format: ${error.message}`, 'format')
  }
}

/** Checks that all settings have been read, and that the two directions have none of their own. */
export function noMoreSettings(settings: SettingsReader): void {
  settings.group('in').done()
  settings.group('out').done()
  settings.done()
}

export interface Address {
  /** Host; '*': all addresses of this machine. */
  readonly host: string
  readonly port: number
}

/** Reads "127.0.0.1:12000", "[::1]:12000", "*:12000", "name:12000". `key` must be there. `isOwn`: ":12000" is "*:12000". */
export function addressSetting(settings: SettingsReader, key: string, leastPort: number, isOwn = false): Address {
  const text = settings.string(key, null, '127.0.0.1:12000')
  const [, six, name, port] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? []
  const number = Number(port)
  const host = six ?? (name === '' && isOwn ? '*' : name)
  if (port === undefined || number > 65_535 || number < leastPort || !host)
    settings.refuse(key, `a host and a port from ${leastPort} to 65535`, '"127.0.0.1:12000"')
  return { host: host as string, port: number }
}

export function describeAddress({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
