/** Options that can be set before a socket connects, with the values of librdmacm. */

export interface StreamOptions {
  /** Number of send queue entries; 4 of them are reserved for control messages. */
  sqSize: number
  /** Number of receive queue entries: the credits that the peer is granted. */
  rqSize: number
  /** Maximum inline data of a work request, bytes. */
  inlineBytes: number
  sendBufferBytes: number
  /** Bytes of the receive buffer for a peer of version 1: two halves. */
  receiveBufferBytes: number
  /** Factor by which the receive buffer for a Verbena end is larger. */
  receiveBufferTimes: number
  /** Entries of the target iomap: maximum number of buffers of the peer that are mapped at a time. */
  iomapSize: number
  /** True if the extensions of version 1 are offered to a peer that offers them too. */
  extensions: boolean
  /** True if sockets that connect to the same address share a queue pair. */
  share: boolean
}

export const defaultOptions: Readonly<StreamOptions> = {
  sqSize: 384,
  rqSize: 384,
  inlineBytes: 64,
  sendBufferBytes: 1 << 18,
  receiveBufferBytes: 1 << 17,
  receiveBufferTimes: 4,
  iomapSize: 0,
  extensions: true,
  share: false,
}

/** Send queue entries that data must not take. */
export const controlReserve = 4
const minQueueSize = 16
const maxQueueSize = 0xfffe
const minBufferBytes = 4096
const maxBufferBytes: number = 1 << 28
const maxIomapSize: number = 127 << 8
/** Entries of the target SGL of this end: maximum number of buffers that a peer may offer at a time. librdmacm has two. */
export const targetEntries = 16
/** Maximum number of streams of one trunk. */
export const defaultMaxStreams: number = 1 << 14
/** Maximum number of addresses that a datagram socket remembers. */
export const defaultMaxPeers = 4096
/** Microseconds of polling before a sleep, as in librdmacm. */
export const defaultPollingUs = 10

const bounded = (value: number, min: number, max: number): number => Math.min(max, Math.max(min, Math.trunc(value)))

/** Returns the nearest values that are possible. */
export function clampOptions(options: StreamOptions): StreamOptions {
  return {
    sqSize: bounded(options.sqSize, minQueueSize, maxQueueSize),
    rqSize: bounded(options.rqSize, minQueueSize, maxQueueSize),
    inlineBytes: bounded(options.inlineBytes, 0, 512),
    sendBufferBytes: bounded(options.sendBufferBytes, minBufferBytes, maxBufferBytes),
    receiveBufferBytes: bounded(options.receiveBufferBytes, minBufferBytes, maxBufferBytes),
    receiveBufferTimes: options.extensions ? bounded(options.receiveBufferTimes, 1, 128) : 1,
    iomapSize: bounded(options.iomapSize, 0, maxIomapSize),
    extensions: options.extensions,
    share: options.share && options.extensions,
  }
}

/** Part of the device's memory that buffers of default size may take before later ones are made smaller. */
const memoryShare = 1 / 32

/**
 * Returns the sizes for one more connection when there are `count` already, in `deviceBytes` of memory: the defaults, and smaller sizes
 * when there are very many, so that ten thousand fit. Options that the program has `chosen` stay.
 */
export function optionsFor(
  options: StreamOptions,
  chosen: ReadonlySet<keyof StreamOptions>,
  count: number,
  deviceBytes: number,
): StreamOptions {
  const { sendBufferBytes, receiveBufferBytes, receiveBufferTimes, sqSize, rqSize } = defaultOptions
  const each = (deviceBytes * memoryShare) / (2 * (count + 1))
  let halvings = 0
  while (receiveBufferBytes >> halvings > each && receiveBufferBytes >> (halvings + 1) >= minBufferBytes) halvings++
  const less: Partial<StreamOptions> = {
    sendBufferBytes: sendBufferBytes >> halvings,
    receiveBufferBytes: receiveBufferBytes >> halvings,
    sqSize: Math.max(minQueueSize, sqSize >> halvings),
    rqSize: Math.max(minQueueSize, rqSize >> halvings),
    receiveBufferTimes: each >= receiveBufferBytes * receiveBufferTimes ? receiveBufferTimes : 1,
  }
  if (chosen.has('receiveBufferBytes')) less.receiveBufferTimes = 1
  for (const name of chosen) delete less[name]
  return { ...options, ...less }
}
