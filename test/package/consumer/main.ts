// A program of a user, with all entry points. packed.slow.test.ts compiles and runs it outside the repository.
import {
  Access,
  connectQp,
  endpointOf,
  Opcode,
  openDevice,
  type QpEndpoint,
  QpType,
  recvWr,
  SendFlag,
  sendWr,
  type WorkCompletion,
  workCompletions,
} from 'verbena'
import { bytesSource, type CaptureSource, type PacketHandler, PcapWriter } from 'verbena/capture'
import dgram from 'verbena/dgram'
import { answerOf, monitorConfig, Observer, type WindowAnswer } from 'verbena/monitor'
import net, { createServer, type Socket } from 'verbena/net'
import { type Mapping, parseMapping, readMessages, replayPackets, type TraceMessages } from 'verbena/replay'
import { type Results, summarize } from 'verbena/report'
import { type RunChild, run, type TraceRecord } from 'verbena/run'
import { createSketch, type Estimate } from 'verbena/sketch'
import { analyseCapture, type CaptureInfo, type Filter, parseFilter, type Row, showCapture } from 'verbena/trace'
import { Cdf, type CdfPoint, Schedule } from 'verbena/traffic'
import { readTraffic } from 'verbena/traffic/load'
import { emitFrame, frameLength, opcodeName, type RoceV2Frame } from 'verbena/wire'
import 'verbena/preload'

const context = openDevice('shm0')
const pd = context.allocPd()
const memory: Uint8Array = context.alloc(4096)
const mr = pd.regMr(memory, Access.LocalWrite)
const cq = context.createCq(16)
const a = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })
const b = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })
const here: QpEndpoint = endpointOf(a)
const there: QpEndpoint = endpointOf(b)
connectQp(a, here, there)
connectQp(b, there, here)
memory.set([1, 2, 3])
b.postRecv(recvWr({ wrId: 2, sgList: [{ addr: mr.addr + 64, length: 64, lkey: mr.lkey }] }))
a.postSend(
  sendWr({
    wrId: 1,
    opcode: Opcode.Send,
    sendFlags: SendFlag.Signaled,
    sgList: [{ addr: mr.addr, length: 3, lkey: mr.lkey }],
  }),
)
const completions: WorkCompletion[] = workCompletions(4)
for (let seen = 0; seen < 2; ) seen += cq.poll(completions)

const server = createServer({ device: 'shm0' }, (socket: Socket) => socket.pipe(socket))
const kinds: (keyof Results)[] = ['unit']
export const start: (program: string) => Promise<RunChild> = (program) => run(program, [], { devices: ['shm:test'] })
export const types: TraceRecord['type'][] = ['command', 'completion']
const sketch = createSketch('count-min', { bytes: 1000, keyBytes: 3 })
sketch.update(memory.subarray(0, 3), 5)
const points: CdfPoint[] = [
  [8, 0.5],
  [64, 1],
]
const schedule = new Schedule(readTraffic('servers: [a]\nsize: 8\ncount: 1', 'traffic.yaml'))
schedule.next()
const estimate: Estimate = sketch.estimate(memory.subarray(0, 3))

const frame: RoceV2Frame = {
  ethernet: { destination: Uint8Array.of(2, 0, 0, 0, 0, 2), source: Uint8Array.of(2, 0, 0, 0, 0, 1), tags: [] },
  ipv4: {
    ...{ tos: 2, identification: 0, dontFragment: true, ttl: 64 },
    ...{ source: Uint8Array.of(10, 0, 0, 1), destination: Uint8Array.of(10, 0, 0, 2) },
  },
  ...{ sourcePort: 49152, udpChecksum: 0 },
  packet: {
    bth: {
      ...{ opcode: 4, solicited: false, migReq: true, pkey: 0xffff, fecn: false, becn: false, ackReq: true },
      ...{ destQp: 17, psn: 1 },
    },
    payload: new Uint8Array(8),
  },
}
const chunks: Uint8Array[] = []
const writer = new PcapWriter({ write: (bytes) => chunks.push(bytes.slice()) })
const packet = new Uint8Array(frameLength(frame))
writer.packet(packet, 0, emitFrame(frame, packet, 0), 1, 0)
writer.close()
const capture: CaptureSource = bytesSource(chunks[0]!)
const info: CaptureInfo = await analyseCapture(capture)
const filter: Filter = parseFilter('destqp == 17')
const rows: Row[] = []
await showCapture(capture, (row) => rows.push(row), { filter })
const mapping: Mapping = parseMapping('qpn', '17=18')
const rewritten: number[] = []
await replayPackets(capture, { mappings: [mapping] }, ({ bytes, offset }) => rewritten.push(bytes[offset + 49]!))
const { messages }: TraceMessages = await readMessages(capture)
const windows: WindowAnswer[] = []
const observer = new Observer({
  ...{ config: monitorConfig({ seed: 1 }), agent: 'test', run: 'test' },
  onWindow: (window) => windows.push(answerOf(window)),
})
const observe: PacketHandler = (one) => {
  observer.packet(one)
  return true
}
await capture.read(observe)
observer.finish()
console.log(info.roce, rows.length, rewritten[0], messages.length, windows[0]!.totals.packets)
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number }
  const client = net.connect({ port, host: '127.0.0.1', device: 'shm0' }, () => client.end('echo'))
  client.on('data', (data: Uint8Array) => {
    const text = new TextDecoder().decode(data)
    console.log(
      memory[66],
      text,
      typeof dgram.createSocket,
      summarize([1, 2, 3]).median,
      opcodeName(4),
      kinds[0],
      estimate.value,
      new Cdf('own', points).below(schedule.size),
    )
  })
  client.on('close', () => server.close())
})
