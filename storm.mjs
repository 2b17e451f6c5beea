import { createEventChannel, PortSpace, CmEventType as T } from './dist/index.js'
const [sd, cd, addr, n] = [process.argv[2], process.argv[3], process.argv[4], Number(process.argv[5])]
const server = createEventChannel({ device: sd }), client = createEventChannel({ device: cd })
const l = server.createId(PortSpace.Tcp); l.bindAddr({ address: addr, port: 7471 }); l.listen()
const lap = []; let t0 = performance.now(); const mark = (s) => { const t = performance.now(); lap.push([s, ((t - t0) * 1000 / n).toFixed(1) + ' us']); t0 = t }
const ids = []
for (let i = 0; i < n; i++) ids.push(client.createId(PortSpace.Tcp)); mark('create')
for (const id of ids) { id.resolveAddr(undefined, { address: addr, port: 7471 }); client.tryGetEvent() } mark('addr')
for (const id of ids) { id.resolveRoute(); client.tryGetEvent() } mark('route')
const ctx = ids[0].verbs, pd = ids[0].pd
const cq = ctx.createCq(60000)
const sctx = l.verbs, spd = l.pd ?? pd
const scq = sctx.createCq(60000)
for (const id of ids) id.createQp({ sendCq: cq, recvCq: cq, cap: { maxSendWr: 1, maxRecvWr: 1 } }); mark('createQp')
for (const id of ids) id.connect({}); mark('connect')
let est = 0, sest = 0, disc = 0, sdisc = 0; const sids = []
const pump = () => {
  for (let e; (e = server.tryGetEvent());) {
    if (e.type === T.ConnectRequest) { e.id.createQp({ sendCq: scq, recvCq: scq, cap: { maxSendWr: 1, maxRecvWr: 1 } }); e.id.accept({}); sids.push(e.id) }
    else if (e.type === T.Established) sest++
    else if (e.type === T.Disconnected) { e.id.disconnect(); sdisc++ }
    else if (e.type !== T.TimewaitExit) console.log('server', e.name, e.status)
  }
  for (let e; (e = client.tryGetEvent());) { if (e.type === T.Established) est++; else if (e.type === T.Disconnected) disc++; else if (e.type !== T.TimewaitExit) console.log('client', e.name, e.status) }
}
let end = performance.now() + 60000
while ((est < n || sest < n) && performance.now() < end) { pump(); }
mark('established'); console.log(est, sest)
for (const id of ids) id.disconnect(); mark('disconnect')
while ((disc < n || sdisc < n) && performance.now() < end) pump()
mark('disconnected'); console.log(disc, sdisc)
for (const id of ids) id.close(); mark('close')
for (const id of sids) id.close(); mark('closeS')
console.log(lap.map((x) => x.join(' ')).join('\n'))
console.log(ctx.counters().ud_drops_no_receive, process.memoryUsage().rss >> 20)
process.exit()
