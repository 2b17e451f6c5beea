/** Two processes of a program of the RDMA CM, on each kind of device. */
import { once } from 'node:events'
import { canShare, segment } from '../../cli/ends.ts'
import { type Outcome, outcome, type Program, start as startProgram } from '../../cli/run.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'

export interface Place {
  name: string
  /** Options that choose the device of each end, new for each test. */
  devices(): { server: string; client: string }
  /** The server's address. */
  address: string
}

export const places: Place[] = [
  ...(canShare
    ? [
        {
          name: 'shm',
          devices: () => {
            const device = segment()
            return { server: device, client: device }
          },
          address: '127.0.0.1',
        },
      ]
    : []),
  {
    name: 'roce',
    devices: () => ({ server: loopbackDevice(1), client: loopbackDevice(2) }),
    address: loopbackAddress(1),
  },
]

const started = new Set<Program>()

/** A process that does not outlive its test. */
export function start(args: string[]): Program {
  const child = startProgram(args)
  started.add(child)
  child.once('close', () => started.delete(child))
  return child
}

/** After a test that failed, its processes may still be there, and have its addresses. */
export async function killLeftovers(): Promise<void> {
  const left = [...started]
  const ended = left.map(async (child) => await once(child, 'close'))
  for (const child of left) child.kill('SIGKILL')
  await Promise.all(ended)
}

/** Long enough for a loaded machine; nothing waits for it that goes well. */
export const patience: string[] = ['--wait', '60']

export interface Ends {
  server: Outcome
  client: Outcome
}

/** A server, and a client that waits for it. */
export async function runEnds(place: Place, server: string[], client: string[]): Promise<Ends> {
  const devices = place.devices()
  const serving = start([...server, '--device', devices.server])
  const asking = start([...client, '--device', devices.client, ...patience])
  const [theirs, ours] = await Promise.all([outcome(serving), outcome(asking)])
  return { server: theirs, client: ours }
}

/** Resolves when the process has written something that matches to either of its outputs. */
export async function says(child: Program, what: RegExp): Promise<void> {
  let text = ''
  await new Promise<void>((resolve, reject) => {
    const look = (chunk: Buffer): void => {
      text += chunk.toString()
      if (what.test(text)) resolve()
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
    child.once('close', () => reject(new Error(`it ended without ${what}: ${text}`)))
  })
}
