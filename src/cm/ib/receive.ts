/**
 * Handles messages: finds the connection of each, updates it, and answers messages that belong to none. No function here throws, whatever a
 * message contains.
 */
import { QpType } from '../../verbs/provider/index.ts'
import { type CmMessage, CmRejReason, type CmReq, get64Big, isMalformed, Mad, parseCm } from '../../wire/index.ts'
import { Connection, type Listener } from './connection.ts'
import { type Engine, halfOpenStates } from './engine.ts'
import { additional, build, buildSidrRep, hasPath, turned } from './messages.ts'
import { mtuInfo } from './mtu.ts'
import { AprStatus, type CmMessageOf, type RejParams, SidrStatus } from './parameters.ts'
import { remoteKeyOf, sidrKeyOf } from './registry.ts'
import type { CmTrigger } from './states.ts'
import { ackTimeoutCode, timeoutNs } from './timeouts.ts'

/** QP numbers 0 and 1 are those of management. */
const firstQpn = 2
const mraTriggers: readonly (CmTrigger | undefined)[] = ['MRA(REQ)', 'MRA(REP)', 'MRA(LAP)', undefined]

export function receive<A>(engine: Engine<A>, mad: Uint8Array, from: A, now: number): void {
  // What events bring must outlive the buffer of the caller.
  const bytes = mad.slice(0, Mad.totalLength)
  const message = parseCm(bytes, 0, bytes.length)
  if (isMalformed(message)) {
    engine.drop(message)
    return
  }
  engine.counters.received[message.type]++
  switch (message.type) {
    case 'REQ':
      receiveReq(engine, message, from, now)
      break
    case 'SIDR_REQ':
      receiveSidrReq(engine, message, from, now)
      break
    case 'SIDR_REP': {
      const c = engine.registry.byLocal(message.requestId)
      if (c?.kind !== 'sidr' || !c.active) engine.drop('unknownId')
      else if (!engine.isFromPeer(c, from)) engine.drop('foreignSource')
      else follow(engine, c, 'SIDR_REP', message, now)
      break
    }
    case 'REJ':
      receiveRej(engine, message, from, now)
      break
    default: {
      const c = engine.registry.find(message.remoteCommId, message.localCommId)
      if (c === undefined) answerUnknown(engine, message, from)
      else if (!engine.isFromPeer(c, from)) engine.drop('foreignSource')
      else receiveFor(engine, c, message, from, now)
    }
  }
}

type OfConnection = CmMessageOf<'REP' | 'MRA' | 'RTU' | 'DREQ' | 'DREP' | 'LAP' | 'APR'>

function receiveFor<A>(engine: Engine<A>, c: Connection<A>, message: OfConnection, from: A, now: number): void {
  switch (message.type) {
    case 'REP':
      if (c.state === 'REQ_SENT' || c.state === 'MRA_REQ_RCVD') receiveRep(engine, c, message, from, now)
      else follow(engine, c, 'REP', message, now)
      return
    case 'MRA': {
      const trigger = mraTriggers[message.messageMraed]
      c.serviceTimeout = message.serviceTimeout
      if (trigger === undefined) engine.drop('unexpected')
      else follow(engine, c, trigger, message, now)
      return
    }
    case 'DREQ':
    case 'LAP':
      if (message.remoteQpn !== c.localQpn) {
        engine.drop('wrongQpn')
        return
      }
      if (message.type === 'LAP') receiveLap(engine, c, message, now)
      else {
        c.requestTransactionId = message.transactionId
        follow(engine, c, 'DREQ', message, now)
      }
      return
    case 'APR':
      receiveApr(engine, c, message, now)
      return
    default:
      follow(engine, c, message.type, message, now)
  }
}

function follow<A>(engine: Engine<A>, c: Connection<A>, trigger: CmTrigger, message: CmMessage, now: number): void {
  if (!engine.step(c, trigger, now, { message })) engine.drop('unexpected')
}

function receiveReq<A>(engine: Engine<A>, request: CmMessageOf<'REQ'>, from: A, now: number): void {
  const { registry, options } = engine
  const source = options.addressKey(from)
  const key = remoteKeyOf(request.localCaGuid, request.localCommId, source)
  const known = registry.byRemote(key)
  if (known !== undefined) {
    if (known.active || (known.remoteQpn === request.localQpn && known.sqPsn === request.startingPsn)) {
      follow(engine, known, 'REQ', request, now)
      return
    }
    // The id is in use for another request: an old one gives it up, an established connection does not.
    if (known.state !== 'TIMEWAIT' && known.state !== 'ANSWERED') {
      refuse(engine, request, CmRejReason.DuplicateLocalCommId, from)
      return
    }
    registry.forgetRemote(known)
  }
  const reason = wrongIn(request)
  const refusal = reason === undefined ? options.check?.(request, from) : { reason }
  if (refusal !== undefined) {
    refuse(engine, request, refusal.reason ?? CmRejReason.ConsumerReject, from, refusal)
    return
  }
  const stale = registry.byQpn(request.localCaGuid, request.localQpn, source)
  // IBA 12.9.8.3.1: a REQ that names a QP that is connected here indicates that its connection is over.
  if (stale !== undefined) {
    engine.step(stale, 'stale', now)
    refuse(engine, request, CmRejReason.StaleConnection, from)
    return
  }
  const peer = registry.peerFor(request, options.caGuid, (c) => engine.isFromPeer(c, from))
  if (peer !== undefined) {
    receiveFromPeer(engine, peer, request, key, now)
    return
  }
  const listener = registry.listenerFor(request, from)
  if (listener === undefined) {
    if (options.servedByOthers?.(request.serviceId)) engine.drop('servedByOthers')
    else refuse(engine, request, CmRejReason.InvalidServiceId, from)
    return
  }
  const c = admit(engine, request, listener, from, now)
  if (c === undefined) return
  learn(c, request)
  c.rqPsn = engine.newPsn()
  c.primary = turned(request.primary)
  c.alternate = hasPath(request.alternate) ? turned(request.alternate) : undefined
  c.pathMtu = request.pathMtu
  c.pkey = request.pkey
  c.responderResources = request.initiatorDepth
  c.initiatorDepth = request.responderResources
  c.flowControl = request.endToEndFlowControl
  registry.knowRemote(c, key)
  registry.knowQpn(c)
  engine.step(c, 'REQ', now, { message: request, from })
}

/**
 * Handles the REQ of a peer to which this side has sent one, too. The side with the greater GUID or QP number stays active; the other
 * answers.
 */
function receiveFromPeer<A>(
  engine: Engine<A>,
  c: Connection<A>,
  request: CmMessageOf<'REQ'>,
  key: string,
  now: number,
): void {
  const { registry } = engine
  if (engine.compare(c, request) < 0) {
    // A REP has no field by which this end could request another type or a smaller MTU.
    const reason =
      typeOf(request) !== c.qpType
        ? CmRejReason.InvalidTransportServiceType
        : request.pathMtu > c.pathMtu
          ? CmRejReason.InvalidPathMtu
          : undefined
    if (reason !== undefined) {
      const info = reason === CmRejReason.InvalidPathMtu ? { additionalInfo: mtuInfo(c.pathMtu) } : {}
      refuse(engine, request, reason, c.peer, info)
      return
    }
    learn(c, request)
    c.active = false
    c.pathMtu = request.pathMtu
    c.responderResources = Math.min(c.responderResources, request.initiatorDepth)
    c.initiatorDepth = Math.min(c.initiatorDepth, request.responderResources)
    c.flowControl &&= request.endToEndFlowControl
    registry.knowRemote(c, key)
    registry.knowQpn(c)
  }
  follow(engine, c, 'REQ', request, now)
}

const typeOf = (request: CmReq): QpType => (request.transportServiceType === 1 ? QpType.UC : QpType.RC)

/** Copies the values of a REQ to the connection of the passive side. */
function learn<A>(c: Connection<A>, request: CmMessageOf<'REQ'>): void {
  c.transactionId = request.transactionId
  c.remoteCommId = request.localCommId
  c.remoteKnown = true
  c.remoteCaGuid = request.localCaGuid
  c.remoteQpn = request.localQpn
  c.remoteQkey = request.localQkey
  c.sqPsn = request.startingPsn
  c.qpType = typeOf(request)
  c.remoteSrq = request.srq
  c.retryCount = request.retryCount
  c.rnrRetryCount = request.rnrRetryCount
  c.ackTimeout = request.primary.localAckTimeout
  c.responseNs = timeoutNs(request.localCmResponseTimeout)
  c.maxRetries = request.maxCmRetries
  // The peer may repeat its REQ for this long.
  const perTry = timeoutNs(request.remoteCmResponseTimeout) + timeoutNs(request.primary.localAckTimeout)
  c.answerNs = perTry * (request.maxCmRetries + 1)
}

/** Returns a reason to reject a REQ, independent of its service; undefined if there is none. */
function wrongIn(request: CmReq): number | undefined {
  // IBA 12.6.7.2: the reasons for which a REQ is rejected.
  if (request.transportServiceType > 1) return CmRejReason.InvalidTransportServiceType
  if (request.pathMtu < 1 || request.pathMtu > 5) return CmRejReason.InvalidPathMtu
  return request.localQpn < firstQpn ? CmRejReason.UnsupportedRequest : undefined
}

function refuse<A>(
  engine: Engine<A>,
  request: CmMessageOf<'REQ'>,
  reason: number,
  to: A,
  params: RejParams = {},
): void {
  engine.countRej(reason)
  const ids = { localCommId: 0, remoteCommId: request.localCommId }
  const fields = { ...ids, messageRejected: 0, reason, ...additional('receive', params.additionalInfo) }
  engine.sendTo('REJ', build('receive', 'REJ', request.transactionId, fields), to)
}

/** Makes a connection for a request to a listener, unless there are too many. */
function admit<A>(
  engine: Engine<A>,
  request: CmMessageOf<'REQ'> | CmMessageOf<'SIDR_REQ'>,
  listener: Listener<A>,
  from: A,
  now: number,
): Connection<A> | undefined {
  const source = engine.options.addressKey(from)
  const refusal = engine.refusal(listener, source, now)
  const id = refusal === undefined ? engine.freeCommId() : undefined
  if (id === undefined) {
    engine.drop(refusal ?? 'tooMany')
    if (listener.whenFull === 'reject') {
      if (request.type === 'REQ') refuse(engine, request, CmRejReason.NoResources, from)
      else engine.sendTo('SIDR_REP', buildSidrRep(request, { status: SidrStatus.NoQp }), from)
    }
    return undefined
  }
  const c = new Connection(
    request.type === 'REQ' ? 'connection' : 'sidr',
    'LISTEN',
    id,
    request.serviceId,
    from,
    source,
  )
  c.listener = listener
  engine.registry.add(c)
  return c
}

function receiveRep<A>(engine: Engine<A>, c: Connection<A>, reply: CmMessageOf<'REP'>, from: A, now: number): void {
  const { registry } = engine
  const refuseRep = (reason: number): void => rejectRep(engine, reply, c.localCommId, reason, from)
  if (reply.localQpn < firstQpn) {
    engine.drop('wrongQpn')
    return
  }
  const stale = registry.byQpn(reply.localCaGuid, reply.localQpn, c.peerKey)
  // IBA 12.9.8.3.1: so does a REP.
  if (stale !== undefined) {
    engine.step(stale, 'stale', now)
    refuseRep(CmRejReason.StaleConnection)
    return
  }
  const key = remoteKeyOf(reply.localCaGuid, reply.localCommId, c.peerKey)
  const known = registry.byRemote(key)
  if (known !== undefined && known.state !== 'TIMEWAIT' && known.state !== 'ANSWERED') {
    refuseRep(CmRejReason.DuplicateLocalCommId)
    return
  }
  if (known !== undefined) registry.forgetRemote(known)
  c.remoteCommId = reply.localCommId
  c.remoteKnown = true
  c.remoteCaGuid = reply.localCaGuid
  c.remoteQpn = reply.localQpn
  c.remoteQkey = reply.localQkey
  c.sqPsn = reply.startingPsn
  c.remoteSrq = reply.srq
  c.rnrRetryCount = reply.rnrRetryCount
  // What the peer grants can only be less than what this end asked for.
  c.responderResources = Math.min(c.responderResources, reply.initiatorDepth)
  c.initiatorDepth = Math.min(c.initiatorDepth, reply.responderResources)
  c.flowControl &&= reply.endToEndFlowControl
  c.ackTimeout = ackTimeoutCode(reply.targetAckDelay, c.packetLifeTime)
  registry.knowRemote(c, key)
  registry.knowQpn(c)
  follow(engine, c, 'REP', reply, now)
}

function rejectRep<A>(engine: Engine<A>, reply: CmMessageOf<'REP'>, localCommId: number, reason: number, to: A): void {
  engine.countRej(reason)
  const fields = { localCommId, remoteCommId: reply.localCommId, messageRejected: 1, reason }
  engine.sendTo('REJ', build('receive', 'REJ', reply.transactionId, fields), to)
}

function receiveRej<A>(engine: Engine<A>, rej: CmMessageOf<'REJ'>, from: A, now: number): void {
  const { registry } = engine
  let c = rejected(registry.byLocal(rej.remoteCommId), rej)
  if (c === undefined && rej.reason === CmRejReason.Timeout && rej.additionalInfoLength >= 8) {
    // A requester that gave up waiting may not know the other's id: its GUID and its own id name the connection. Once the
    // connection stands it has had the REP, and both ids are wanted.
    const guid = get64Big(rej.additionalInfo, 0)
    c = registry.byRemote(remoteKeyOf(guid, rej.localCommId, engine.options.addressKey(from)))
    if (c !== undefined && !halfOpenStates.has(c.state)) {
      engine.drop('unexpected')
      return
    }
  }
  if (c === undefined) engine.drop('unknownId')
  else if (!engine.isFromPeer(c, from)) engine.drop('foreignSource')
  else follow(engine, c, 'REJ', rej, now)
}

/**
 * Returns the connection that a REJ rejects. A peer that rejects a REQ may have no id; then this end must have sent the REQ. If a
 * repetition of the REQ has been accepted meanwhile, the peer's id is known, and the rejection is outdated.
 */
function rejected<A>(c: Connection<A> | undefined, rej: CmMessageOf<'REJ'>): Connection<A> | undefined {
  if (c?.kind !== 'connection' || (rej.messageRejected === 0 && !c.active)) return undefined
  return !c.remoteKnown || c.remoteCommId === rej.localCommId ? c : undefined
}

function receiveLap<A>(engine: Engine<A>, c: Connection<A>, lap: CmMessageOf<'LAP'>, now: number): void {
  const { state } = c
  const repeated = c.answeredLap === lap.transactionId
  const crossed = (state === 'LAP_SENT' || state === 'MRA_LAP_RCVD') && !c.active
  if ((state === 'ESTABLISHED' && !repeated) || crossed) {
    c.requestTransactionId = lap.transactionId
    c.proposed = turned(lap.alternate)
  }
  follow(engine, c, 'LAP', lap, now)
}

function receiveApr<A>(engine: Engine<A>, c: Connection<A>, apr: CmMessageOf<'APR'>, now: number): void {
  if (apr.transactionId !== c.lapTransactionId || (c.state !== 'LAP_SENT' && c.state !== 'MRA_LAP_RCVD')) {
    engine.drop('unexpected')
    return
  }
  if (apr.status === AprStatus.Loaded) c.alternate = c.proposed
  follow(engine, c, 'APR', apr, now)
}

/** Answers a message for an unknown connection: a sender that waits for an answer gets a REJ or a DREP. */
function answerUnknown<A>(engine: Engine<A>, message: OfConnection, from: A): void {
  const { transactionId } = message
  const ids = { localCommId: message.remoteCommId, remoteCommId: message.localCommId }
  engine.drop('unknownId')
  if (message.type === 'REP') rejectRep(engine, message, ids.localCommId, CmRejReason.InvalidCommId, from)
  else if (message.type === 'DREQ') engine.sendTo('DREP', build('receive', 'DREP', transactionId, ids), from)
  else if (message.type === 'LAP') {
    const fields = { ...ids, status: AprStatus.InvalidCommId }
    engine.sendTo('APR', build('receive', 'APR', transactionId, fields), from)
  }
}

function receiveSidrReq<A>(engine: Engine<A>, request: CmMessageOf<'SIDR_REQ'>, from: A, now: number): void {
  const { registry, options } = engine
  const key = sidrKeyOf(request.requestId, request.serviceId, options.addressKey(from))
  const known = registry.byRemote(key)
  if (known !== undefined) {
    follow(engine, known, 'SIDR_REQ', request, now)
    return
  }
  const listener = registry.listenerFor(request, from)
  if (listener === undefined) {
    if (options.servedByOthers?.(request.serviceId)) engine.drop('servedByOthers')
    else engine.sendTo('SIDR_REP', buildSidrRep(request, { status: SidrStatus.Unsupported }), from)
    return
  }
  const c = admit(engine, request, listener, from, now)
  if (c === undefined) return
  c.remoteCommId = request.requestId
  c.remoteKnown = true
  c.pkey = request.pkey
  c.transactionId = request.transactionId
  c.answerNs = engine.limits.waitNs
  registry.knowRemote(c, key)
  engine.step(c, 'SIDR_REQ', now, { message: request, from })
}
