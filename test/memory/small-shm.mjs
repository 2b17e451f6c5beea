// A program for small-shm.test.ts: a named segment where /dev/shm is small, and then full. It prints what it saw as JSON.
import { closeSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { Access, connectQp, endpointOf, Opcode, openDevice, QpType, workCompletions } from '../../dist/index.js'

const usedMib = () => statSync('/dev/shm/verbena-small').blocks / 2048
const failure = (body) => {
  try {
    body()
  } catch ({ code, message }) {
    return { code, message }
  }
  return null
}

const context = openDevice('shm:small')
const fresh = usedMib()

function side(device) {
  const context = openDevice(device)
  const pd = context.allocPd()
  const buffer = context.alloc(1 << 16)
  const mr = pd.regMr(buffer, Access.LocalWrite)
  const cq = context.createCq(16)
  const qp = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq, cap: { maxSendWr: 4, maxRecvWr: 4 } })
  return { context, pd, buffer, mr, cq, qp }
}
const [a, b] = [side('shm:small'), side('shm:small/1')]
connectQp(a.qp, endpointOf(a.qp), endpointOf(b.qp))
connectQp(b.qp, endpointOf(b.qp), endpointOf(a.qp))

/** One SEND; whether it arrives. */
function exchange() {
  b.buffer.fill(0)
  a.buffer.fill(7)
  b.qp.postRecv({ wrId: 1, sgList: [{ addr: b.mr.addr, length: 4096, lkey: b.mr.lkey }] })
  a.qp.postSend({
    wrId: 2,
    opcode: Opcode.Send,
    sendFlags: 2,
    sgList: [{ addr: a.mr.addr, length: 4096, lkey: a.mr.lkey }],
  })
  const wc = workCompletions(4)
  let done = 0
  for (const { cq } of [a, b]) for (let n = cq.poll(wc); n > 0; n = cq.poll(wc)) done += n
  return done === 2 && wc[0].status === 0 && b.buffer[4095] === 7
}

/** Takes megabytes until there are no more. */
function takeAll() {
  const buffers = []
  const full = failure(() => {
    for (;;) {
      const buffer = context.alloc(1 << 20)
      buffer.fill(1)
      buffers.push(buffer)
    }
  })
  return { buffers, full }
}

const before = exchange()
const first = takeAll()
const fullMib = usedMib()
for (const buffer of first.buffers) context.free(buffer)
const afterMib = usedMib()
const second = takeAll()
for (const buffer of second.buffers) context.free(buffer)

// Somebody else takes the rest.
const fd = openSync('/dev/shm/other', 'w')
const chunk = new Uint8Array(1 << 16)
const filled = failure(() => {
  for (;;) if (writeSync(fd, chunk) === 0) break
})
const while_ = {
  exchange: exchange(),
  alloc: failure(() => context.alloc(32 << 20)),
  cqs: failure(() => {
    for (let i = 0; i < 70_000; i++) context.createCq(1)
  }),
  pds: failure(() => {
    for (let i = 0; i < 20_000; i++) context.allocPd()
  }),
  qps: failure(() => {
    for (let i = 0; i < 70_000; i++)
      a.pd.createQp({ type: QpType.RC, sendCq: a.cq, recvCq: a.cq, cap: { maxSendWr: 1 } })
  }),
  mrs: failure(() => {
    for (let i = 0; i < 100; i++) a.pd.regMr(a.buffer, Access.LocalWrite)
  }),
  contexts: failure(() => {
    for (let i = 0; i < 2000; i++) openDevice('shm:small')
  }),
  later: exchange(),
}
closeSync(fd)
unlinkSync('/dev/shm/other')
const again = failure(() => context.alloc(4 << 20).fill(1))
console.log(
  JSON.stringify({
    fresh,
    before,
    fullMib,
    full: first.full,
    firstMib: first.buffers.length,
    secondMib: second.buffers.length,
    afterMib,
    filled: filled?.code,
    while: while_,
    again,
  }),
)
process.exit(0)
