/**
 * Feeds a parser from a file, from standard input or from any stream, uncompressed or compressed with gzip or zstd.
 * Plain files are read in large chunks without a stream; between chunks the event loop runs.
 */
import { closeSync, createReadStream, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { Readable, type Transform } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import * as zlib from 'node:zlib'
import {
  CaptureParser,
  type CaptureSource,
  type Compression,
  compressionMagicLength,
  compressionOf,
  drain,
  type PacketHandler,
  type ReadOptions,
} from '../capture/index.ts'
import { GzipReader } from './gunzip.ts'

/** Returns a source of the capture in a file, compressed or not; `-` is standard input. Reading throws the system's error if it fails. */
export function fileSource(path: string): CaptureSource {
  if (path === '-') return streamSource(process.stdin)
  return {
    get repeatable() {
      return statSync(path).isFile()
    },
    async read(onPacket, options = {}) {
      const opened = open(path)
      if (typeof opened !== 'number') return await readStream(opened, onPacket, options)
      try {
        return await readDescriptor(opened, onPacket, options)
      } finally {
        closeSync(opened)
      }
    },
  }
}

/**
 * Returns a source of several files as one capture, in this order. They have to be pcapng, whose sections may follow each other in a
 * file, and either all compressed in the same way or all uncompressed.
 */
export function filesSource(paths: readonly string[]): CaptureSource {
  if (paths.length === 1) return fileSource(paths[0]!)
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const path of paths)
      for await (const chunk of createReadStream(path, { highWaterMark: 1 << 18 })) yield chunk as Uint8Array
  }
  return {
    repeatable: true,
    read: (onPacket, options = {}) => readStream(Readable.from(chunks()), onPacket, options),
  }
}

/** Returns a source of the capture in a stream, which can be read once. */
export function streamSource(stream: Readable): CaptureSource {
  return { repeatable: false, read: (onPacket, options = {}) => readStream(stream, onPacket, options) }
}

/** Opens an uncompressed plain file as a descriptor, any other file as a stream. */
function open(path: string): number | Readable {
  const descriptor = openSync(path, 'r')
  try {
    if (fstatSync(descriptor).isFile()) {
      const magic = new Uint8Array(compressionMagicLength)
      readSync(descriptor, magic, 0, compressionMagicLength, 0)
      if (compressionOf(magic) === undefined) return descriptor
    }
    return createReadStream('', { fd: descriptor, highWaterMark: 1 << 18 })
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

/** Decompressor of the bytes that are written into it. Its promises reject with the error in the compressed bytes. */
interface Decompressor {
  write(bytes: Uint8Array): Promise<void>
  end(): Promise<void>
  destroy(): void
}

/** Returns a decompressor; undefined for zstd on a Node.js without it: it is in 22.15 and later, and 23.8 and later. */
function decompressor(compression: Compression, onData: (bytes: Uint8Array) => void): Decompressor | undefined {
  if (compression === 'gzip') return new GzipReader(onData)
  const zstd = zlib as { createZstdDecompress?(options: zlib.ZlibOptions): Transform }
  const stream = zstd.createZstdDecompress?.({ chunkSize: 1 << 16 })
  return stream && new StreamDecompressor(stream, onData)
}

const compressedChunk = 4096

async function readDescriptor(
  descriptor: number,
  onPacket: PacketHandler,
  { onProgress, onBlock, signal, chunkSize = 1 << 19 }: ReadOptions,
): Promise<CaptureParser> {
  const parser = new CaptureParser(chunkSize * 2)
  parser.onBlock = onBlock
  for (;;) {
    if (signal?.aborted) return parser
    const room = parser.room(chunkSize)
    const count = readSync(descriptor, room, 0, room.length, null)
    if (count === 0) parser.end()
    else parser.filled(count)
    if (!drain(parser, onPacket) || count === 0) return parser
    await onProgress?.(parser.fileOffset)
    await nextTurn()
  }
}

async function readStream(
  stream: Readable,
  onPacket: PacketHandler,
  { onProgress, onIdle, onBlock, signal, chunkSize }: ReadOptions,
): Promise<CaptureParser> {
  const parser = new CaptureParser(chunkSize === undefined ? undefined : chunkSize * 2)
  parser.onBlock = onBlock
  if (signal?.aborted) return parser
  const taken = (chunk: Uint8Array): boolean => {
    parser.push(chunk)
    return drain(parser, onPacket) && !signal?.aborted
  }
  const progress = async (): Promise<void> => await onProgress?.(parser.fileOffset)
  const stop = () => stream.destroy()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    if (await pump(stream, parser, taken, progress, onIdle)) {
      parser.end()
      drain(parser, onPacket)
    }
  } catch (error) {
    if (!signal?.aborted) throw error
  } finally {
    signal?.removeEventListener('abort', stop)
    stream.destroy()
  }
  return parser
}

/** Reads the stream to its end and returns true; false if the reading was ended before. */
async function pump(
  stream: Readable,
  parser: CaptureParser,
  taken: (chunk: Uint8Array) => boolean,
  progress: () => Promise<void>,
  onIdle: (() => void) | undefined,
): Promise<boolean> {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  const rest = { next: () => whileIdle(chunks.next(), onIdle) }
  let first: Uint8Array = new Uint8Array(0)
  while (first.length < compressionMagicLength) {
    const next = await rest.next()
    if (next.done) break
    first = first.length === 0 ? next.value : Buffer.concat([first, next.value])
  }
  const compression = compressionOf(first)
  if (compression !== undefined) return await decompress(compression, first, rest, parser, taken, progress)
  if (!taken(first)) return false
  await progress()
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    if (!taken(next.value)) return false
    await progress()
  }
  return true
}

const idleMs = 50

/** Calls `onIdle` every 50 ms until there is a chunk; pipe data that a delayed process has not read yet is read before the call. */
async function whileIdle<T>(chunk: Promise<T>, onIdle: (() => void) | undefined): Promise<T> {
  if (onIdle === undefined) return await chunk
  let isWaiting = true
  // setImmediate runs after the phase of the event loop in which pipes are read.
  const timer = setInterval(() => setImmediate(() => isWaiting && onIdle()), idleMs)
  try {
    return await chunk
  } finally {
    isWaiting = false
    clearInterval(timer)
  }
}

async function decompress(
  compression: Compression,
  first: Uint8Array,
  rest: Pick<AsyncIterator<Uint8Array>, 'next'>,
  parser: CaptureParser,
  taken: (chunk: Uint8Array) => boolean,
  progress: () => Promise<void>,
): Promise<boolean> {
  let stopped = false
  const unzip = decompressor(compression, (chunk) => {
    if (!stopped && !taken(chunk)) stopped = true
  })
  if (unzip === undefined) {
    const what = `it is compressed with zstd, which Node.js ${process.versions.node} cannot read (22.15 can): zstd -d first`
    parser.damage.add(0, 1, what)
    return false
  }
  // The chunks are small, since an error in the middle discards the output of its chunk.
  const write = async (chunk: Uint8Array): Promise<boolean> => {
    for (let at = 0; at < chunk.length && !stopped; at += compressedChunk) {
      const broken = await wrong(unzip.write(chunk.subarray(at, at + compressedChunk)))
      if (broken) return false
      await progress()
    }
    return true
  }
  const wrong = async (done: Promise<void>): Promise<boolean> => {
    try {
      await done
      return false
    } catch (error) {
      const what = `the ${compression} stream is damaged here: ${(error as Error).message}`
      parser.damage.add(parser.fileOffset, parser.packet.number + 1, what)
      return true
    }
  }
  let isWhole = await write(first)
  while (isWhole && !stopped) {
    const next = await rest.next()
    if (next.done) {
      await wrong(unzip.end())
      break
    }
    isWhole = await write(next.value)
  }
  unzip.destroy()
  return !stopped
}

/**
 * A stream of Node.js. Its output is used at once, in its data event: otherwise a damaged end of the file would discard the data in its
 * queue.
 */
class StreamDecompressor implements Decompressor {
  readonly #stream: Transform
  readonly #settled: Promise<void>
  #broken: Error | undefined
  #wake: (() => void) | undefined

  constructor(stream: Transform, onData: (bytes: Uint8Array) => void) {
    this.#stream = stream
    this.#settled = new Promise<void>((resolve) => {
      stream.on('data', onData)
      stream.on('end', resolve)
      stream.on('close', resolve)
      stream.on('error', (error) => {
        this.#broken = error
        resolve()
        // The callback of the write may never be called.
        this.#wake?.()
      })
    })
  }

  async write(bytes: Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      this.#stream.write(bytes, () => resolve())
    })
    if (this.#broken) throw this.#broken
  }

  async end(): Promise<void> {
    this.#stream.end()
    await this.#settled
    if (this.#broken) throw this.#broken
  }

  destroy(): void {
    this.#stream.destroy()
  }
}
