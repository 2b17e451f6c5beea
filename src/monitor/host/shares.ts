/** Capture in a file, watched by several threads: each reads all of it, and follows the connections of some pairs of hosts. */
import type { EventEmitter } from 'node:events'
import type { CaptureFormat, Damage } from '../../capture/index.ts'
import { entryModule, startThread } from '../../memory/index.ts'
import type { DecodeAs } from '../../trace/index.ts'
import { decodeWindow, type MonitorConfig, type Window } from '../index.ts'
import { all } from './all.ts'

export interface ShareData {
  file: string
  config: MonitorConfig
  agent: string
  share: number
  shares: number
  decodeAs: [number, DecodeAs extends ReadonlyMap<number, infer U> ? U : never][]
}

export type ShareMessage =
  | { kind: 'window'; bytes: Uint8Array }
  | { kind: 'end'; format: CaptureFormat | undefined; damage: Damage[]; damageCount: number }
  | { kind: 'failed'; message: string }

/** Reply to a thread: it may continue, with another plan from now on if one is sent; or it is to end. */
export type ShareReply = 'taken' | MonitorConfig | 'stop'

export interface SharesOptions extends Omit<ShareData, 'share' | 'config' | 'decodeAs'> {
  decodeAs?: DecodeAs
  signal: AbortSignal
  /** Returns the plan of windows, another object when it has changed. */
  config(): MonitorConfig
  /** Takes a window of a share. The share continues when the promise resolves. */
  onWindow(share: number, window: Window): Promise<void>
  onEnd(share: number): void
}

/** Part of a worker that is used. */
interface Thread extends Pick<EventEmitter, 'on'> {
  postMessage(reply: ShareReply): void
  terminate(): Promise<number>
}

function startShare(workerData: ShareData): Thread {
  return startThread(entryModule(import.meta.url, './share-thread'), { workerData })
}

/** Reads the file to its end, once in each thread. Throws the error of a thread; the other threads end then, too. */
export async function watchShares(
  options: SharesOptions,
  start: (data: ShareData) => Thread = startShare,
): Promise<{ format: CaptureFormat | undefined; damage: Damage[]; damageCount: number }> {
  const shares = Array.from({ length: options.shares }, (_, share) => share)
  const ends = await all(
    options.signal,
    shares.map((share) => (signal) => watchShare(share, { ...options, signal }, start)),
  )
  return ends[0]!
}

async function watchShare(
  share: number,
  { onWindow, onEnd, signal, config, decodeAs = new Map(), ...data }: SharesOptions,
  start: (data: ShareData) => Thread,
): Promise<Extract<ShareMessage, { kind: 'end' }>> {
  let told = config()
  const thread = start({ ...data, config: told, share, decodeAs: [...decodeAs] })
  const reply = (message: ShareReply): void => thread.postMessage(message)
  const stop = (): void => reply('stop')
  const go = (): void => {
    const before = told
    told = config()
    reply(told === before ? 'taken' : told)
  }
  signal.addEventListener('abort', stop, { once: true })
  const take = async (bytes: Uint8Array): Promise<void> => {
    await onWindow(share, decodeWindow(bytes))
    go()
  }
  try {
    return await new Promise((resolve, reject) => {
      thread.on('error', reject)
      thread.on('exit', () => reject(new Error('a thread of the monitor has ended')))
      thread.on('message', (message: ShareMessage) => {
        if (message.kind === 'window') take(message.bytes).catch(reject)
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
