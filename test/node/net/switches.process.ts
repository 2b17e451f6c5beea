/**
 * For switches.slow.test.ts: ends of a connection on one core, where nobody polls. switches.process.ts ROLE DEVICE HOST [PORT]
 *
 *     server    answers; says its port
 *     client    asks the one at PORT
 *     both      the one asks the other, in one thread
 *     threads   the same, the server in a thread of its own
 *
 * DEVICE `tcp`: the kernel's TCP. On the message `{ ask: N }` a client makes so many requests of 8 bytes, one after the other. Each message is
 * answered with the switches of this process's threads so far: those because a thread waited, and those because another one came first.
 */
import { once } from 'node:events'
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { currentCores, pinThread } from '../../../src/memory/index.ts'
import * as net from '../../../src/net.ts'

const [role, device, host, port] = (isMainThread ? process.argv.slice(2) : workerData) as string[]
if (isMainThread && !pinThread([currentCores()[0]!])) throw new Error('this thread cannot be pinned to a core')

type Server = ReturnType<typeof createTcpServer>

async function serve(): Promise<number> {
  const answer = (socket: Socket): void => {
    socket.setNoDelay(true)
    socket.on('data', (bytes) => socket.write(bytes)).on('error', () => {})
  }
  const server = (
    device === 'tcp' ? createTcpServer(answer) : net.createServer({ device: device! }, answer as never)
  ) as Server
  server.listen(0, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function ask(socket: Socket, requests: number): Promise<void> {
  const bytes = Buffer.alloc(8)
  for (let i = 0; i < requests; i++) {
    socket.write(bytes)
    await once(socket, 'data')
  }
}

async function client(at: number, by: string): Promise<Socket> {
  const socket =
    by === 'tcp' ? connectTcp(at, host) : (net.connect({ device: by, host: host!, port: at }) as never as Socket)
  await once(socket, 'connect')
  socket.setNoDelay(true)
  return socket
}

async function thread(): Promise<number> {
  const worker = new Worker(new URL(import.meta.url), { workerData: ['server', device, host] })
  const [at] = (await once(worker, 'message')) as [number]
  return at
}

if (!isMainThread) parentPort!.postMessage(await serve())
else if (role === 'server') process.send!({ port: await serve() })
else {
  const at = role === 'client' ? Number(port) : await (role === 'threads' ? thread() : serve())
  const socket = await client(at, device!)
  process.on('message', async ({ ask: requests }: { ask: number }) => {
    await ask(socket, requests)
    tell()
  })
  process.send!({ port: at })
}

function tell(): void {
  const { voluntaryContextSwitches: waited, involuntaryContextSwitches: putAside } = process.resourceUsage()
  process.send!({ waited, putAside })
}
if (isMainThread) {
  if (role === 'server') process.on('message', tell)
  process.on('disconnect', () => process.exit())
}
