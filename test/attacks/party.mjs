/**
 * A party of an attack, in a process of its own: `party.mjs victim|bystander DEVICE HOST [VICTIM-HOST]`.
 *
 * The victim serves: an echo over verbena/net (port 7000), and one-sided access to a region whose contents are known. The
 * bystander is an honest client of both. It validates every byte and counts; nothing that an attacker does may end its
 * connections or give it wrong data.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import {
  Access,
  connectQp,
  endpointOf,
  Opcode,
  openDevice,
  QpType,
  rsocketDrops,
  rsocketProtocolErrors,
  SendFlag,
  workCompletions,
} from 'verbena'
import dgram from 'verbena/dgram'
import net from 'verbena/net'

const [role, device, host, victimHost] = process.argv.slice(2)
const regionLength = 1 << 16
const patternAt = (at) => (at * 31 + 7) & 0xff
/** Seven tries of half a second: a busy machine is no reason to give up; a stall shows in `longestGapMs`. */
const patience = { timeout: 17 }
const rights = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic

const context = openDevice(device)
const pd = context.allocPd()
const region = context.alloc(regionLength)
const mr = pd.regMr(region, rights)

const uncaught = []
process.on('uncaughtException', (error) => uncaught.push(String(error?.stack ?? error)))

let lastTick = performance.now()
let longestStallMs = 0
setInterval(() => {
  const now = performance.now()
  longestStallMs = Math.max(longestStallMs, now - lastTick - 20)
  lastTick = now
}, 20)

/** How long threads of this process have waited for a processor, all together: that is the machine's doing. */
function starvedMs() {
  let ns = 0
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      ns += Number(readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ')[1])
    } catch {
      // It has ended, or the kernel does not count.
    }
  }
  return ns / 1e6
}

function measures() {
  globalThis.gc?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  const stall = longestStallMs
  longestStallMs = 0
  return {
    rss,
    heapUsed,
    external,
    descriptors: readdirSync('/proc/self/fd').length,
    longestStallMs: stall,
    starvedMs: starvedMs(),
    counters: context.counters(),
    protocolErrors: rsocketProtocolErrors(),
    drops: rsocketDrops(),
    uncaught,
  }
}

/** A queue pair to an endpoint that is told later. */
function queuePair(pair = pd) {
  const cq = context.createCq(128)
  const qp = pair.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })
  return { cq, qp, endpoint: endpointOf(qp) }
}

function victim() {
  for (let at = 0; at < regionLength; at++) region[at] = patternAt(at)
  let connections = 0
  const server = net.createServer({ device }, (socket) => {
    connections++
    socket.on('error', () => {})
    socket.on('close', () => connections--)
    socket.pipe(socket)
  })
  server.on('error', (error) => uncaught.push(`server: ${error.message}`))
  server.listen({ port: 7000, host }, () => process.send({ ready: true }))
  const open = []
  return {
    /** Serves an echo of datagrams, over UDP and queue pairs; its port. */
    datagrams: () =>
      new Promise((resolve) => {
        const socket = dgram.createSocket({ type: 'udp4', device })
        socket.on('error', (error) => uncaught.push(`datagrams: ${error.message}`))
        socket.on('message', (data, from) => socket.send(data, from.port, from.address, () => {}))
        socket.bind(0, host, () => resolve(socket.address().port))
      }),
    /** Connects a queue pair to `remote`; the caller may read and write the region, and `bytes` more of its own. */
    accept({ remote, bytes }) {
      const end = queuePair()
      connectQp(end.qp, end.endpoint, remote, patience)
      open.push(end)
      const access = { qpn: end.qp.qpNum, psn: end.endpoint.psn, addr: mr.addr, rkey: mr.rkey, length: regionLength }
      if (!bytes) return { endpoint: end.endpoint, ...access }
      const own = context.alloc(bytes)
      const ownMr = pd.regMr(own, rights)
      return { endpoint: end.endpoint, ...access, addr: ownMr.addr, rkey: ownMr.rkey, length: bytes }
    },
    endpoint: () => {
      const end = queuePair()
      open.push(end)
      return end.endpoint
    },
    connect({ qpn, remote }) {
      const end = open.find(({ qp }) => qp.qpNum === qpn)
      connectQp(end.qp, end.endpoint, remote, patience)
      return { addr: mr.addr, rkey: mr.rkey }
    },
    stats: () => ({ ...measures(), connections }),
  }
}

function bystander() {
  let longestGapMs = 0
  let lastRead = performance.now()
  const seen = { blocks: 0, reads: 0, wrong: 0, connects: 0, errors: [] }
  const end = queuePair()

  const echo = () => {
    const socket = net.connect({ port: 7000, host: victimHost, device })
    let wanted
    let came = []
    const next = () => {
      wanted = randomBytes(1 + Math.floor(Math.random() * 30_000))
      came = []
      socket.write(wanted)
    }
    socket.on('connect', next)
    socket.on('data', (data) => {
      came.push(data)
      if (came.reduce((sum, part) => sum + part.length, 0) < wanted.length) return
      if (!Buffer.concat(came).equals(wanted)) seen.wrong++
      seen.blocks++
      setTimeout(next, 1)
    })
    socket.on('error', (error) => seen.errors.push(`echo: ${error.code} ${error.cause?.message ?? error.message}`))
    socket.on('close', () => seen.errors.push('echo: closed'))
  }

  const reading = (remote) => {
    const completions = workCompletions(4)
    let from = 0
    let length = 0
    const post = () => {
      from = Math.floor(Math.random() * regionLength)
      length = 1 + Math.floor(Math.random() * Math.min(20_000, regionLength - from))
      end.qp.postSend({
        opcode: Opcode.Read,
        sendFlags: SendFlag.Signaled,
        remoteAddr: remote.addr + from,
        rkey: remote.rkey,
        sgList: [{ addr: mr.addr, length, lkey: mr.lkey }],
      })
    }
    const look = () => {
      if (end.cq.poll(completions) > 0) {
        if (completions[0].status !== 0) {
          seen.errors.push(`READ: ${completions[0].statusText}`)
          return
        }
        for (let i = 0; i < length; i++)
          if (region[i] !== patternAt(from + i)) {
            seen.wrong++
            break
          }
        seen.reads++
        longestGapMs = Math.max(longestGapMs, performance.now() - lastRead)
        lastRead = performance.now()
        post()
      }
      setTimeout(look, 1)
    }
    lastRead = performance.now()
    post()
    look()
  }
  process.send({ ready: true })
  return {
    endpoint: () => end.endpoint,
    start({ remote, addr, rkey }) {
      connectQp(end.qp, end.endpoint, remote, patience)
      reading({ addr, rkey })
      echo()
    },
    /** A new connection, as somebody who comes later makes it: how long it took, or why it failed. */
    async connect() {
      const from = performance.now()
      const socket = net.connect({ port: 7000, host: victimHost, device })
      const failure = await new Promise((resolve) => {
        socket.on('connect', () => resolve(null))
        socket.on('error', (error) => resolve(`${error.code} ${error.cause?.message ?? error.message}`))
      })
      if (failure === null) seen.connects++
      socket.destroy()
      return { failure, ms: performance.now() - from }
    },
    stats() {
      const gap = longestGapMs
      longestGapMs = 0
      return { ...measures(), ...seen, longestGapMs: gap }
    },
  }
}

const answers = role === 'victim' ? victim() : bystander()
process.on('message', async ({ ask, serial, ...rest }) => {
  try {
    process.send({ serial, answer: (await answers[ask](rest)) ?? null })
  } catch (error) {
    process.send({ serial, failed: String(error?.stack ?? error) })
  }
})
process.on('disconnect', () => process.exit())
