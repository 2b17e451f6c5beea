/**
 * The exchange of addresses of the two ends of a ping-pong over TCP, byte for byte as the programs of rdma-core:
 *
 *     client → server   one record for each queue pair
 *     server            moves its queue pairs to RTS, then
 *     server → client   as many records
 *     client → server   "done" and a zero byte; both close
 *
 * A record is "LID:QPN:PSN:GID", hexadecimal with 4, 6, 6 and 32 digits, and a zero byte: 52 bytes. The srq programs
 * always send 256 of them, zeros where there is no queue pair.
 */
import { EndError, gidFromHex, gidHex, quoted, type Wire } from '../kit/index.ts'

export interface Destination {
  lid: number
  qpn: number
  psn: number
  /** GID of 16 bytes; zeros: none. */
  gid: Uint8Array
}

export const recordBytes = 52
const done = Buffer.from('done\0')
/** Milliseconds that suffice for a peer that is started by hand and must still register memory. */
const answerMs = 10_000

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')

export function formatRecord({ lid, qpn, psn, gid }: Destination): string {
  return `${hex(lid, 4)}:${hex(qpn, 6)}:${hex(psn, 6)}:${gidHex(gid)}\0`
}

/** Parses a record; undefined if the bytes are not a valid one. */
export function parseRecord(bytes: Uint8Array): Destination | undefined {
  const text = Buffer.from(bytes).toString('latin1')
  const match = /^([0-9a-f]{4}):([0-9a-f]{6}):([0-9a-f]{6}):([0-9a-f]{32})\0$/i.exec(text)
  if (!match) return undefined
  const [lid, qpn, psn] = match.slice(1, 4).map((digits) => Number.parseInt(digits, 16)) as [number, number, number]
  return { lid, qpn, psn, gid: gidFromHex(match[4]!)! }
}

/** Runs the client's part. `records` is the number of records in each direction, at least that of the queue pairs. */
export async function exchangeAsClient(
  wire: Wire,
  local: readonly Destination[],
  records: number,
): Promise<Destination[]> {
  await wire.write(padded(local, records))
  const remote = await readRecords(wire, local.length, records)
  await wire.write(done)
  return remote
}

/** Runs the server's part. `connect` moves the queue pairs to RTS before the client receives them. */
export async function exchangeAsServer(
  wire: Wire,
  local: readonly Destination[],
  records: number,
  connect: (remote: Destination[]) => void,
): Promise<Destination[]> {
  const remote = await readRecords(wire, local.length, records)
  connect(remote)
  await wire.write(padded(local, records))
  const word = await wire.readSome(recordBytes, answerMs, `"done"`)
  if (word.length !== done.length)
    throw new EndError('PEER_TEXT', `the peer did not say "done" but ${quoted(word)}: it is no ping-pong of this kind`)
  return remote
}

const noQueuePair: Destination = { lid: 0, qpn: 0, psn: 0, gid: new Uint8Array(16) }

function padded(local: readonly Destination[], records: number): string {
  return Array.from({ length: records }, (_, i) => formatRecord(local[i] ?? noQueuePair)).join('')
}

async function readRecords(wire: Wire, wanted: number, records: number): Promise<Destination[]> {
  const what = records === 1 ? 'its address' : `its ${records} addresses`
  const bytes = await wire.readBytes(recordBytes * records, answerMs, what)
  // Records beyond the queue pairs have undefined contents.
  return Array.from({ length: wanted }, (_, i) => {
    const record = bytes.subarray(i * recordBytes, (i + 1) * recordBytes)
    const parsed = parseRecord(record)
    if (!parsed)
      throw new EndError(
        'PEER_TEXT',
        `the peer sent ${quoted(record)}, which is not "LID:QPN:PSN:GID" as ping-pongs exchange it: is it another program?`,
      )
    return parsed
  })
}
