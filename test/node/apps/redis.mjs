// A Redis client (ioredis) and a relay: a small server of Redis's protocol that keeps keys and passes messages on.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { Redis } from 'ioredis'
import { main, pattern, show } from './main.mjs'

/** Takes commands (arrays of bulk strings) out of what has come; answers are bytes of the protocol. */
class Session {
  constructor(socket, relay) {
    this.socket = socket
    this.relay = relay
    this.rest = Buffer.alloc(0)
    socket.on('data', (chunk) => this.take(chunk))
    socket.on('close', () => relay.leave(this))
    socket.on('error', () => {})
  }

  take(chunk) {
    this.rest = Buffer.concat([this.rest, chunk])
    for (;;) {
      const command = this.next()
      if (!command) return
      this.socket.write(this.relay.run(this, command))
    }
  }

  next() {
    let at = 0
    const line = () => {
      const end = this.rest.indexOf('\r\n', at)
      if (end < 0) return undefined
      const text = this.rest.toString('latin1', at + 1, end)
      at = end + 2
      return Number(text)
    }
    const count = line()
    if (count === undefined) return undefined
    const words = []
    for (let i = 0; i < count; i++) {
      const length = line()
      if (length === undefined || this.rest.length < at + length + 2) return undefined
      words.push(this.rest.subarray(at, at + length))
      at += length + 2
    }
    this.rest = this.rest.subarray(at)
    return words
  }
}

const bulk = (data) =>
  data === undefined
    ? '$-1\r\n'
    : Buffer.concat([Buffer.from(`$${Buffer.byteLength(data)}\r\n`), Buffer.from(data), Buffer.from('\r\n')])
const array = (...items) =>
  Buffer.concat([Buffer.from(`*${items.length}\r\n`), ...items.map((item) => Buffer.from(item))])

class Relay {
  keys = new Map()
  channels = new Map()

  leave(session) {
    for (const members of this.channels.values()) members.delete(session)
  }

  run(session, [name, key, value]) {
    switch (name.toString().toLowerCase()) {
      case 'info':
        return bulk('redis_version:7.0.0\r\nloading:0\r\n')
      case 'set':
        this.keys.set(String(key), Buffer.from(value))
        return '+OK\r\n'
      case 'get':
        return bulk(this.keys.get(String(key)))
      case 'incr': {
        const n = Number(this.keys.get(String(key)) ?? 0) + 1
        this.keys.set(String(key), Buffer.from(String(n)))
        return `:${n}\r\n`
      }
      case 'subscribe': {
        const members = this.channels.get(String(key)) ?? new Set()
        this.channels.set(String(key), members.add(session))
        return array(bulk('subscribe'), bulk(key), ':1\r\n')
      }
      case 'publish': {
        const members = this.channels.get(String(key)) ?? new Set()
        for (const member of members) member.socket.write(array(bulk('message'), bulk(key), bulk(value)))
        return `:${members.size}\r\n`
      }
      case 'ping':
        return '+PONG\r\n'
      case 'quit':
        session.socket.end('+OK\r\n')
        return ''
      case 'client':
        return '+OK\r\n'
      default:
        return `-ERR unknown command '${name}'\r\n`
    }
  }
}

async function serve(host) {
  const relay = new Relay()
  const server = createServer((socket) => new Session(socket, relay))
  server.listen(0, host)
  await once(server, 'listening')
  return server
}

async function use(port, host) {
  const redis = new Redis(port, host)
  show(await redis.ping(), await redis.set('name', 'verbena'), await redis.get('name'), await redis.get('none'))
  // More than a socket takes at once. The parser's buffer shrinks for two seconds after 2 MiB, and keeps the process.
  const big = pattern(150_000)
  await redis.set('big', big)
  show('150 kB', big.equals(await redis.getBuffer('big')))
  const pipeline = redis.pipeline()
  for (let i = 0; i < 500; i++) pipeline.incr('count')
  const results = await pipeline.exec()
  show('pipeline', results.length, results.at(-1)[1])
  const listener = redis.duplicate()
  await listener.subscribe('news')
  const heard = once(listener, 'message')
  show('heard by', await redis.publish('news', 'it works'))
  show('news', ...(await heard))
  show(await redis.call('nonsense').catch((error) => error.message))
  await listener.quit()
  await redis.quit()
}

void main(serve, use)
