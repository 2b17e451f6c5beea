// Example 5: several work requests, linked into a list, with one call of postSend: one doorbell for the adapter.
import { Opcode, SendFlag, sendWr, workCompletions } from 'verbena'
import { print, readOptions, thousands } from './options.mjs'
import { runPair } from './peer.mjs'
import { closeIb, pollCq, setupAndConnect } from './setup.mjs'

const options = readOptions({
  about: 'RDMA WRITEs posted in linked lists of 1, 2, 4, … requests, of which the last is signaled.',
  table: {
    size: { default: 8, min: 4, max: 65536, help: 'bytes of a message' },
    concurrent: { default: 64, min: 1, max: 4096, help: 'messages outstanding at the same time' },
    messages: { default: 300_000, min: 1, max: 1e9, help: 'messages of each measurement' },
  },
})

const engines = ['poster', 'thread']
const batches = [1, 2, 4, 8, 16, 32, 64]

async function client(channel, options, device) {
  const { size, concurrent, messages } = options
  const runs = []
  for (const engine of engines) {
    const settings = { device, engine, memory: concurrent * size, sends: concurrent, recvs: 1 }
    const { ib, remote } = await setupAndConnect(channel, settings)
    const wc = workCompletions(concurrent)

    function stream(batch) {
      // One list for each place where it can begin; each request has a slot of memory on both sides.
      const lists = Math.floor(concurrent / batch)
      const total = Math.ceil(messages / batch) * batch
      const heads = Array.from({ length: lists }, (_, list) => {
        let next = null
        for (let i = batch - 1; i >= 0; i--) {
          const at = (list * batch + i) * size
          next = sendWr({
            opcode: Opcode.Write,
            sendFlags: next === null ? SendFlag.Signaled : 0,
            sgList: [{ addr: ib.mr.addr + at, length: size, lkey: ib.mr.lkey }],
            remoteAddr: remote.raddr + at,
            rkey: remote.rkey,
            next,
          })
        }
        return next
      })
      const start = performance.now()
      for (let posted = 0, done = 0; done < total; ) {
        while (posted < total && posted - done + batch <= lists * batch) {
          const first = posted % (lists * batch)
          for (let i = 0; i < batch; i++) ib.buffer.writeUInt32LE(posted + i, (first + i) * size)
          ib.qp.postSend(heads[first / batch])
          posted += batch
        }
        done += pollCq(ib.cq, wc) * batch
      }
      const seconds = (performance.now() - start) / 1000
      return { engine, batch, total, slots: lists * batch, messagesPerSecond: total / seconds }
    }

    stream(1) // so that all is compiled when it counts
    for (const batch of batches.filter((batch) => batch <= concurrent)) {
      const { total, slots, ...run } = stream(batch)
      runs.push(run)
      if ((await channel.exchange({ total, slots })) !== 'right') throw new Error('the server has other bytes')
    }
    await channel.exchange(null)
    closeIb(ib)
  }
  const rate = (engine, batch) =>
    thousands(runs.find((run) => run.engine === engine && run.batch === batch).messagesPerSecond).padStart(20)
  print(options, { example: '05-batching', size, concurrent, messages, runs }, [
    `${messages} writes of ${size} bytes, at most ${concurrent} outstanding, messages/s`,
    `batch${engines.map((engine) => `engine ${engine}`.padStart(20)).join('')}`,
    ...batches
      .filter((batch) => batch <= concurrent)
      .map((batch) => `${String(batch).padStart(5)}${engines.map((engine) => rate(engine, batch)).join('')}`),
  ])
}

// The server looks at its memory when it is told how many messages there were: each slot has the last one for it.
async function server(channel, { size, concurrent }, device) {
  for (const _ of engines) {
    const { ib } = await setupAndConnect(channel, { device, memory: concurrent * size, sends: 1, recvs: 1 })
    for (let what = await channel.receive(); what !== null; what = await channel.receive()) {
      let right = true
      for (let number = Math.max(0, what.total - what.slots); number < what.total; number++)
        right &&= ib.buffer.readUInt32LE((number % what.slots) * size) === number
      ib.buffer.fill(0)
      channel.post(right ? 'right' : 'wrong')
    }
    channel.post(null)
    closeIb(ib)
  }
}

await runPair(import.meta.url, options, { client, server })
