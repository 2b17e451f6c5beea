// Example 2: the same ping-pong with RDMA WRITE. Nothing tells the receiver of a message: it watches its memory.
import { Opcode, SendFlag, sendWr, workCompletions } from 'verbena'
import { print, readOptions, thousands } from './options.mjs'
import { runPair, twoProcesses } from './peer.mjs'
import { closeIb, idle, setupAndConnect } from './setup.mjs'

const options = readOptions({
  about: 'Ping-pong with RDMA WRITE, whose messages are noticed in memory: their first and last byte become A.',
  positionals: ['size', 'concurrent'],
  table: {
    size: { default: 64, min: 1, max: 1 << 20, help: 'bytes of a message' },
    concurrent: { default: 1, min: 1, max: 1024, help: 'messages outstanding at the same time' },
    messages: { default: 200_000, min: 1, max: 1e9, help: 'messages of the whole run' },
    ...twoProcesses,
  },
})

const letterA = 65

/** What both sides have: a message 'AA…A' to send, and below it slots into which the peer writes. */
async function prepare(channel, { size, concurrent }, device) {
  const settings = { device, memory: (1 + concurrent) * size, sends: 2 * concurrent, recvs: 1 }
  const { ib, remote } = await setupAndConnect(channel, settings)
  const message = ib.buffer.subarray(0, size).fill(letterA)
  const slots = Array.from({ length: concurrent }, (_, i) => ib.buffer.subarray((1 + i) * size, (2 + i) * size))
  // The slot of the peer's memory that each request fills: raddr and rkey came with the peer's endpoint.
  const writes = slots.map((_, i) =>
    sendWr({
      wrId: i,
      opcode: Opcode.Write,
      sendFlags: SendFlag.Signaled,
      sgList: [{ addr: ib.mr.addr, length: size, lkey: ib.mr.lkey }],
      remoteAddr: remote.raddr + (1 + i) * size,
      rkey: remote.rkey,
    }),
  )
  const wc = workCompletions(16)
  return {
    ib,
    write(number) {
      ib.cq.poll(wc) // gives places in the send queue back
      ib.qp.postSend(writes[number % concurrent])
    },
    /** Waits for message `number`, checks it and resets its memory for the next one. */
    take(number) {
      const slot = slots[number % concurrent]
      // A write appears in order: when the last byte is there, all are. Atomics.load reads memory again each time.
      for (let turns = 0; Atomics.load(slot, 0) !== letterA || Atomics.load(slot, size - 1) !== letterA; turns++)
        idle(turns)
      if (!slot.equals(message)) throw new Error(`message ${number} has other bytes`)
      slot.fill(0)
    },
  }
}

async function client(channel, options, device) {
  const { size, concurrent, messages } = options
  const { ib, write, take } = await prepare(channel, options, device)
  await channel.exchange('ready')
  const start = performance.now()
  let posted = 0
  while (posted < Math.min(concurrent, messages)) write(posted++)
  for (let done = 0; done < messages; done++) {
    take(done)
    if (posted < messages) write(posted++)
  }
  const seconds = (performance.now() - start) / 1000
  await channel.exchange('done')
  closeIb(ib)

  const rate = messages / seconds
  const microseconds = (concurrent * 1e6) / rate
  print(options, { example: '02-write-polling', size, concurrent, messages, seconds, messagesPerSecond: rate }, [
    `${messages} messages of ${size} bytes, ${concurrent} at a time, in ${seconds.toFixed(2)} s: ` +
      `${thousands(rate)} messages/s, ${microseconds.toFixed(2)} µs there and back`,
  ])
}

async function server(channel, options, device) {
  const { ib, write, take } = await prepare(channel, options, device)
  await channel.exchange('ready')
  for (let number = 0; number < options.messages; number++) {
    take(number)
    write(number)
  }
  await channel.exchange('done')
  closeIb(ib)
}

await runPair(import.meta.url, options, { client, server })
