/**
 * Mappings of captured values to new ones, as text: `OLD=NEW` of an option, or lines `kind OLD=NEW` of a mapping file. All mappings of
 * a kind are looked up with the captured value, so that A=B and B=A together swap the two.
 *
 *     mac             02:00:00:00:00:01=02:00:00:00:00:99
 *     ip              10.0.0.1=192.168.7.1, or networks of the same length: 10.0.0.0/24=192.168.7.0/24
 *     lid             0x11=0x21
 *     source-port     49152=50000, or 50000 for all; destination-port likewise
 *     pkey            0xffff=0x8001, or 0x8001 for all
 *     dscp, ecn       26=10, or 10 for all
 *     qpn             0x11=0x200, or 0x11@10.0.0.2=0x200 for the queue pair of one host
 *     psn, msn        0x11=+1000, 0x11@10.0.0.2=-5, or +1000 for all
 *     rkey            0x1234=0x5678, or with a host as qpn
 *     va              0x7f0000000000-0x7f00000fffff=0x10000000, the last address included
 */
import { notValid, quoted } from '../spelling/index.ts'
import { parseIp } from '../wire/index.ts'
import { MappingError } from './error.ts'

const mappingKinds = [
  'mac',
  'ip',
  'lid',
  'source-port',
  'destination-port',
  'pkey',
  'dscp',
  'ecn',
  'qpn',
  'psn',
  'msn',
  'rkey',
  'va',
] as const
/** Kind of value that a mapping replaces. */
export type MappingKind = (typeof mappingKinds)[number]

interface Entry {
  /** Text of the mapping as given by the user, for messages. */
  readonly text: string
  /** Number of times it was applied. */
  hits: number
}

/** Mapping of numbers. `from` −1 stands for all values; `host`: only of this host, whose address has 4 or 16 bytes (2 for a LID). */
export interface NumberMapping extends Entry {
  readonly kind: Exclude<MappingKind, 'ip' | 'va'>
  readonly from: number
  readonly to: number
  readonly host: Uint8Array | undefined
}

export interface IpMapping extends Entry {
  readonly kind: 'ip'
  readonly from: Uint8Array
  readonly to: Uint8Array
  /** Number of leading bits that are compared and replaced. */
  readonly bits: number
}

/** Mapping of virtual addresses, both ends included. */
export interface VaMapping extends Entry {
  readonly kind: 'va'
  readonly first: bigint
  readonly last: bigint
  readonly to: bigint
}

/** Mapping of a captured value to a new one, with the number of times it was applied. */
export type Mapping = NumberMapping | IpMapping | VaMapping

const examples: Record<MappingKind, string> = {
  mac: '02:00:00:00:00:01=02:00:00:00:00:99',
  ip: '10.0.0.1=192.168.7.1',
  lid: '0x11=0x21',
  'source-port': '49152=50000',
  'destination-port': '4791=4792',
  pkey: '0xffff=0x8001',
  dscp: '26=10',
  ecn: '3=0',
  qpn: '0x11=0x200',
  psn: '0x11=+1000',
  msn: '0x11=+1000',
  rkey: '0x1234=0x5678',
  va: '0x7f0000000000-0x7f00000fffff=0x10000000',
}

const limits: Partial<Record<MappingKind, number>> = {
  lid: 0xffff,
  'source-port': 0xffff,
  'destination-port': 0xffff,
  pkey: 0xffff,
  dscp: 63,
  ecn: 3,
  qpn: 0xffffff,
  psn: 0xffffff,
  msn: 0xffffff,
  rkey: 0xffffffff,
}
/** Kinds for which a value alone stands for all. */
const forAll: ReadonlySet<MappingKind> = new Set(['source-port', 'destination-port', 'pkey', 'dscp', 'ecn'])
const ofHosts: ReadonlySet<MappingKind> = new Set(['qpn', 'psn', 'msn', 'rkey'])
const topVa = 0xffff_ffff_ffff_ffffn

/** Parses one mapping. Throws a `MappingError` that describes the expected form. */
export function parseMapping(kind: MappingKind, text: string): Mapping {
  const [left = '', right, ...rest] = text.split('=').map((part) => part.trim())
  const found = rest.length > 0 ? undefined : parse(kind, left, right)
  if (found !== undefined) return { ...found, text, hits: 0 } as Mapping
  const expected = forAll.has(kind) ? 'OLD=NEW, or NEW for all' : 'OLD=NEW'
  throw new MappingError(`--${kind}: ${notValid(quoted(text), expected, `--${kind} ${examples[kind]}`)}`)
}

/** Parses the lines of a mapping file; comments begin with #. Throws a `MappingError` with the line. */
export function parseMappings(file: string, name: string): Mapping[] {
  const found: Mapping[] = []
  for (const [index, raw] of file.split(/\r\n|\r|\n/).entries()) {
    const line = raw.replace(/#.*/, '').trim()
    if (line === '') continue
    const [, word = '', text = ''] = /^(\S+)\s*(.*)$/.exec(line)!
    const kind = mappingKinds.find((known) => known === word)
    try {
      if (kind === undefined) throw new MappingError(`'${word}' is no kind of mapping: ${mappingKinds.join(', ')}`)
      found.push(parseMapping(kind, text))
    } catch (error) {
      throw error instanceof MappingError ? new MappingError(`${name}:${index + 1}: ${error.message}`) : error
    }
  }
  return found
}

type Parsed = Omit<NumberMapping, keyof Entry> | Omit<IpMapping, keyof Entry> | Omit<VaMapping, keyof Entry> | undefined

function parse(kind: MappingKind, left: string, right: string | undefined): Parsed {
  if (kind === 'ip') return right === undefined ? undefined : parseIps(left, right)
  if (kind === 'va') return right === undefined ? undefined : parseVas(left, right)
  if (kind === 'mac') {
    const from = parseMac(left)
    const to = parseMac(right ?? '')
    return from === undefined || to === undefined ? undefined : { kind, from, to, host: undefined }
  }
  const most = limits[kind]!
  const value = kind === 'psn' || kind === 'msn' ? parseOffset : (text: string) => parseNumber(text, most)
  if (right === undefined) {
    const to = forAll.has(kind) || value === parseOffset ? value(left) : undefined
    return to === undefined ? undefined : { kind, from: -1, to, host: undefined }
  }
  const [number = '', host, ...rest] = left.split('@')
  const from = parseNumber(number, most)
  const to = value(right)
  const address = host === undefined ? undefined : parseIp(host)
  if (from === undefined || to === undefined || rest.length > 0) return undefined
  if (host !== undefined && (address === undefined || !ofHosts.has(kind))) return undefined
  return { kind, from, to, host: address }
}

function parseNumber(text: string, most: number): number | undefined {
  if (!/^(0x[0-9a-f]+|\d+)$/i.test(text)) return undefined
  const value = Number(text)
  return value <= most ? value : undefined
}

/** Parses +5, -0x10: modulo 2^24, the range of PSNs and MSNs. */
function parseOffset(text: string): number | undefined {
  const [, sign, digits = ''] = /^([+-])(.+)$/.exec(text) ?? []
  const value = parseNumber(digits, 0xffffff)
  if (value === undefined) return undefined
  return sign === '-' ? -value & 0xffffff : value
}

/** Parses an Ethernet address into 48 bits. */
function parseMac(text: string): number | undefined {
  return /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text) ? Number(`0x${text.replace(/[:-]/g, '')}`) : undefined
}

function parseIps(left: string, right: string): Parsed {
  const [oldText = '', oldBits] = left.split('/')
  const [newText = '', newBits] = right.split('/')
  const from = parseIp(oldText)
  const to = parseIp(newText)
  if (from === undefined || to === undefined || from.length !== to.length || oldBits !== newBits) return undefined
  const bits = oldBits === undefined ? from.length * 8 : parseNumber(oldBits, from.length * 8)
  return bits === undefined ? undefined : { kind: 'ip', from, to, bits }
}

function parseVas(left: string, right: string): Parsed {
  const [low = '', high, ...rest] = left.split('-')
  const first = parseVa(low)
  const last = high === undefined ? first : parseVa(high)
  const to = parseVa(right)
  if (first === undefined || last === undefined || to === undefined || rest.length > 0) return undefined
  return last < first || to + (last - first) > topVa ? undefined : { kind: 'va', first, last, to }
}

function parseVa(text: string): bigint | undefined {
  if (!/^(0x[0-9a-f]+|\d+)$/i.test(text)) return undefined
  const value = BigInt(text)
  return value <= topVa ? value : undefined
}
