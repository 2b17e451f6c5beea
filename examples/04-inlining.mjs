// Example 4: the message inside the work request. The adapter then need not fetch it, and its memory is free at once.
import { Opcode, QpType, SendFlag, sendWr, workCompletions } from 'verbena'
import { print, readOptions, thousands } from './options.mjs'
import { runPair } from './peer.mjs'
import { closeIb, pollCq, setupAndConnect } from './setup.mjs'

const options = readOptions({
  about: 'RDMA WRITEs with and without INLINE, executed by the poster and by a thread that plays the adapter.',
  table: {
    size: { default: 8, min: 4, max: 512, help: 'bytes of a message' },
    messages: { default: 100_000, min: 1, max: 1_000_000, help: 'messages of each measurement' },
  },
})

const engines = ['poster', 'thread']
const depth = 64

/** No verb tells the limit of a QP before it is made: try larger ones until one is rejected. */
function findMaxInline({ pd, cq }) {
  for (let size = 1; ; size *= 2) {
    try {
      pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq, cap: { maxInlineData: size } }).close()
    } catch {
      return size / 2
    }
  }
}

async function client(channel, options, device) {
  const { size, messages } = options
  const runs = []
  let maxInline = 0
  for (const engine of engines) {
    const settings = { device, engine, memory: depth * size, sends: depth, recvs: 1, inline: size }
    const { ib, remote } = await setupAndConnect(channel, settings)
    maxInline = findMaxInline(ib)
    const wc = workCompletions(depth)

    /** Writes message i to slot i of the server. `spoil` overwrites the source as soon as it is posted. */
    function stream(inline, spoil) {
      const flags = SendFlag.Signaled | (inline ? SendFlag.Inline : 0)
      const wr = sendWr({
        opcode: Opcode.Write,
        sendFlags: flags,
        sgList: [{ addr: ib.mr.addr, length: size, lkey: ib.mr.lkey }],
        remoteAddr: remote.raddr,
        rkey: remote.rkey,
      })
      const start = performance.now()
      for (let posted = 0, done = 0; done < messages; ) {
        while (posted < messages && posted - done < depth) {
          const at = spoil ? 0 : (posted % depth) * size // a slot is free again when its request is complete
          ib.buffer.writeUInt32LE(posted + 1, at)
          wr.sgList[0].addr = ib.mr.addr + at
          wr.remoteAddr = remote.raddr + posted * size
          ib.qp.postSend(wr)
          if (spoil) ib.buffer.writeUInt32LE(0xffffffff, at)
          posted++
        }
        done += pollCq(ib.cq, wc)
      }
      return messages / ((performance.now() - start) / 1000)
    }

    for (const inline of [false, true]) stream(inline, false) // so that all is compiled when it counts
    for (const inline of [false, true]) {
      const messagesPerSecond = stream(inline, false)
      if ((await channel.exchange('count')) !== 0) throw new Error('the server has other bytes')
      stream(inline, true)
      const spoiled = await channel.exchange('count')
      if (inline && spoiled > 0) throw new Error(`${spoiled} inlined messages changed after they were posted`)
      runs.push({ engine, inline, messagesPerSecond, spoiled })
    }
    await channel.exchange('done')
    closeIb(ib)
  }
  print(options, { example: '04-inlining', size, messages, maxInline, runs }, [
    `${messages} writes of ${size} bytes; up to ${maxInline} bytes can be inline`,
    ...runs.map(
      ({ engine, inline, messagesPerSecond, spoiled }) =>
        `engine ${engine}, ${inline ? 'inline:    ' : 'not inline:'} ${thousands(messagesPerSecond).padStart(10)} ` +
        `messages/s; buffer reused at once: ${spoiled} messages arrived changed`,
    ),
  ])
}

// Asked to count, the server tells in how many slots of its memory there is not the message that belongs there.
async function server(channel, { size, messages }, device) {
  for (const _ of engines) {
    const { ib } = await setupAndConnect(channel, { device, memory: messages * size, sends: 1, recvs: 1 })
    while ((await channel.receive()) === 'count') {
      let wrong = 0
      for (let i = 0; i < messages; i++) if (ib.buffer.readUInt32LE(i * size) !== i + 1) wrong++
      ib.buffer.fill(0)
      channel.post(wrong)
    }
    channel.post('done')
    closeIb(ib)
  }
}

await runPair(import.meta.url, options, { client, server })
