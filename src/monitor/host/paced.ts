/**
 * Reading of a capture at the pace at which its windows are taken. A source delivers packets in chunks, each of which may end a window, and
 * a window is a thousand times as large as a packet: so while there is no room for windows, packets of the chunk are copied and wait.
 */
import { CapturedPacket, type CaptureSource, type ReadOptions } from '../../capture/index.ts'

export interface Pace {
  signal: AbortSignal
  /** True if windows have to be taken first (default: never). Called before each packet. */
  isFull?(): boolean
  /** Resolves when they are taken, or the signal is aborted. */
  room?(): Promise<void>
}

/** Reads to the end, or until the signal is aborted. Throws the error of the system if there is nothing to read. */
export async function readPaced(
  source: CaptureSource,
  onPacket: (packet: CapturedPacket) => void,
  { isFull = () => false, room, onProgress, ...options }: Pace & Omit<ReadOptions, 'signal'>,
): ReturnType<CaptureSource['read']> {
  const waiting: CapturedPacket[] = []
  const catchUp = async (): Promise<void> => {
    // More packets can come while it waits.
    for (let at = 0; at < waiting.length && !options.signal.aborted; at++) {
      if (isFull()) await room?.()
      if (!options.signal.aborted) onPacket(waiting[at]!)
    }
    waiting.length = 0
  }
  const parser = await source.read(
    (packet) => {
      if (waiting.length > 0 || isFull()) waiting.push(copyOf(packet))
      else onPacket(packet)
      return undefined
    },
    {
      ...options,
      onProgress: async (offset) => {
        await catchUp()
        await onProgress?.(offset)
      },
    },
  )
  await catchUp()
  return parser
}

function copyOf(packet: CapturedPacket): CapturedPacket {
  const copy = Object.assign(new CapturedPacket(), packet)
  copy.bytes = packet.bytes.slice(packet.offset, packet.offset + packet.length)
  copy.view = new DataView(copy.bytes.buffer)
  copy.offset = 0
  return copy
}
