/**
 * How fast rsockets are between two threads, with the calls of rsocket.h: round trips of one byte, and a stream in pieces
 * of several sizes. Beside it kernel TCP can be measured with `iperf3` or `sockperf`.
 *
 *     npm run build && node scripts/rsocket-speed.mjs [--device shm0] [--iters 500000] [--mib 1024] [--sizes 1,64,…]
 *         [--rcvbuf BYTES] [--v1] [--direct] [--polling-us N] [--json]
 */
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import * as v from '../dist/index.js'

const { values: options } = isMainThread
  ? parseArgs({
      options: {
        device: { type: 'string', default: 'shm0' },
        address: { type: 'string', default: '127.0.0.1' },
        iters: { type: 'string', default: '500000' },
        mib: { type: 'string', default: '1024' },
        sizes: { type: 'string', default: '1,64,1024,4096,16384,65536,262144,1048576' },
        rcvbuf: { type: 'string' },
        v1: { type: 'boolean', default: false },
        direct: { type: 'boolean', default: false },
        'polling-us': { type: 'string', default: '10' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  : { values: workerData.options }

if (options.help) {
  console.log(
    'usage: node scripts/rsocket-speed.mjs [--device shm0] [--address 127.0.0.1] [--iters 500000] [--mib 1024]\n' +
      '         [--sizes 1,64,1024,…] [--rcvbuf BYTES] [--v1] [--direct] [--polling-us N] [--json]\n\n' +
      'Round trips of one byte and a stream between two threads over rsockets. --v1 uses the protocol of librdmacm only,\n' +
      '--direct sends from and receives into memory of the device.',
  )
  process.exit(0)
}

const sizes = options.sizes.split(',').map(Number)
const iters = Number(options.iters)
const piecesOf = (size) => Math.max(1, Math.floor(Math.min(Number(options.mib) * 2 ** 20, size * 3e6) / size))

function makeSocket() {
  const s = v.rsocket(v.AF_INET, v.SOCK_STREAM, 0, { device: options.device })
  if (options.rcvbuf) s.setsockopt(v.SOL_SOCKET, v.SO_RCVBUF, Number(options.rcvbuf) / 2)
  s.setsockopt(v.SOL_RDMA, v.RDMA_EXTENSIONS, options.v1 ? 0 : 1)
  s.setsockopt(v.SOL_RDMA, v.RDMA_POLLING_TIME, Number(options['polling-us']))
  return s
}

function check(result, call) {
  if (typeof result === 'number' && result < 0)
    throw new Error(`${call}: ${v.errnoName(result)}: ${v.errnoText(result)}`)
  return result
}

/** Receives all of `buffer`. */
function receive(s, buffer) {
  if (check(s.recv(buffer, v.MSG_WAITALL), 'recv') !== buffer.length) throw new Error('the peer is gone')
}

const one = new Uint8Array(1)

function serve(s) {
  for (let i = 0; i < 2 * iters; i++) {
    receive(s, one)
    s.send(one)
  }
  const buffer = options.direct ? s.alloc(1 << 16) : new Uint8Array(1 << 16)
  for (const size of sizes) {
    for (let left = size * piecesOf(size); left > 0; )
      left -= check(s.recv(left < buffer.length ? buffer.subarray(0, left) : buffer), 'recv')
    s.send(one)
  }
}

if (!isMainThread) {
  const listener = makeSocket()
  check(listener.bind({ address: options.address, port: 0 }), 'bind')
  check(listener.listen(), 'listen')
  parentPort.postMessage(listener.getsockname())
  const s = check(listener.accept(), 'accept')
  serve(s)
  check(s.recv(one), 'recv')
  s.close()
  listener.close()
} else {
  const worker = new Worker(new URL(import.meta.url), { workerData: { options } })
  worker.on('error', (error) => {
    console.error(error)
    process.exit(1)
  })
  worker.once('message', (name) => {
    const s = makeSocket()
    check(s.connect(name), 'connect')
    for (let i = 0; i < iters; i++) {
      s.send(one)
      receive(s, one)
    }
    let began = v.nowNs()
    for (let i = 0; i < iters; i++) {
      s.send(one)
      receive(s, one)
    }
    const roundTripNs = (v.nowNs() - began) / iters
    const results = []
    if (!options.json) console.log(`${options.device}: round trip of 1 byte ${(roundTripNs / 1000).toFixed(2)} µs`)
    for (const size of sizes) {
      const piece = options.direct ? s.alloc(size) : new Uint8Array(size)
      const count = piecesOf(size)
      const before = s.counters()
      began = v.nowNs()
      for (let i = 0; i < count; i++) check(s.send(piece), 'send')
      receive(s, one)
      const ns = v.nowNs() - began
      const after = s.counters()
      const row = {
        bytes: size,
        gbitPerSecond: (count * size * 8) / ns,
        nsPerSend: ns / count,
        sleeps: after.sleeps - before.sleeps,
      }
      results.push(row)
      if (!options.json)
        console.log(
          `${String(size).padStart(8)} bytes  ${row.gbitPerSecond.toFixed(1).padStart(6)} Gbit/s  ${row.nsPerSend.toFixed(0).padStart(8)} ns a send  ${row.sleeps} sleeps`,
        )
    }
    if (options.json) console.log(JSON.stringify({ device: options.device, roundTripNs, stream: results }))
    s.close()
  })
}
