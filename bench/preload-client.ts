/**
 * An ordinary client of HTTP and TCP, which knows nothing of RDMA: HOST PORT TASK ARGUMENT BEFORE DURING REQUESTS. Prints its result as JSON.
 *
 *     load CONNECTIONS   requests per second, one outstanding for each connection, which is kept; after BEFORE milliseconds of load
 *                        in the following DURING milliseconds; those before last until REQUESTS were answered, 0 by default
 *     sparse REQUESTS    median milliseconds of a request that comes 100 ms after the last one, on one connection
 *     connect COUNT      median milliseconds of connecting, one connection after the other, each closed before the next; after
 *                        BEFORE others
 *     at-once COUNT      milliseconds until so many connections are made that are begun at once
 *     come-and-go RATE   so many connections a second, each closed as soon as it is made; when it has begun it says so, and goes on until
 *                        its standard input ends
 *     idle CONNECTIONS   opens so many; when it has said so, they stay until its standard input ends
 */
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { createConnection, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { medianOf } from '../src/stats/index.ts'

const [host, portText, task, ...numbers] = process.argv.slice(2) as [string, string, string, string, string]
const port = Number(portText)
const [count, before, during, requests = 0] = numbers.map(Number) as [number, number, number, number?]
/** The longest time in which so many requests are to be answered. */
const longestMs = 40_000
const sparseMs = 100
const tickMs = 10

function ask(agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get({ host, port, agent }, (response) => {
      response.on('error', reject).on('end', resolve).resume()
    })
    request.on('error', reject)
  })
}

async function load(): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: count })
  let answered = 0
  let over = false
  const one = async (): Promise<void> => {
    while (!over) {
      await ask(agent)
      answered++
    }
  }
  const all = Promise.all(Array.from({ length: count }, one))
  const warm = async (): Promise<void> => {
    const until = performance.now() + longestMs
    while (answered < requests && performance.now() < until) await pause(tickMs)
  }
  await Promise.race([Promise.all([pause(before), warm()]), all])
  const first = answered
  const began = performance.now()
  await Promise.race([pause(during), all])
  const perSecond = ((answered - first) * 1000) / (performance.now() - began)
  over = true
  await all
  return perSecond
}

async function sparse(): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    await pause(sparseMs)
    const began = performance.now()
    await ask(agent)
    times.push(performance.now() - began)
  }
  return medianOf(times)
}

async function connected(): Promise<Socket> {
  const socket = createConnection(port, host)
  await once(socket, 'connect')
  return socket
}

async function connect(): Promise<number> {
  const times: number[] = []
  for (let i = -before; i < count; i++) {
    const began = performance.now()
    const socket = await connected()
    if (i >= 0) times.push(performance.now() - began)
    socket.destroy()
    await once(socket, 'close')
  }
  return medianOf(times)
}

async function idle(): Promise<number> {
  const sockets: Socket[] = []
  while (sockets.length < count) sockets.push(await connected())
  process.stdin.resume().on('end', () => process.exit(0))
  return sockets.length
}

async function atOnce(): Promise<number> {
  // What the first connection of a process costs is another row.
  const first = await connected()
  const began = performance.now()
  await Promise.all(Array.from({ length: count }, connected))
  const ms = performance.now() - began
  first.destroy()
  return ms
}

async function comeAndGo(): Promise<number> {
  const begun = performance.now()
  let made = 0
  let refused = 0
  setInterval(() => {
    for (; made < ((performance.now() - begun) * count) / 1000; made++)
      connected().then(
        (socket) => socket.destroy(),
        () => refused++,
      )
  }, tickMs)
  process.stdin.resume().on('end', () => process.exit(refused > 0 ? 1 : 0))
  return count
}

const tasks = { load, sparse, connect, 'at-once': atOnce, 'come-and-go': comeAndGo, idle }
console.log(JSON.stringify(await tasks[task as keyof typeof tasks]()))
if (task !== 'idle' && task !== 'come-and-go') process.exit(0)
