// Example 1: ping-pong with SEND and RECV. The client sends messages, the server sends each of them back.
import { Opcode, recvWr, SendFlag, sendWr, WcOpcode, workCompletions } from 'verbena'
import { print, readOptions, thousands } from './options.mjs'
import { runPair, twoProcesses } from './peer.mjs'
import { closeIb, pollCq, setupAndConnect } from './setup.mjs'

const options = readOptions({
  about:
    'Ping-pong with SEND and RECV over a reliable connection. [size] and [concurrent] are --size and --concurrent.',
  positionals: ['size', 'concurrent'],
  table: {
    size: { default: 64, min: 4, max: 1 << 20, help: 'bytes of a message' },
    concurrent: { default: 1, min: 1, max: 1024, help: 'messages outstanding at the same time' },
    messages: { default: 200_000, min: 1, max: 1e9, help: 'messages of the whole run' },
    ...twoProcesses,
  },
})

// One request for each of `count` slots of memory from `first` on; wrId says which. They are posted again and again.
function requests(ib, prepare, { size }, first, count) {
  return Array.from({ length: count }, (_, i) =>
    prepare({
      wrId: i,
      opcode: Opcode.Send, // only a send request has an opcode and flags
      sendFlags: SendFlag.Signaled,
      sgList: [{ addr: ib.mr.addr + (first + i) * size, length: size, lkey: ib.mr.lkey }],
    }),
  )
}
const slots = (ib, { size }, first, count) =>
  Array.from({ length: count }, (_, i) => ib.buffer.subarray((first + i) * size, (first + i + 1) * size))

async function client(channel, options, device) {
  const { size, concurrent, messages } = options
  const memory = 2 * concurrent * size // what we send, then what comes back
  const { ib } = await setupAndConnect(channel, { device, memory, sends: 2 * concurrent, recvs: 2 * concurrent })
  const sends = requests(ib, sendWr, options, 0, concurrent)
  const recvs = requests(ib, recvWr, options, concurrent, concurrent)
  const sent = slots(ib, options, 0, concurrent)
  const received = slots(ib, options, concurrent, concurrent)
  for (const [i, recv] of recvs.entries()) {
    ib.qp.postRecv(recv)
    sent[i].fill(i)
  }
  await channel.exchange('ready')

  const wc = workCompletions(16)
  const post = (number) => {
    sent[number % concurrent].writeUInt32LE(number >>> 0)
    ib.qp.postSend(sends[number % concurrent])
  }
  let posted = 0
  let done = 0
  const start = performance.now()
  while (posted < Math.min(concurrent, messages)) post(posted++)
  while (done < messages) {
    const n = pollCq(ib.cq, wc)
    for (let i = 0; i < n; i++) {
      // A send has arrived at the server; here only messages that come back matter.
      if (wc[i].opcode !== WcOpcode.Recv) continue
      const slot = wc[i].wrId
      if (wc[i].byteLen !== size || !received[slot].equals(sent[done % concurrent]))
        throw new Error(`message ${done} came back with other bytes`)
      done++
      ib.qp.postRecv(recvs[slot])
      if (posted < messages) post(posted++)
    }
  }
  const seconds = (performance.now() - start) / 1000
  await channel.exchange('done')
  closeIb(ib)

  const rate = messages / seconds
  const microseconds = (concurrent * 1e6) / rate
  print(options, { example: '01-send-recv', size, concurrent, messages, seconds, messagesPerSecond: rate }, [
    `${messages} messages of ${size} bytes, ${concurrent} at a time, in ${seconds.toFixed(2)} s: ` +
      `${thousands(rate)} messages/s, ${microseconds.toFixed(2)} µs there and back`,
  ])
}

async function server(channel, options, device) {
  const { size, concurrent, messages } = options
  // Twice as many receives as messages outstanding: a receive is posted again when its echo has left, and a message
  // that finds none would have to be sent again.
  const count = 2 * concurrent
  const { ib } = await setupAndConnect(channel, { device, memory: count * size, sends: count, recvs: 2 * count })
  const sends = requests(ib, sendWr, options, 0, count)
  const recvs = requests(ib, recvWr, options, 0, count)
  for (const recv of recvs) ib.qp.postRecv(recv)
  await channel.exchange('ready')

  const wc = workCompletions(16)
  for (let echoed = 0; echoed < messages; ) {
    const n = pollCq(ib.cq, wc)
    for (let i = 0; i < n; i++) {
      const slot = wc[i].wrId
      if (wc[i].opcode === WcOpcode.Recv) {
        ib.qp.postSend(sends[slot]) // back from where it lies
      } else {
        ib.qp.postRecv(recvs[slot]) // the echo has left, its memory is free
        echoed++
      }
    }
  }
  await channel.exchange('done')
  closeIb(ib)
}

await runPair(import.meta.url, options, { client, server })
