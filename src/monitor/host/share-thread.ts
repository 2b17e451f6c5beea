/** Thread that reads a file and takes one share of its packets; it sends windows to the main thread, which may be a few windows behind. */
import { parentPort } from 'node:worker_threads'
import type { CapturedPacket } from '../../capture/index.ts'
import { fileSource } from '../../files/index.ts'
import { nativeCrc32, threadData } from '../../memory/index.ts'
import { useCrc32 } from '../../trace/index.ts'
import { encodeWindow, type MonitorConfig, Observer, Shares } from '../index.ts'
import { readPaced } from './paced.ts'
import type { ShareData, ShareMessage, ShareReply } from './shares.ts'

const { file, config, agent, share, shares, decodeAs } = threadData<ShareData>()
const trace = { decodeAs: new Map(decodeAs) }
const stop = new AbortController()
/** Maximum number of windows that the main thread has not taken: it merges one and answers from it while the next one is filled. */
const mostWaiting = 3
let waiting = 0
let wake = (): void => {}
/** New plan, which windows must follow from now on. */
let changed: MonitorConfig | undefined

const post = (message: ShareMessage, transfer: ArrayBuffer[] = []): void => parentPort!.postMessage(message, transfer)

parentPort!.on('message', (message: ShareReply) => {
  if (message === 'stop') stop.abort()
  else {
    waiting--
    if (message !== 'taken') changed = message
  }
  wake()
})

useCrc32(nativeCrc32())
const observerOf = (config: MonitorConfig): Observer =>
  new Observer({
    ...{ config, agent, run: crypto.randomUUID(), trace },
    onWindow: (window) => {
      waiting++
      const bytes = encodeWindow(window)
      post({ kind: 'window', bytes }, [bytes.buffer as ArrayBuffer])
    },
  })
let observer = observerOf(config)
const mine = new Shares(shares, trace)
try {
  const onPacket = (packet: CapturedPacket): void => {
    if (changed !== undefined) {
      const config = changed
      changed = undefined
      observer.finish()
      observer = observerOf(config)
    }
    if (mine.of(packet) === share) observer.packet(packet)
  }
  const { format, damage } = await readPaced(fileSource(file), onPacket, {
    signal: stop.signal,
    isFull: () => waiting >= mostWaiting,
    room: async () => {
      while (waiting >= mostWaiting && !stop.signal.aborted)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    },
  })
  observer.finish()
  post({ kind: 'end', format, damage: [...damage.list], damageCount: damage.count })
} catch (error) {
  post({ kind: 'failed', message: (error as Error).message })
}
parentPort!.close()
