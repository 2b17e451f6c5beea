// A process that is in a named segment for a moment: `come-and-go.mjs DEVICE MS exit|kill`.
import { openDevice, QpType } from 'verbena'

const [device, ms, how] = process.argv.slice(2)
const pd = openDevice(device).allocPd()
const cq = pd.context.createCq(16)
const cap = { maxSendWr: 4, maxRecvWr: 4, maxSendSge: 1, maxRecvSge: 1 }
for (let i = 0; i < 5; i++) pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq, cap })
setTimeout(() => (how === 'kill' ? process.kill(process.pid, 'SIGKILL') : process.exit(0)), Number(ms))
