// Example 3: a completion for every k-th WRITE only, and what happens when there is never one.
import { Opcode, SendFlag, sendWr, workCompletions } from 'verbena'
import { print, readOptions, thousands } from './options.mjs'
import { runPair } from './peer.mjs'
import { closeIb, pollCq, setupAndConnect } from './setup.mjs'

const options = readOptions({
  about: 'Streams RDMA WRITEs of which every k-th is signaled, k = 1, 4, 16, 64; then some of which none is.',
  table: {
    size: { default: 8, min: 4, max: 65536, help: 'bytes of a message' },
    messages: { default: 500_000, min: 64, max: 1e9, help: 'messages for each k' },
    engine: { default: 'poster', choices: ['poster', 'thread'], help: 'what executes requests' },
  },
})

const depth = 64 // places in the send queue, and slots of memory on both sides

async function client(channel, options, device) {
  const { size, messages, engine } = options
  const { ib, remote } = await setupAndConnect(channel, {
    device,
    engine,
    memory: depth * size,
    sends: depth,
    recvs: 1,
  })
  const slots = Array.from({ length: depth }, (_, i) => ib.buffer.subarray(i * size, (i + 1) * size))
  const writes = slots.map((_, i) =>
    sendWr({
      opcode: Opcode.Write,
      sgList: [{ addr: ib.mr.addr + i * size, length: size, lkey: ib.mr.lkey }],
      remoteAddr: remote.raddr + i * size,
      rkey: remote.rkey,
    }),
  )
  const wc = workCompletions(depth)

  function stream(every) {
    const start = performance.now()
    let posted = 0
    let done = 0 // all requests before this number are complete
    let completions = 0
    while (done < messages) {
      while (posted < messages && posted - done < depth) {
        const slot = posted % depth
        slots[slot].writeUInt32LE(posted)
        const wr = writes[slot]
        wr.wrId = ++posted
        wr.sendFlags = posted % every === 0 || posted === messages ? SendFlag.Signaled : 0
        ib.qp.postSend(wr)
      }
      // A completion stands for its own request and for all unsignaled ones before it.
      const n = pollCq(ib.cq, wc)
      completions += n
      done = wc[n - 1].wrId
    }
    const seconds = (performance.now() - start) / 1000
    return { every, completions, seconds, messagesPerSecond: messages / seconds }
  }

  stream(1) // so that all is compiled when it counts
  const runs = []
  for (const every of [1, 4, 16, 64]) {
    runs.push(stream(every))
    if ((await channel.exchange('check')) !== 'right') throw new Error('the server has other bytes')
  }

  // Never signaled: every request is executed, but no slot of the send queue becomes free.
  let refused = ''
  let unsignaled = 0
  try {
    for (; ; unsignaled++) {
      writes[unsignaled % depth].sendFlags = 0
      ib.qp.postSend(writes[unsignaled % depth])
    }
  } catch (error) {
    refused = error.message
  }
  await channel.exchange('done')
  closeIb(ib)

  print(options, { example: '03-selective-signaling', size, messages, engine, runs, unsignaled, refused }, [
    `${messages} writes of ${size} bytes each, engine ${engine}`,
    ...runs.map(
      ({ every, completions, messagesPerSecond }) =>
        `every ${String(every).padStart(2)}. signaled: ${thousands(messagesPerSecond).padStart(10)} messages/s, ` +
        `${completions} completions`,
    ),
    `never signaled: ${unsignaled} posted, then ${refused}`,
  ])
}

// The server does nothing: no receive, no completion. It only looks at its memory when it is asked to.
async function server(channel, { size, messages }, device) {
  const { ib } = await setupAndConnect(channel, { device, memory: depth * size, sends: 1, recvs: 1 })
  while ((await channel.receive()) === 'check') {
    let right = true
    for (let number = messages - depth; number < messages; number++)
      right &&= ib.buffer.readUInt32LE((number % depth) * size) === number
    ib.buffer.fill(0)
    channel.post(right ? 'right' : 'wrong')
  }
  channel.post('done')
  closeIb(ib)
}

await runPair(import.meta.url, options, { client, server })
