// The other side of an example, and the channel to it that is not RDMA: QPs need one to find each other.
// Usually the other side is a worker thread that runs the same file, reached by a MessagePort. With --listen and
// --connect it is another process, reached by a TCP socket as programs on two hosts would do.
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

/** Options of examples that can run as two processes. */
export const twoProcesses = {
  listen: { default: 0, min: 1, max: 65535, value: 'PORT', help: 'be the server of another process, on this TCP port' },
  connect: { default: 0, min: 1, max: 65535, value: 'PORT', help: 'be the client of the process that listens there' },
  segment: {
    default: 'tutorial',
    value: 'NAME',
    pattern: /^[A-Za-z0-9._-]{1,64}$/,
    kind: '1 to 64 letters, digits, dots, dashes or underscores',
    help: 'memory that both processes map: their adapters are shm:NAME and shm:NAME/1',
  },
}

/** Messages to and from the other side, in order. */
class Channel {
  #waiting = []
  #arrived = []
  #failed = null

  constructor(post, close) {
    this.post = post
    this.close = close
  }

  take(message) {
    const next = this.#waiting.shift()
    if (next) next.resolve(message)
    else this.#arrived.push(message)
  }

  fail(error) {
    this.#failed = error
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  receive() {
    return new Promise((resolve, reject) => {
      if (this.#arrived.length > 0) resolve(this.#arrived.shift())
      else if (this.#failed) reject(this.#failed)
      else this.#waiting.push({ resolve, reject })
    })
  }

  /** Sends `mine` and waits for the same from the other side; also the barrier at which both sides meet. */
  exchange(mine) {
    this.post(mine)
    return this.receive()
  }
}

/** Starts a thread that runs the module `url`; it gets `data` as its options. */
export function startPeer(url, data) {
  const worker = new Worker(new URL(url), { workerData: data })
  const ended = once(worker, 'exit').catch(() => {})
  const channel = new Channel(
    (message) => worker.postMessage(message),
    () => ended,
  )
  worker.on('message', (message) => channel.take(message))
  worker.on('error', (error) => channel.fail(error))
  worker.on('exit', () => channel.fail(new Error('the other thread has ended')))
  return channel
}

/** In such a thread: the channel to the thread that started it. */
export function starter() {
  const channel = new Channel(
    (message) => parentPort.postMessage(message),
    () => parentPort.close(),
  )
  parentPort.on('message', (message) => channel.take(message))
  return channel
}

async function throughSocket(options) {
  let socket
  if (options.listen) {
    const server = createServer().listen(options.listen, '127.0.0.1')
    await once(server, 'listening')
    console.error(`waiting for a client on port ${options.listen}`)
    ;[socket] = await once(server, 'connection')
    server.close()
  } else {
    for (let tries = 1; !socket; tries++) {
      const attempt = connect(options.connect, '127.0.0.1')
      try {
        await once(attempt, 'connect')
        socket = attempt
      } catch (error) {
        if (tries === 50) throw error // the server may be starting
        await setTimeout(100)
      }
    }
  }
  // One line of JSON per message; bytes (a GID) as text.
  const pack = (_, value) => (value instanceof Uint8Array ? { bytes: [...value] } : value)
  const unpack = (_, value) => (value?.bytes ? Uint8Array.from(value.bytes) : value)
  const channel = new Channel(
    (message) => socket.write(`${JSON.stringify(message, pack)}\n`),
    () => socket.end(),
  )
  createInterface({ input: socket }).on('line', (line) => channel.take(JSON.parse(line, unpack)))
  socket.on('error', (error) => channel.fail(error))
  socket.on('close', () => channel.fail(new Error('the other process has closed the connection')))
  return channel
}

/** Runs `main` to its end; when it fails, says why and ends this program or thread with exit code 1. */
export async function run(main) {
  try {
    await main()
  } catch (error) {
    // Written at once: the main thread may be in a busy loop, and then writes nothing for a worker.
    writeSync(2, `${isMainThread ? '' : 'the other side '}failed: ${error.message}\n`)
    process.exit(1)
  }
}

/** Runs `client` here and `server` on the other side, each with (channel, options, name of its adapter). */
export async function runPair(url, options, { client, server }) {
  await run(async () => {
    let channel
    if (!isMainThread) {
      channel = starter()
      await server(channel, options, 'shm1')
    } else if (options.listen || options.connect) {
      channel = await throughSocket(options)
      if (options.listen) await server(channel, options, `shm:${options.segment}/1`)
      else await client(channel, options, `shm:${options.segment}`)
    } else {
      channel = startPeer(url, options)
      await client(channel, options, 'shm0')
    }
    await channel.close()
  })
}
