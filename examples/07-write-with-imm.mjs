// Example 7: RDMA WRITE from many peers, noticed in one place. WRITE_WITH_IMM makes a completion at the receiver, so
// that polling one CQ serves them all; its immediate tells the length. Beside it: watching the memory of every peer.
import { Opcode, recvWr, SendFlag, sendWr, WcOpcode, workCompletions } from 'verbena'
import { print, readOptions, thousands } from './options.mjs'
import { runPair } from './peer.mjs'
import { closeIb, idle, pollCq, setupAndConnect } from './setup.mjs'

const options = readOptions({
  about: 'Many peers (queue pairs of one thread) write to a server that polls one CQ, or the memory of each peer.',
  table: {
    peers: { default: 100, min: 1, max: 1000, help: 'peers, a queue pair each' },
    concurrent: { default: 4, min: 1, max: 1000, help: 'peers whose message is outstanding at the same time' },
    size: { default: 64, min: 2, max: 65536, help: 'bytes of the longest message' },
    messages: { default: 100_000, min: 1, max: 1e9, help: 'messages of each measurement' },
  },
})

const ways = ['cq', 'memory']
const letterA = 65
/** Messages differ in length. Watching memory works for messages of one length only. */
const lengthOf = (number, size, way) => (way === 'cq' ? 1 + (number % size) : size)

/** Each WRITE_WITH_IMM takes a receive at the other side: one without memory, since it brings its address along. */
const postReceives = (ib, each) => {
  for (const qp of ib.qps) for (let i = 0; i < each; i++) qp.postRecv(recvWr({ sgList: [] }))
}

async function client(channel, options, device) {
  const { peers, size, messages } = options
  const concurrent = Math.min(options.concurrent, peers)
  const settings = { device, memory: peers * size, qps: peers, sends: 4, recvs: 4 }
  const { ib, remote } = await setupAndConnect(channel, settings)
  const peerOf = new Map(ib.qps.map((qp, peer) => [qp.qpNum, peer]))
  const writes = ib.qps.map((_, peer) =>
    sendWr({
      opcode: Opcode.WriteWithImm,
      immData: 0,
      sendFlags: SendFlag.Signaled,
      sgList: [{ addr: ib.mr.addr + peer * size, length: size, lkey: ib.mr.lkey }],
      remoteAddr: remote.raddr + peer * size,
      rkey: remote.rkey,
    }),
  )
  // Whose turn it is: a ring of peers, at first in no order that the server could follow. A peer whose message was
  // answered stands in line again; before that its memory at the server is not free.
  const line = ib.qps.map((_, peer) => peer).sort(() => Math.random() - 0.5)
  const again = recvWr({ sgList: [] })
  const expected = new Array(peers).fill(0)
  const wc = workCompletions(16)
  postReceives(ib, 2)
  ib.buffer.fill(letterA)

  const runs = []
  for (const way of ways) {
    await channel.exchange(way)
    const post = (number) => {
      const peer = line[number % peers]
      const wr = writes[peer]
      wr.opcode = way === 'cq' ? Opcode.WriteWithImm : Opcode.Write
      wr.immData = wr.sgList[0].length = expected[peer] = lengthOf(number, size, way)
      ib.qps[peer].postSend(wr)
    }
    const start = performance.now()
    let posted = 0
    for (let done = 0; done < messages; ) {
      while (posted < messages && posted - done < concurrent) post(posted++)
      const n = pollCq(ib.cq, wc)
      for (let i = 0; i < n; i++) {
        if (wc[i].opcode !== WcOpcode.RecvRdmaWithImm) continue
        const peer = peerOf.get(wc[i].qpNum)
        if (wc[i].immData !== expected[peer]) throw new Error(`peer ${peer}: the server saw ${wc[i].immData} bytes`)
        ib.qps[peer].postRecv(again)
        line[done++ % peers] = peer
      }
    }
    const seconds = (performance.now() - start) / 1000
    runs.push({ way, seconds, messagesPerSecond: messages / seconds })
  }
  await channel.exchange('done')
  closeIb(ib)
  print(options, { example: '07-write-with-imm', peers, concurrent, size, messages, runs }, [
    `${peers} peers, ${concurrent} messages at a time, ${messages} messages in each measurement`,
    ...runs.map(
      ({ way, messagesPerSecond }) =>
        `${way === 'cq' ? 'WRITE_WITH_IMM, one CQ:     ' : 'WRITE, memory of each peer: '}` +
        `${thousands(messagesPerSecond).padStart(10)} messages/s`,
    ),
  ])
}

async function server(channel, { peers, size, messages }, device) {
  const { ib, remote } = await setupAndConnect(channel, {
    device,
    memory: peers * size,
    qps: peers,
    sends: 4,
    recvs: 4,
  })
  const peerOf = new Map(ib.qps.map((qp, peer) => [qp.qpNum, peer]))
  const slots = ib.qps.map((_, peer) => ib.buffer.subarray(peer * size, (peer + 1) * size))
  const answer = sendWr({
    opcode: Opcode.WriteWithImm, // of no bytes: the immediate is the answer
    immData: 0,
    sendFlags: SendFlag.Signaled,
    remoteAddr: remote.raddr,
    rkey: remote.rkey,
  })
  const again = recvWr({ sgList: [] })
  const allA = Buffer.alloc(size, letterA)
  const wc = workCompletions(16)
  postReceives(ib, 2)

  /** Checks the message in the slot of `peer`, resets the memory and tells the peer how long it was. */
  function take(peer, length) {
    if (slots[peer].compare(allA, 0, length, 0, length) !== 0) throw new Error(`peer ${peer}: other bytes`)
    slots[peer].fill(0, 0, length)
    answer.immData = length
    ib.qps[peer].postSend(answer)
  }
  const detect = {
    cq() {
      for (let taken = 0; taken < messages; ) {
        const n = pollCq(ib.cq, wc)
        for (let i = 0; i < n; i++) {
          if (wc[i].opcode !== WcOpcode.RecvRdmaWithImm) continue // an answer has left
          const peer = peerOf.get(wc[i].qpNum)
          ib.qps[peer].postRecv(again)
          take(peer, wc[i].immData)
          taken++
        }
      }
    },
    memory() {
      for (let taken = 0, turns = 0; taken < messages; idle(turns++)) {
        for (let peer = 0; peer < peers; peer++) {
          const slot = slots[peer]
          if (Atomics.load(slot, 0) !== letterA || Atomics.load(slot, size - 1) !== letterA) continue
          ib.cq.poll(wc) // answers that have left give their places in the send queue back
          take(peer, size)
          taken++
          turns = 0
        }
      }
    },
  }
  for (let way = await channel.receive(); way !== 'done'; way = await channel.receive()) {
    channel.post(way)
    detect[way]()
  }
  channel.post('done')
  closeIb(ib)
}

await runPair(import.meta.url, options, { client, server })
