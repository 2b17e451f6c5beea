// What every RDMA program does before its first message, in seven steps, and the busy waiting that all examples share.
import { Access, openDevice, pathTo, QpState, QpType, randomPsn } from 'verbena'

/**
 * Steps 1 to 6. `memory` is in bytes; `sends` and `recvs` are how many requests fit into a QP's two queues; `qps` is
 * how many QPs share the CQ, `srq` makes them share a receive queue of that many requests too.
 */
export function setupIb({ device, engine = 'poster', memory, sends = 64, recvs = 64, inline = 0, qps = 1, srq = 0 }) {
  // 1. Context: the adapter, opened. shm0 and shm1 are two adapters in the memory of this process.
  const context = openDevice(device, { engine })

  // 2. Protection domain: a key opens memory only for QPs of the same domain.
  const pd = context.allocPd()

  // 3. Memory region: bytes that the adapter may touch. lkey is for our own requests, rkey for those of a peer.
  const bytes = context.alloc(memory)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, memory)
  const mr = pd.regMr(bytes, Access.LocalWrite | Access.RemoteWrite)

  // 4. Completion queue: where the adapter tells which requests are done. It must have room for all of them.
  const cq = context.createCq(qps * (sends + recvs) + srq)

  // 5. Queue pairs: a send queue and a receive queue each, of a reliable connection.
  const shared = srq > 0 ? pd.createSrq({ maxWr: srq }) : undefined
  const cap = { maxSendWr: sends, maxRecvWr: recvs, maxInlineData: inline }
  const all = Array.from({ length: qps }, () =>
    pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq, cap, ...(shared && { srq: shared }) }),
  )

  // 6. Port: its LID and GID are the adapter's address in the network.
  const port = context.queryPort(1)
  const gid = context.queryGid(1, 0)

  return { context, pd, buffer, mr, cq, srq: shared, qps: all, qp: all[0], port, gid }
}

/** What the peer must know: where each QP is and, for RDMA WRITE, where our memory begins and the key to it. */
export function endpointsOf(ib) {
  const qps = ib.qps.map((qp) => ({ lid: ib.port.lid, gid: ib.gid, qpn: qp.qpNum, psn: randomPsn() }))
  return { qps, raddr: ib.mr.addr, rkey: ib.mr.rkey }
}

/** Step 7. Connects each QP of `ib` with the QP of the same number at the peer: RESET → INIT → RTR → RTS. */
export function connectIb(ib, local, remote) {
  for (const [i, qp] of ib.qps.entries()) {
    // INIT: the QP belongs to a port, and receives can be posted.
    qp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, accessFlags: Access.RemoteWrite })
    // RTR, ready to receive: the QP knows its peer, and the number of the peer's first packet.
    qp.modify({
      state: QpState.Rtr,
      ah: pathTo(remote.qps[i]),
      destQpNum: remote.qps[i].qpn,
      rqPsn: remote.qps[i].psn,
      pathMtu: ib.port.activeMtu,
      maxDestRdAtomic: 1,
      minRnrTimer: 12, // 0.64 ms: how long a sender waits when it finds no receive posted
    })
    // RTS, ready to send: also how long it waits for an acknowledgement, and how often it tries again.
    qp.modify({
      state: QpState.Rts,
      sqPsn: local.qps[i].psn,
      timeout: 14, // 4.096 µs · 2^14 = 67 ms
      retryCnt: 7,
      rnrRetry: 7, // for ever
      maxRdAtomic: 1,
    })
  }
}

/** Steps 1 to 7, with the exchange in between. `channel` is any way to the peer that is not RDMA: see peer.mjs. */
export async function setupAndConnect(channel, settings) {
  const ib = setupIb(settings)
  const local = endpointsOf(ib)
  const remote = await channel.exchange(local)
  connectIb(ib, local, remote)
  return { ib, remote }
}

/** Closes everything, the last made first: what is still in use cannot be closed. */
export function closeIb({ context, pd, mr, cq, srq, qps }) {
  for (const qp of qps) qp.close()
  srq?.close()
  cq.close()
  mr.close()
  pd.close()
  context.close()
}

/** Takes completions into `wc`, waiting until there is at least one; how many. Throws if one of them failed. */
export function pollCq(cq, wc) {
  for (let turns = 0; ; turns++) {
    const n = cq.poll(wc)
    for (let i = 0; i < n; i++) if (wc[i].status !== 0) throw new Error(`request ${wc[i].wrId}: ${wc[i].statusText}`)
    if (n > 0) return n
    if (n < 0) throw new Error('the completion queue overran')
    idle(turns)
  }
}

const nap = new Int32Array(new SharedArrayBuffer(4))
let patience = 0

/**
 * For every turn of a busy loop that found nothing: spins, then naps, so that an example also runs where there are more
 * threads than cores, and gives up after ten seconds instead of waiting for ever for a peer that failed.
 */
export function idle(turns) {
  if (turns < 10_000) return
  const now = performance.now()
  if (turns === 10_000) patience = now + 10_000
  if (now > patience) throw new Error('the other side has not answered for ten seconds')
  Atomics.wait(nap, 0, 0, 0.01)
}
