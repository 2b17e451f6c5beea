// Example 6: one receive queue for many clients. Who sent a message stands in its immediate: the sender's rank.
import { isMainThread } from 'node:worker_threads'
import { Opcode, recvWr, SendFlag, sendWr, workCompletions } from 'verbena'
import { print, readOptions, thousands } from './options.mjs'
import { run, starter, startPeer } from './peer.mjs'
import { closeIb, connectIb, endpointsOf, pollCq, setupAndConnect, setupIb } from './setup.mjs'

const options = readOptions({
  about: 'Clients, a thread each, send to one server whose queue pairs share a receive queue (SRQ).',
  table: {
    clients: { default: 3, min: 1, max: 32, help: 'clients' },
    size: { default: 64, min: 4, max: 65536, help: 'bytes of a message' },
    receives: { default: 64, min: 1, max: 4096, help: 'receives posted to the SRQ, for all clients together' },
    messages: { default: 200_000, min: 1, max: 1e9, help: 'messages of each client' },
  },
})

const window = 16 // messages of a client outstanding

async function server(options) {
  const { clients, size, receives, messages } = options
  const ib = setupIb({ device: 'shm0', memory: receives * size, sends: 1, qps: clients, srq: receives })
  // A receive of an SRQ may be taken by a message of any client, so that all must be as large as the largest message.
  const recvs = Array.from({ length: receives }, (_, slot) =>
    recvWr({ wrId: slot, sgList: [{ addr: ib.mr.addr + slot * size, length: size, lkey: ib.mr.lkey }] }),
  )

  const local = endpointsOf(ib)
  const channels = Array.from({ length: clients }, (_, rank) => startPeer(import.meta.url, { ...options, rank }))
  const qps = []
  for (const [rank, channel] of channels.entries())
    qps.push((await channel.exchange({ qps: [local.qps[rank]] })).qps[0])
  connectIb(ib, local, { qps })
  for (const recv of recvs) ib.srq.postRecv(recv)
  await Promise.all(channels.map((channel) => channel.exchange('ready')))

  const received = new Array(clients).fill(0)
  const wc = workCompletions(16)
  const start = performance.now()
  for (let all = 0; all < clients * messages; ) {
    const n = pollCq(ib.cq, wc)
    for (let i = 0; i < n; i++) {
      const { wrId: slot, immData: rank } = wc[i]
      // The messages of one client arrive in order; those of different clients in any.
      const number = ib.buffer.readUInt32LE(slot * size)
      if (number !== received[rank]) throw new Error(`client ${rank}: message ${number} instead of ${received[rank]}`)
      received[rank]++
      ib.srq.postRecv(recvs[slot])
    }
    all += n
  }
  const seconds = (performance.now() - start) / 1000
  await Promise.all(channels.map((channel) => channel.exchange('done')))
  closeIb(ib)
  await Promise.all(channels.map((channel) => channel.close()))

  const rate = (clients * messages) / seconds
  print(options, { example: '06-srq', clients, size, receives, received, seconds, messagesPerSecond: rate }, [
    `${clients} clients, ${receives} receives of ${size} bytes for all of them, ${seconds.toFixed(2)} s: ` +
      `${thousands(rate)} messages/s`,
    ...received.map((count, rank) => `rank ${rank}: ${count} messages, all in order`),
  ])
}

async function client({ rank, size, messages }) {
  const channel = starter()
  const { ib } = await setupAndConnect(channel, { device: 'shm1', memory: window * size, sends: window, recvs: 1 })
  const sends = Array.from({ length: window }, (_, slot) =>
    sendWr({
      wrId: slot,
      opcode: Opcode.SendWithImm,
      immData: rank,
      sendFlags: SendFlag.Signaled,
      sgList: [{ addr: ib.mr.addr + slot * size, length: size, lkey: ib.mr.lkey }],
    }),
  )
  const wc = workCompletions(window)
  await channel.exchange('ready')
  for (let posted = 0, done = 0; done < messages; ) {
    while (posted < messages && posted - done < window) {
      ib.buffer.writeUInt32LE(posted, (posted % window) * size)
      ib.qp.postSend(sends[posted % window])
      posted++
    }
    done += pollCq(ib.cq, wc)
  }
  await channel.exchange('done')
  closeIb(ib)
  channel.close()
}

await run(() => (isMainThread ? server(options) : client(options)))
