/**
 * Messages of rcopy. Numbers are little-endian, the order of the hosts that it is used between.
 *
 *     header    version u8 = 0 | command u8 | length u16 | data u32 | id u64                       16 bytes
 *     OPEN      header, then the path with a NUL and zeros to a multiple of 8; data: the file's mode
 *     WRITE     header, then the file's size u64; then its bytes, which `length` does not count
 *     CLOSE     header
 *     reply     header with the command | 0x80; data: 0 or an error number
 */
export const Command = { Noop: 0, Open: 1, Close: 2, Write: 3 } as const
export const reply = 0x80
export const headerBytes = 16
/** Maximum length of a path: it fits into the length field, and no path is longer. */
export const maxPathBytes = 4096

export interface Header {
  command: number
  /** Bytes of the message, including the header. */
  length: number
  data: number
  id: bigint
}

export function emitHeader({ command, length, data, id }: Header, to: Uint8Array): void {
  const view = new DataView(to.buffer, to.byteOffset, headerBytes)
  view.setUint8(0, 0)
  view.setUint8(1, command)
  view.setUint16(2, length, true)
  view.setUint32(4, data, true)
  view.setBigUint64(8, id, true)
}

/** Parses a header; returns a sentence if it is not valid. */
export function parseHeader(from: Uint8Array): Header | string {
  const view = new DataView(from.buffer, from.byteOffset, headerBytes)
  const version = view.getUint8(0)
  const length = view.getUint16(2, true)
  if (version !== 0 || length < headerBytes) return `invalid version ${version} or length ${length}`
  return { command: view.getUint8(1), length, data: view.getUint32(4, true), id: view.getBigUint64(8, true) }
}

/** Returns an OPEN message. */
export function openMessage(path: string, mode: number): Uint8Array {
  const bytes = Buffer.from(path)
  const length = headerBytes + ((bytes.length + 8) & ~7)
  const message = new Uint8Array(length)
  emitHeader({ command: Command.Open, length, data: mode, id: 0n }, message)
  message.set(bytes, headerBytes)
  return message
}

export function writeMessage(size: number): Uint8Array {
  const message = new Uint8Array(headerBytes + 8)
  emitHeader({ command: Command.Write, length: message.length, data: 0, id: 0n }, message)
  new DataView(message.buffer).setBigUint64(headerBytes, BigInt(size), true)
  return message
}

export function closeMessage(): Uint8Array {
  const message = new Uint8Array(headerBytes)
  emitHeader({ command: Command.Close, length: headerBytes, data: 0, id: 0n }, message)
  return message
}
