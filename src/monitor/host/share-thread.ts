/** A thread that reads a file and takes one share of its packets: windows to the main thread, one at a time. */
import { parentPort } from 'node:worker_threads'
import { fileSource } from '../../files/index.ts'
import { nativeCrc32, threadData } from '../../memory/index.ts'
import { useCrc32 } from '../../trace/index.ts'
import { encodeWindow, Observer, Shares } from '../index.ts'
import type { ShareData, ShareMessage } from './shares.ts'

const { file, config, agent, run, share, shares, decodeAs } = threadData<ShareData>()
const trace = { decodeAs: new Map(decodeAs) }
const stop = new AbortController()
let waiting = 0
let wake = (): void => {}

const post = (message: ShareMessage, transfer: ArrayBuffer[] = []): void => parentPort!.postMessage(message, transfer)

parentPort!.on('message', (message: 'taken' | 'stop') => {
  if (message === 'stop') stop.abort()
  else waiting--
  wake()
})

useCrc32(nativeCrc32())
const observer = new Observer({
  ...{ config, agent, run, trace },
  onWindow: (window) => {
    waiting++
    const bytes = encodeWindow(window)
    post({ kind: 'window', bytes }, [bytes.buffer as ArrayBuffer])
  },
})
const mine = new Shares(shares, trace)
try {
  const { format, damage } = await fileSource(file).read(
    (packet) => {
      if (mine.of(packet) === share) observer.packet(packet)
      return undefined
    },
    {
      signal: stop.signal,
      onProgress: async () => {
        while (waiting > 0 && !stop.signal.aborted)
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      },
    },
  )
  observer.finish()
  post({ kind: 'end', format, damage: [...damage.list], damageCount: damage.count })
} catch (error) {
  post({ kind: 'failed', message: (error as Error).message })
}
parentPort!.close()
