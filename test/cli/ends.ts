/** Two processes of the command line that talk to each other: a server, and a client that waits for it. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { nativeAvailable } from '../../src/index.ts'
import { type Outcome, outcome, start } from './run.ts'

/** Segments between processes need native calls. */
export const canShare: boolean = nativeAvailable

let count = 0

/** A segment of its own for each run. */
export function segment(): string {
  return `shm:ends-${process.pid}-${++count}`
}

export async function freePort(): Promise<string> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return String(port)
}

export interface Ends {
  server: Outcome
  client: Outcome
}

/** `words`: the command, with the options of both; then those of each. */
export async function runEnds(words: string[], server: string[] = [], client: string[] = []): Promise<Ends> {
  const common = ['-d', segment(), '-p', await freePort()]
  const listening = start([...words, ...common, ...server])
  const connecting = start([...words, ...common, '--wait', '60', ...client, 'localhost'])
  const [theirs, ours] = await Promise.all([outcome(listening), outcome(connecting)])
  return { server: theirs, client: ours }
}
