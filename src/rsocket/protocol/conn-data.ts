/**
 * Private data that the two ends of a stream exchange in REQ and REP (`rs_conn_data` of librdmacm,
 * version 1). All fields are big endian:
 *
 *      0  version        1
 *      1  flags          1: this host is big endian, and so is what is written into its memory; 2: iomap size is valid
 *      2  credits        16 bits: data messages that the receiver of this may send at first
 *      4  reserved       3 bytes, zero in version 1. A Verbena end writes 0x56 ("V"), a set of features, and a number
 *      7  iomap size     entries of the target iomap, which follows the target SGL; over 128 in steps of 256
 *      8  target SGL     address 64, key 32, entries 32: where the receiver of this writes the buffers that it offers
 *     24  data buffer    address 64, key 32, bytes 32: the first buffer that the receiver of this may write to
 *
 * librdmacm writes zeros into the reserved bytes and does not read them, so that its ends and ours see version 1 in each
 * other, and two of ours see more. The number is how many buffers of the same size follow the first one and are free.
 */

/** Bytes of the private data. */
export const connDataBytes = 40

/** Range of the other end's memory. In the description of a target SGL `length` counts entries. */
export interface RemoteRange {
  addr: number
  key: number
  length: number
}

/** Features that a Verbena end offers beyond version 1. */
export const Feature = {
  /** Flag: the buffers after the first are free from the start, and updates are sent for parts of them. */
  EarlyBuffers: 1,
  /** Flag: the connection carries many streams (see trunk.ts). Both ends must set it. */
  Trunk: 2,
} as const

export interface ConnData {
  bigEndian: boolean
  /** Entries of the end's iomap; −1 if it has none. */
  iomapSize: number
  credits: number
  targetSgl: RemoteRange
  dataBuffer: RemoteRange
  /** Extension that only Verbena ends set. */
  extension: { features: number; moreBuffers: number } | null
}

/** Reasons why private data cannot be used; each is a counter of the socket. */
export type ConnDataError = 'short' | 'version' | 'credits' | 'target sgl' | 'data buffer'

const extensionMark = 0x56
const flagBigEndian = 1
const flagIomap = 2

/** Sanity limits: librdmacm uses 2 SGL entries, and the immediate of a data message counts bytes in 29 bits. */
const maxEntries = 4096
const maxBufferBytes = 0x20000000

/** Encodes the size of an iomap in one byte: up to 128 as it is, above that in steps of 256. */
export function iomapSizeToByte(size: number): number {
  return size <= 128 ? size : 128 | Math.min(127, size >>> 8)
}

export function iomapSizeFromByte(byte: number): number {
  return byte <= 128 ? byte : (byte & 127) << 8
}

function writeRange(view: DataView, at: number, range: RemoteRange): void {
  view.setUint32(at, Math.floor(range.addr / 0x100000000))
  view.setUint32(at + 4, range.addr >>> 0)
  view.setUint32(at + 8, range.key)
  view.setUint32(at + 12, range.length)
}

/** Reads a range; an address above 2^53 becomes NaN. */
function readRange(view: DataView, at: number): RemoteRange {
  const addr = view.getUint32(at) * 0x100000000 + view.getUint32(at + 4)
  return {
    addr: Number.isSafeInteger(addr) ? addr : Number.NaN,
    key: view.getUint32(at + 8),
    length: view.getUint32(at + 12),
  }
}

/** Encodes the 40 bytes. */
export function encodeConnData(data: ConnData): Uint8Array {
  const bytes = new Uint8Array(connDataBytes)
  const view = new DataView(bytes.buffer)
  bytes[0] = 1
  bytes[1] = (data.bigEndian ? flagBigEndian : 0) | (data.iomapSize >= 0 ? flagIomap : 0)
  view.setUint16(2, data.credits)
  if (data.extension) {
    bytes[4] = extensionMark
    bytes[5] = data.extension.features
    bytes[6] = data.extension.moreBuffers
  }
  bytes[7] = data.iomapSize > 0 ? iomapSizeToByte(data.iomapSize) : 0
  writeRange(view, 8, data.targetSgl)
  writeRange(view, 24, data.dataBuffer)
  return bytes
}

/** Decodes private data, which may be longer than the 40 bytes; returns an error if it cannot be used. */
export function decodeConnData(bytes: Uint8Array): ConnData | ConnDataError {
  if (bytes.length < connDataBytes) return 'short'
  const view = new DataView(bytes.buffer, bytes.byteOffset, connDataBytes)
  if (bytes[0] !== 1) return 'version'
  const flags = bytes[1]!
  const credits = view.getUint16(2)
  if (credits === 0) return 'credits'
  const targetSgl = readRange(view, 8)
  const dataBuffer = readRange(view, 24)
  if (!(targetSgl.addr >= 0) || targetSgl.length < 2 || targetSgl.length > maxEntries) return 'target sgl'
  const extension = bytes[4] === extensionMark ? { features: bytes[5]!, moreBuffers: bytes[6]! } : null
  if (!(dataBuffer.addr >= 0) || dataBuffer.length === 0) return 'data buffer'
  if (dataBuffer.length * (1 + (extension?.moreBuffers ?? 1)) > maxBufferBytes) return 'data buffer'
  return {
    bigEndian: (flags & flagBigEndian) !== 0,
    iomapSize: (flags & flagIomap) !== 0 ? iomapSizeFromByte(bytes[7]!) : -1,
    credits,
    targetSgl,
    dataBuffer,
    extension,
  }
}

/**
 * Returns the bytes of the whole buffer that an end described: the first part, and the second half of version 1 or the parts that follow.
 */
export function bufferBytes(data: ConnData): number {
  return data.dataBuffer.length * (1 + (data.extension?.moreBuffers ?? 1))
}
