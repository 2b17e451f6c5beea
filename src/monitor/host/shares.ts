/** A capture in a file, watched by several threads: each reads all of it, and follows the connections of some pairs of hosts. */
import type { CaptureFormat, Damage } from '../../capture/index.ts'
import { entryModule, startThread } from '../../memory/index.ts'
import type { DecodeAs } from '../../trace/index.ts'
import { decodeWindow, type MonitorConfig, type Window } from '../index.ts'

export interface ShareData {
  file: string
  config: MonitorConfig
  agent: string
  run: string
  share: number
  shares: number
  decodeAs: [number, DecodeAs extends ReadonlyMap<number, infer U> ? U : never][]
}

export type ShareMessage =
  | { kind: 'window'; bytes: Uint8Array }
  | { kind: 'end'; format: CaptureFormat | undefined; damage: Damage[]; damageCount: number }
  | { kind: 'failed'; message: string }

export interface SharesOptions extends Omit<ShareData, 'share' | 'run' | 'decodeAs'> {
  decodeAs?: DecodeAs
  signal: AbortSignal
  /** A window of a share. The share goes on when the promise resolves. */
  onWindow(share: number, window: Window): Promise<void>
  onEnd(share: number): void
}

/** Reads the file to its end, once in each thread. Throws what a thread says. */
export async function watchShares(
  options: SharesOptions,
): Promise<{ format: CaptureFormat | undefined; damage: Damage[]; damageCount: number }> {
  const ends = await Promise.all(Array.from({ length: options.shares }, (_, share) => watchShare(share, options)))
  return ends[0]!
}

async function watchShare(
  share: number,
  { onWindow, onEnd, signal, decodeAs = new Map(), ...data }: SharesOptions,
): Promise<Extract<ShareMessage, { kind: 'end' }>> {
  const run = crypto.randomUUID()
  const workerData: ShareData = { ...data, share, run, decodeAs: [...decodeAs] }
  const thread = startThread(entryModule(import.meta.url, './share-thread'), { workerData })
  const stop = (): void => thread.postMessage('stop')
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await new Promise((resolve, reject) => {
      thread.on('error', reject)
      thread.on('exit', () => reject(new Error('a thread of the monitor has ended')))
      thread.on('message', (message: ShareMessage) => {
        if (message.kind === 'window')
          onWindow(share, decodeWindow(message.bytes)).then(() => thread.postMessage('taken'), reject)
        else if (message.kind === 'failed') reject(new Error(message.message))
        else resolve(message)
      })
      if (signal.aborted) stop()
    })
  } finally {
    signal.removeEventListener('abort', stop)
    onEnd(share)
    await thread.terminate()
  }
}
