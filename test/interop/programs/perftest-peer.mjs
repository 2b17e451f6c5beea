/**
 * The other end of an unmodified perftest program (6.06), on the verbs: ib_send_bw, ib_send_lat, ib_write_bw, ib_write_lat,
 * ib_read_bw, ib_read_lat, ib_atomic_bw and ib_atomic_lat without `-R`. Prints what it did as JSON.
 *
 *     node perftest-peer.mjs DEVICE SETTINGS [SERVER]
 *
 * SETTINGS is JSON: `test` ("send_bw"), `type` ("RC", "UC", "UD"), `size`, `iters`, `qps`, `srq`, `rxDepth`, `txDepth`, `mtu`,
 * `qpTimeout`, and for send_bw `bidirectional` and `all` sizes. Without SERVER it is the server.
 *
 * What the two tell each other over TCP port 18515, where each step is said by the client and then by the server:
 *
 *     version              16 bytes of text
 *     page, cache line     a big-endian word each; the larger value of both ends counts
 *     MTU                  a digit, 1 (256) to 5 (4096), and a zero byte; the smaller value counts
 *     hello × N            108 bytes of text for each queue pair; again and again, also as a barrier
 *     rounds               one, or with `-a` one for each power of two up to 8 MiB; those of SENDs begin with a barrier,
 *                          those of `-a` end with one, too
 *     report               of bandwidths: five big-endian values of 8 bytes
 *     goodbye              a hello, then each end writes "done" and a zero byte and closes
 */
import { connect, createServer } from 'node:net'
import {
  Access,
  connectQp,
  defaultQkey,
  endpointOf,
  Opcode,
  openDevice,
  pathTo,
  QpState,
  QpType,
  recvWr,
  SendFlag,
  sendWr,
  WcStatus,
  workCompletions,
} from '../../../dist/index.js'

const [device, text, server] = process.argv.slice(2)
const settings = {
  type: 'RC',
  size: 2048,
  iters: 100,
  qps: 1,
  rxDepth: 64,
  txDepth: 32,
  mtu: 4096,
  qpTimeout: 14,
  ...JSON.parse(text),
}
const {
  test,
  iters,
  qps,
  bidirectional = false,
  all = false,
  srq: shared = false,
  rxDepth,
  txDepth,
  qpTimeout,
} = settings
const client = server !== undefined
const [verb, measure] = test.split('_')
const latency = measure === 'lat'
const type = QpType[settings.type]
const datagrams = type === QpType.UD
const timeLimitMs = 50_000
const grhBytes = 40
const pageBytes = 4096
const helloBytes = 108

class PeerFailure extends Error {}

/** Bytes of the TCP connection, in the portions in which the peer reads them: a message is one write. */
class Wire {
  #socket
  #received = Buffer.alloc(0)
  #wake = null
  #ended = false

  constructor(socket) {
    this.#socket = socket.setNoDelay()
    socket.on('data', (data) => {
      this.#received = Buffer.concat([this.#received, data])
      this.#wake?.()
    })
    const end = () => {
      this.#ended = true
      this.#wake?.()
    }
    socket.on('close', end).on('end', end).on('error', end)
  }

  static async open() {
    if (client) {
      const socket = connect(18515, server)
      await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
      return new Wire(socket)
    }
    const listener = createServer().listen(18515)
    const socket = await new Promise((resolve) => listener.once('connection', resolve))
    listener.close()
    return new Wire(socket)
  }

  write(bytes) {
    this.#socket.write(bytes)
  }

  async read(length, what) {
    while (this.#received.length < length) {
      if (this.#ended) throw new PeerFailure(`the peer closed the connection instead of sending its ${what}`)
      await new Promise((resolve) => {
        this.#wake = resolve
      })
    }
    const bytes = this.#received.subarray(0, length)
    this.#received = this.#received.subarray(length)
    return bytes
  }

  /** What the peer says at this step; the client speaks first. */
  async exchange(bytes, what) {
    if (client) this.write(bytes)
    const answer = await this.read(bytes.length, what)
    if (!client) this.write(bytes)
    return answer
  }

  end() {
    this.#socket.end()
  }
}

function word(value) {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const hex = (value, digits) => value.toString(16).padStart(digits, '0')

function hello({ endpoint: { lid, qpn, psn, gid }, readsOut, rkey, addr }) {
  const gidText = Array.from(gid, (byte) => hex(byte, 2)).join(':')
  const fields = [hex(lid, 4), hex(readsOut, 4), hex(qpn, 6), hex(psn, 6), hex(rkey, 8), hex(addr, 16)]
  const bytes = Buffer.alloc(helloBytes)
  bytes.write(`${fields.join(':')}:${gidText}:${hex(0, 8)}:`)
  return bytes
}

function parseHello(bytes) {
  const fields = bytes.toString('latin1').split(':')
  if (fields.length < 23) throw new PeerFailure(`the peer's hello is '${bytes.toString('latin1')}'`)
  const [lid, readsOut, qpn, psn, rkey, addr, ...gid] = fields.slice(0, 22).map((field) => Number.parseInt(field, 16))
  return { endpoint: { lid, qpn, psn, gid: new Uint8Array(gid) }, readsOut, rkey, addr }
}

const context = openDevice(device)
const started = performance.now()
const counts = { sent: 0, received: 0, rounds: [] }

function checkTime() {
  if (performance.now() - started > timeLimitMs)
    throw new PeerFailure(`not done within ${timeLimitMs / 1000} s: ${JSON.stringify(counts)}`)
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

class End {
  #opened = []
  #pd = this.#keep(context.allocPd())
  #cq
  #srq = null
  #lanes
  #mr
  #bytes
  #room
  #wcs = workCompletions(16)
  #size

  constructor(maxBytes) {
    // Each queue pair has a part to send from and one to receive in, or for the peer to read and write.
    this.#room = Math.ceil((maxBytes + grhBytes) / pageBytes) * pageBytes
    this.#bytes = context.alloc(2 * qps * this.#room)
    const access = Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite | Access.RemoteAtomic
    this.#mr = this.#keep(this.#pd.regMr(this.#bytes, access))
    this.#cq = this.#keep(context.createCq(2 * qps * Math.max(iters, rxDepth, txDepth) + 16))
    if (shared) this.#srq = this.#keep(this.#pd.createSrq({ maxWr: Math.max(qps * iters, rxDepth), maxSge: 1 }))
    const cap = { maxSendWr: txDepth, maxRecvWr: Math.max(iters, rxDepth), maxSendSge: 1, maxRecvSge: 1 }
    this.#lanes = Array.from({ length: qps }, (_, i) => {
      const srq = this.#srq ? { srq: this.#srq } : {}
      const cqs = { sendCq: this.#cq, recvCq: this.#cq }
      const qp = this.#keep(this.#pd.createQp({ type, ...cqs, cap: { ...cap, maxInlineData: 0 }, ...srq }))
      connectQp(qp, { psn: 0 }, null, { until: QpState.Init })
      const at = this.#mr.addr + 2 * i * this.#room
      return {
        i,
        qp,
        from: at,
        to: at + this.#room,
        hello: null,
        remote: null,
        posted: 0,
        sent: 0,
        acked: 0,
        received: 0,
      }
    })
    const { maxQpRdAtom } = context.queryDevice()
    for (const lane of this.#lanes)
      lane.hello = {
        endpoint: endpointOf(lane.qp),
        readsOut: verb === 'read' || verb === 'atomic' ? Math.min(16, maxQpRdAtom) : 1,
        rkey: this.#mr.rkey,
        addr: lane.to,
      }
  }

  async greet(wire) {
    for (const lane of this.#lanes) lane.remote = parseHello(await wire.exchange(hello(lane.hello), 'hello'))
  }

  async barrier(wire) {
    await wire.exchange(hello(this.#lanes[0].hello), 'hello')
  }

  connect(pathMtu) {
    const most = context.queryDevice().maxQpInitRdAtom
    for (const { qp, hello: local, remote } of this.#lanes) {
      if (datagrams) {
        qp.modify({ state: QpState.Rtr })
        qp.modify({ state: QpState.Rts, sqPsn: local.endpoint.psn })
        continue
      }
      const path = { state: QpState.Rtr, ah: pathTo(remote.endpoint), pathMtu, destQpNum: remote.endpoint.qpn }
      const rqPsn = remote.endpoint.psn
      if (type === QpType.UC) {
        qp.modify({ ...path, rqPsn })
        qp.modify({ state: QpState.Rts, sqPsn: local.endpoint.psn })
        continue
      }
      qp.modify({ ...path, rqPsn, maxDestRdAtomic: local.readsOut, minRnrTimer: 12 })
      const retries = { timeout: qpTimeout, retryCnt: 7, rnrRetry: 7 }
      qp.modify({
        state: QpState.Rts,
        sqPsn: local.endpoint.psn,
        ...retries,
        maxRdAtomic: Math.min(remote.readsOut, most),
      })
    }
  }

  /** Makes ready for a round of messages of `size` bytes. */
  prepare(size) {
    this.#size = size
    for (const lane of this.#lanes) {
      Object.assign(lane, { posted: 0, sent: 0, acked: 0, received: 0 })
      const { endpoint, addr, rkey } = lane.remote
      const sgList = [{ addr: lane.from, length: size, lkey: this.#mr.lkey }]
      const wr = { wrId: lane.i, sendFlags: SendFlag.Signaled, sgList }
      if (verb === 'send') lane.send = sendWr({ ...wr, opcode: Opcode.Send })
      else if (verb === 'write') lane.send = sendWr({ ...wr, opcode: Opcode.Write, remoteAddr: addr, rkey })
      else if (verb === 'read') lane.send = sendWr({ ...wr, opcode: Opcode.Read, remoteAddr: addr, rkey })
      else lane.send = sendWr({ ...wr, opcode: Opcode.AtomicFetchAndAdd, remoteAddr: addr, rkey, compareAdd: 1n })
      if (datagrams) {
        lane.send.ah = this.#keep(this.#pd.createAh(pathTo(endpoint)))
        lane.send.remoteQpn = endpoint.qpn
        lane.send.remoteQkey = defaultQkey
      }
      const length = size + (datagrams ? grhBytes : 0)
      lane.receive = recvWr({ wrId: qps + lane.i, sgList: [{ addr: lane.to, length, lkey: this.#mr.lkey }] })
    }
    if (verb !== 'send' || (client && !latency && !bidirectional)) return
    // Nobody asks for datagrams and UC messages again: a receive for each.
    const depth = type === QpType.RC ? Math.min(rxDepth, iters) : iters
    for (const lane of this.#lanes) while (lane.posted < depth) this.#postReceive(lane)
  }

  #postReceive(lane) {
    lane.posted++
    ;(this.#srq ?? lane.qp).postRecv(lane.receive)
  }

  #collect() {
    const n = this.#cq.poll(this.#wcs)
    if (n < 0) throw new PeerFailure('the completion queue overran')
    for (let k = 0; k < n; k++) {
      const wc = this.#wcs[k]
      if (wc.status !== WcStatus.Success)
        throw new PeerFailure(
          `a ${wc.wrId < qps ? 'send' : 'receive'} ended with ${wc.statusText}: ${JSON.stringify(counts)}`,
        )
      if (wc.wrId < qps) {
        this.#lanes[wc.wrId].acked++
        counts.sent++
        continue
      }
      const expected = this.#size + (datagrams ? grhBytes : 0)
      if (wc.byteLen !== expected) throw new PeerFailure(`a message of ${wc.byteLen} bytes came, not of ${expected}`)
      const lane = this.#lanes[wc.wrId - qps]
      lane.received++
      counts.received++
      if (lane.posted < iters) this.#postReceive(lane)
    }
    return n
  }

  /** Collects completions until `done`, and calls `step` before each look. */
  async #until(done, step = () => {}) {
    let busyMs = performance.now()
    for (;;) {
      step()
      if (done()) return
      if (this.#collect() > 0) busyMs = performance.now()
      else if (performance.now() - busyMs > 1) {
        checkTime()
        await turn()
      }
    }
  }

  /** A round of a bandwidth test. */
  async stream() {
    const sends = client || bidirectional
    const receives = verb === 'send' && (!client || bidirectional)
    const lanes = this.#lanes
    const messages = qps * iters
    const sum = (field) => lanes.reduce((total, lane) => total + lane[field], 0)
    // In both directions the client begins.
    const mayBegin = () => client || sum('received') > 0
    await this.#until(
      () => (!sends || sum('acked') === messages) && (!receives || sum('received') === messages),
      () => {
        if (!sends || !mayBegin()) return
        for (const lane of lanes)
          while (lane.sent < iters && lane.sent - lane.acked < txDepth) {
            lane.sent++
            lane.qp.postSend(lane.send)
          }
      },
    )
  }

  /** A round of ib_send_lat, a ping-pong. */
  async pingPong() {
    const [lane] = this.#lanes
    for (let i = 0; i < iters; i++) {
      if (!client) await this.#until(() => lane.received > i)
      lane.sent++
      lane.qp.postSend(lane.send)
      if (client) await this.#until(() => lane.received > i)
    }
    await this.#until(() => lane.acked === iters)
  }

  /** A round of ib_write_lat, where each end sees the number of the WRITE in the last byte. */
  async writePingPong() {
    const [lane] = this.#lanes
    const sendAt = this.#size - 1
    const seeAt = this.#room + this.#size - 1
    for (let i = 1; i <= iters; i++) {
      const seen = () => this.#bytes[seeAt] === (i & 255)
      // Of this test the server begins.
      if (client) await this.#until(seen)
      await this.#until(() => lane.acked === i - 1)
      this.#bytes[sendAt] = i & 255
      lane.sent++
      lane.qp.postSend(lane.send)
      if (!client) await this.#until(seen)
      counts.received++
    }
    await this.#until(() => lane.acked === iters)
  }

  /** A round of ib_read_lat or ib_atomic_lat: one request after the other. */
  async ask() {
    const [lane] = this.#lanes
    for (let i = 0; i < iters; i++) {
      lane.sent++
      lane.qp.postSend(lane.send)
      await this.#until(() => lane.acked > i)
    }
  }

  /** Stays until the peer had time to ask again for the last acknowledgement. */
  async linger() {
    if (type !== QpType.RC) return
    const end = performance.now() + 300
    while (performance.now() < end) {
      this.#cq.poll(this.#wcs)
      await turn()
    }
  }

  /** After that nothing of it is outstanding, and all that was sent is counted. */
  close() {
    for (const object of this.#opened.reverse()) object.close()
  }

  #keep(object) {
    this.#opened.push(object)
    return object
  }
}

async function report(wire, size) {
  const numbers = [BigInt(size), BigInt(iters)]
  for (let i = 0; i < 5; i++) {
    const bytes = Buffer.alloc(8)
    if (i < 2) bytes.writeBigUInt64BE(numbers[i])
    else bytes.writeDoubleBE(1)
    await wire.exchange(bytes, 'report')
  }
}

async function goodbye(wire) {
  await end.barrier(wire)
  wire.write('done\0')
  wire.end()
}

const mtuDigit = (mtu) => Math.log2(mtu / 128)

let end = null

async function run() {
  const wire = await Wire.open()
  const version = (await wire.exchange(Buffer.from('6.06'.padEnd(16, '\0')), 'version')).toString().replace(/\0.*/s, '')
  for (const value of [pageBytes, 64]) await wire.exchange(word(value), 'system data')
  const theirs = await wire.exchange(Buffer.from(`${mtuDigit(settings.mtu)}\0`), 'MTU')
  const mtu = 128 << Math.min(Number(theirs.toString('latin1', 0, 1)), mtuDigit(settings.mtu))

  const biggest = datagrams ? mtu : 1 << 23
  end = new End(all ? biggest : settings.size)
  if (latency && verb !== 'send') await end.barrier(wire)
  await end.greet(wire)
  end.connect(mtu)
  if (verb === 'send') await end.barrier(wire)
  await end.greet(wire)
  if (verb !== 'send') await end.barrier(wire)

  const passive = !client && verb !== 'send' && test !== 'write_lat'
  const sizes = []
  if (!all) sizes.push(verb === 'atomic' ? 8 : settings.size)
  else for (let size = 2; size <= biggest; size *= 2) sizes.push(size)
  if (!passive)
    for (const size of sizes) {
      end.prepare(size)
      if (verb === 'send') await end.barrier(wire)
      if (!latency) await end.stream()
      else if (verb === 'send') await end.pingPong()
      else if (verb === 'write') await end.writePingPong()
      else await end.ask()
      counts.rounds.push(size)
      if (bidirectional) await report(wire, size)
      if (all) await end.barrier(wire)
    }
  if (verb !== 'send' && !latency) {
    // The passive end waits here.
    await end.barrier(wire)
    await report(wire, sizes.at(-1))
  }
  if (test !== 'write_lat') await goodbye(wire)
  else wire.end()
  await end.linger()
  return version
}

const watch = setTimeout(() => {
  console.error(`the peer says nothing for ${timeLimitMs / 1000} s: ${JSON.stringify(counts)}`)
  process.exit(1)
}, timeLimitMs + 2_000)
let outcome
try {
  outcome = { version: await run() }
} catch (error) {
  if (!(error instanceof PeerFailure)) throw error
  outcome = { failure: error.message }
  process.exitCode = 1
}
clearTimeout(watch)
end?.close()
console.log(JSON.stringify({ test, ...outcome, ...counts, counters: context.counters() }))
context.close()
if (process.exitCode) process.exit()
