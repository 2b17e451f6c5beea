/**
 * Key of a packet: all properties by which traffic is distinguished, in 48 bytes. Every other key is a part of it, and may be chosen at the
 * time of the query.
 *
 *     word 0..3    source address: the words of an IPv6 address or GID; an IPv4 address or a LID is the first one
 *     word 4..7    destination address
 *     word 8       source QP (24 bits, 0xffffff while it is not known), transport service (8)
 *     word 9       destination QP (24), opcode (8)
 *     word 10      P_Key (16), DSCP (8), event (6), length of the addresses: 0 unknown, 1 LID, 2 IPv4, 3 IPv6 (2)
 *     word 11      R_Key
 */
import { serviceNames } from '../trace/index.ts'
import { formatIp, opcodeName, opcodeTable } from '../wire/index.ts'
import { MonitorError } from './error.ts'
import { type EventName, eventNames } from './events.ts'
import { isName } from './text.ts'

export const keyBytes = 48
export const keyWords: number = keyBytes / 4
/** Source QP that is not known: the multicast QP, which never sends. */
export const unknownQp = 0xffffff
export const Word = { source: 0, destination: 4, sourceQp: 8, destinationQp: 9, rest: 10, rkey: 11 } as const
/** Kinds of addresses, by length in bytes. */
const addressKinds: Readonly<Record<number, number>> = { 0: 0, 2: 1, 4: 2, 16: 3 }

/** Fields of a key, as text and numbers. */
export interface KeyFields {
  source: string
  destination: string
  /** Source QP; null while it is not known. */
  sourceQp: number | null
  /** Destination QP; null if a connection's second end is the sender, and is not known. */
  destinationQp: number | null
  /** Service: RC, UC, RD, UD, CNP, XRC. */
  service: string
  /** Operation: SEND, WRITE, READ_REQUEST, … ; `opcode` has its place in the message, too. */
  operation: string
  opcode: string
  pkey: number
  dscp: number
  rkey: number
  event: EventName | 'none'
}
/** Field of keys. */
export type KeyField = keyof KeyFields

/** Names of keys. */
export type KeyName =
  | ('connection' | 'flow' | 'qp' | 'sender' | 'hosts' | 'source' | 'destination')
  | ('pkey' | 'service' | 'operation' | 'opcode' | 'rkey' | 'dscp')
/** Named key, or the fields of a key. */
export type Key = KeyName | readonly KeyField[]

/** Fields of the named keys. */
export const keyNames: Readonly<Record<KeyName, readonly KeyField[]>> = {
  connection: ['source', 'sourceQp', 'destination', 'destinationQp', 'service'],
  flow: ['source', 'sourceQp', 'destination', 'destinationQp', 'service'],
  qp: ['destination', 'destinationQp'],
  sender: ['source', 'sourceQp'],
  hosts: ['source', 'destination'],
  source: ['source'],
  destination: ['destination'],
  pkey: ['pkey'],
  service: ['service'],
  operation: ['service', 'operation'],
  opcode: ['opcode'],
  rkey: ['destination', 'rkey'],
  dscp: ['dscp'],
}

/** Description of each key. */
export const keyTexts: Readonly<Record<KeyName, string>> = {
  connection: 'both directions of a connection together; its first end is the one with the lower address',
  flow: 'one direction of a connection',
  qp: 'the queue pair that packets go to',
  sender: 'the queue pair that packets come from',
  hosts: 'from one host to another',
  source: 'the host that sends',
  destination: 'the host that receives',
  pkey: 'the partition',
  service: 'RC, UC, UD, XRC',
  operation: 'SEND, WRITE, READ and so on, by service',
  opcode: 'the opcode of the packet',
  rkey: 'the memory region that a WRITE, READ or atomic operation names, at its host',
  dscp: 'the class of the IP header',
}

export const fieldNames: readonly KeyField[] = [
  ...['source', 'destination', 'sourceQp', 'destinationQp', 'service', 'operation'],
  ...['opcode', 'pkey', 'dscp', 'rkey', 'event'],
] as KeyField[]

/** Returns the key of a name, or of fields with commas between them. Throws ERR_MONITOR_VALUE for other texts. */
export function parseKey(text: string): Key {
  if (Object.hasOwn(keyNames, text)) return text as KeyName
  const fields = text.split(',')
  const unknown = fields.find((field) => !fieldNames.includes(field as KeyField))
  if (unknown === undefined) return fields as KeyField[]
  throw new MonitorError(
    'ERR_MONITOR_VALUE',
    `'${unknown}' is no key: expected ${Object.keys(keyNames).join(', ')}, or fields of ${fieldNames.join(', ')}`,
  )
}

/** Returns keys as words. Reads and writes them in the byte order in which sketches read keys. */
export function wordsOf(key: Uint8Array): Int32Array {
  const words = new Int32Array(keyWords)
  for (let i = 0; i < keyWords; i++)
    words[i] = key[4 * i]! | (key[4 * i + 1]! << 8) | (key[4 * i + 2]! << 16) | (key[4 * i + 3]! << 24)
  return words
}

export function bytesOf(words: Int32Array): Uint8Array {
  const key = new Uint8Array(keyBytes)
  for (let i = 0; i < keyBytes; i++) key[i] = words[i >> 2]! >>> (8 * (i & 3))
  return key
}

const masks: Readonly<Record<KeyField, readonly (readonly [word: number, mask: number])[]>> = {
  source: [0, 1, 2, 3].map((word) => [word, -1]),
  destination: [4, 5, 6, 7].map((word) => [word, -1]),
  sourceQp: [[Word.sourceQp, 0xffffff]],
  destinationQp: [[Word.destinationQp, 0xffffff]],
  service: [[Word.sourceQp, 0xff << 24]],
  operation: [[Word.destinationQp, 0xff << 24]],
  opcode: [[Word.destinationQp, 0xff << 24]],
  pkey: [[Word.rest, 0xffff]],
  dscp: [[Word.rest, 0xff << 16]],
  event: [[Word.rest, 0x3f << 24]],
  rkey: [[Word.rkey, -1]],
}
const kindMask = 3 << 30

/** First opcode of each operation and transport, which stands for all of them. */
const operationOf: Uint8Array = new Uint8Array(256).map((_, opcode) => {
  const info = opcodeTable[opcode]
  if (info === undefined) return opcode
  return opcodeTable.find((one) => one?.operation === info.operation && one.transport === info.transport)!.opcode
})

/** Source QPs that were found out later than the packets passed, by the words of the flow. */
export type SourceQps = ReadonlyMap<string, number>

/** Returns the name of a flow in `SourceQps`. */
export function flowName(words: Int32Array): string {
  const [a, b, c, d, e, f, g, h] = words
  const address = `${a},${b},${c},${d},${e},${f},${g},${h}`
  return `${address},${words[Word.sourceQp]! >>> 24},${words[Word.destinationQp]! & 0xffffff},${words[Word.rest]! >>> 30}`
}

/** True if the value, which may come from another process, is such a name. */
export function isFlowName(value: unknown): value is string {
  return typeof value === 'string' && /^(-?\d{1,10},){8}\d{1,3},\d{1,8},[0-3]$/.test(value)
}

/** Source of addresses that have numbers. */
export interface AddressSource {
  copy(id: number, out: Int32Array, at: number): number
}

/** Writes an address into a key, and returns its kind. */
export function putAddress(addresses: AddressSource, id: number, words: Int32Array, at: number): number {
  return addressKinds[addresses.copy(id, words, at)] ?? 0
}

/**
 * Length of a key of rates: destination address, QP, kind of the address, and a flag for the whole host: every QP number can be one,
 * 0xffffff is that of multicast.
 */
export const rateKeyBytes = 20
const wholeHost = 4

/** Writes the key in `rates` of packets with a key: of the host that receives them, or with its QP. */
export function rateKey(words: Int32Array, withQp: boolean, out: Uint8Array): void {
  for (let i = 0; i < 16; i++) out[i] = words[Word.destination + (i >> 2)]! >>> (8 * (i & 3))
  const qp = withQp ? words[Word.destinationQp]! & 0xffffff : 0
  out[16] = qp
  out[17] = qp >>> 8
  out[18] = qp >>> 16
  out[19] = (words[Word.rest]! >>> 30) | (withQp ? 0 : wholeHost)
}

/** Returns a function that reduces a key to the part that `by` selects; it works on the words in place. */
export function partOf(by: Key, sourceQps: SourceQps): (words: Int32Array) => void {
  const fields: readonly KeyField[] = typeof by === 'string' ? keyNames[by] : by
  const keep = new Int32Array(keyWords)
  for (const field of fields) for (const [word, mask] of masks[field]) keep[word]! |= mask
  // The kind of the addresses belongs to them.
  if (fields.includes('source') || fields.includes('destination')) keep[Word.rest]! |= kindMask
  const byOperation = fields.includes('operation') && !fields.includes('opcode')
  const usesSourceQp = fields.includes('sourceQp')
  return (words) => {
    if (usesSourceQp && (words[Word.sourceQp]! & unknownQp) === unknownQp) {
      const known = sourceQps.get(flowName(words))
      if (known !== undefined) words[Word.sourceQp] = (words[Word.sourceQp]! & (0xff << 24)) | known
    }
    if (byOperation)
      words[Word.destinationQp] =
        (words[Word.destinationQp]! & 0xffffff) | (operationOf[words[Word.destinationQp]! >>> 24]! << 24)
    // A CNP has no service of its own: it belongs to the connection.
    for (let i = 0; i < keyWords; i++) words[i]! &= keep[i]!
    if (by === 'connection') order(words)
  }
}

/** Orders the two ends: the one with the lower address, or QP, comes first. */
function order(words: Int32Array): void {
  let difference = 0
  for (let i = 0; i < 4 && difference === 0; i++) difference = (words[i]! >>> 0) - (words[4 + i]! >>> 0)
  if (difference === 0) difference = (words[Word.sourceQp]! & 0xffffff) - (words[Word.destinationQp]! & 0xffffff)
  if (difference <= 0) return
  for (let i = 0; i < 4; i++) {
    const word = words[i]!
    words[i] = words[4 + i]!
    words[4 + i] = word
  }
  const [from, to] = [words[Word.sourceQp]!, words[Word.destinationQp]!]
  words[Word.sourceQp] = (from & (0xff << 24)) | (to & 0xffffff)
  words[Word.destinationQp] = (to & (0xff << 24)) | (from & 0xffffff)
}

function addressText(words: Int32Array, at: number): string {
  const kind = words[Word.rest]! >>> 30
  if (kind === 0) return 'other addresses'
  if (kind === 1) return `LID ${words[at]}`
  const bytes = new Uint8Array(kind === 2 ? 4 : 16)
  for (let i = 0; i < bytes.length; i++) bytes[i] = words[at + (i >> 2)]! >>> (24 - 8 * (i & 3))
  return formatIp(bytes)
}

/** Returns one field of a key. */
export function fieldOf(words: Int32Array, field: KeyField): KeyFields[KeyField] {
  switch (field) {
    case 'source':
      return addressText(words, Word.source)
    case 'destination':
      return addressText(words, Word.destination)
    case 'sourceQp': {
      const qp = words[Word.sourceQp]! & 0xffffff
      return qp === unknownQp ? null : qp
    }
    case 'destinationQp':
      return words[Word.destinationQp]! & 0xffffff
    case 'service':
      return serviceNames[(words[Word.sourceQp]! >>> 24) & 7]!
    case 'operation': {
      const opcode = words[Word.destinationQp]! >>> 24
      return opcodeTable[opcode]?.operation ?? opcodeName(opcode)
    }
    case 'opcode':
      return opcodeName(words[Word.destinationQp]! >>> 24)
    case 'pkey':
      return words[Word.rest]! & 0xffff
    case 'dscp':
      return (words[Word.rest]! >>> 16) & 0xff
    case 'event':
      return eventNames[((words[Word.rest]! >>> 24) & 0x3f) - 1] ?? 'none'
    case 'rkey':
      return words[Word.rkey]! >>> 0
  }
}

/** Returns the fields of a part of a key. */
export function fieldsOf(words: Int32Array, by: Key): Partial<KeyFields> {
  const fields: readonly KeyField[] = typeof by === 'string' ? keyNames[by] : by
  const all: Partial<KeyFields> = Object.fromEntries(fields.map((field) => [field, fieldOf(words, field)]))
  const isUnknown = by === 'connection' && all.destinationQp === unknownQp && !isMulticast(words, Word.destination)
  return isUnknown ? { ...all, destinationQp: null } : all
}

/** True if the address is a multicast group, whose QP number is the one that stands for unknown QPs. */
function isMulticast(words: Int32Array, at: number): boolean {
  const first = words[at]! >>> 0
  const kind = words[Word.rest]! >>> 30
  if (kind === addressKinds[2]) return first >= 0xc000
  return kind === addressKinds[4] ? first >>> 28 === 0xe : first >>> 24 === 0xff
}

/** True if the value, which may come from another process, has the fields of a key. */
export function isFields(value: unknown): value is Partial<KeyFields> {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).every(
    ([field, one]) =>
      fieldNames.includes(field as KeyField) && (one === null || Number.isSafeInteger(one) || isName(one)),
  )
}

/** Returns the name of a key, or its fields with commas between them, as `parseKey` reads it. */
export function nameOfKey(key: Key): string {
  return typeof key === 'string' ? key : key.join(',')
}

/** Returns the fields as one line: 10.0.0.1 QP 0x11 → 10.0.0.2 QP 0x12. */
export function keyText(fields: Partial<KeyFields>, by: Key): string {
  const { source, destination, sourceQp, destinationQp } = fields
  const qp = (value: number | null | undefined): string =>
    value === undefined ? '' : value === null ? ' QP ?' : ` QP 0x${value.toString(16)}`
  const ends: string[] = []
  if (source !== undefined || sourceQp !== undefined) ends.push(`${source ?? ''}${qp(sourceQp)}`.trim())
  if (destination !== undefined || destinationQp !== undefined)
    ends.push(`${destination ?? ''}${qp(destinationQp)}`.trim())
  const parts = [ends.join(by === 'connection' ? ' ↔ ' : ' → ')].filter((text) => text !== '')
  for (const [name, value] of Object.entries(fields)) {
    if (['source', 'destination', 'sourceQp', 'destinationQp'].includes(name)) continue
    if (name === 'pkey') parts.push(`P_Key 0x${(value as number).toString(16).padStart(4, '0')}`)
    else if (name === 'rkey') parts.push(value === 0 ? 'no R_Key' : `R_Key 0x${(value as number).toString(16)}`)
    else if (name === 'dscp') parts.push(`DSCP ${value}`)
    else parts.push(String(value))
  }
  return parts.join(' ')
}
