/** Calls to the thread that owns the adapter of one end. */
import { type Peer, PeerError } from './peer.ts'
import { UsageError } from './usage.ts'
import { EndError } from './wire.ts'

/** Calls the data thread; misuse that it reports becomes a UsageError here. */
export async function callThread<T>(thread: Peer, name: string, argument: unknown, timeoutMs: number): Promise<T> {
  try {
    return await thread.call<T>(name, argument, timeoutMs)
  } catch (error) {
    const thrown = error instanceof PeerError ? error.thrown : null
    const { message } = error as Error
    const colon = message.indexOf(': ')
    if (thrown?.name === 'UsageError') throw new UsageError(message.slice(0, colon), message.slice(colon + 2))
    if (thrown?.code !== undefined) throw new EndError(thrown.code, message)
    throw error
  }
}
