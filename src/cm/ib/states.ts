/**
 * The states of a connection and what leads from one to the next, as data: InfiniBand Architecture Specification,
 * volume 1, 12.9 (figures of the active, the passive and the peer-to-peer side, of releasing, and of loading an alternate
 * path), with the states named as Linux names them. docs/internals/cm.md has the diagram, which is made from this table.
 *
 * Where the table has no row, a message is dropped and counted, and a call throws.
 */
import type { CmType } from '../../wire/index.ts'
import type { CmEventType } from './events.ts'
import { type CmState, cmStates } from './state-names.ts'

/** Triggers of transitions: calls, messages of the peer, and time. */
export const cmTriggers = [
  // Calls
  'listen',
  'sendReq',
  'sendRep',
  'sendRtu',
  'sendRej',
  'sendMra',
  'prepareMra',
  'sendDreq',
  'sendDrep',
  'sendLap',
  'sendApr',
  'sendSidrReq',
  'sendSidrRep',
  'established',
  'close',
  // Messages; an MRA names the message that it answers
  'REQ',
  'REP',
  'RTU',
  'REJ',
  'MRA(REQ)',
  'MRA(REP)',
  'MRA(LAP)',
  'DREQ',
  'DREP',
  'LAP',
  'APR',
  'SIDR_REQ',
  'SIDR_REP',
  /** Another request or reply names the QP of this connection's peer, which therefore does not have the connection any more. */
  'stale',
  // Time: with repetitions left, and without
  'timeout',
  'expired',
  /** Another sender's request needs the room of this one. */
  'evicted',
] as const
export type CmTrigger = (typeof cmTriggers)[number]

/** Conditions on a message, or on the connection, in words for the diagram. */
export const cmGuards = {
  greater: 'peer to peer, and our GUID or QPN is the greater',
  smaller: 'peer to peer, and ours is the smaller',
  notYet: 'peer to peer, reason 8: the peer has not begun',
  stale: 'reason 10: stale connection',
  repeated: 'the LAP that was answered last',
  crossed: 'we are the passive side',
} as const
export type CmGuard = keyof typeof cmGuards

/**
 * Message to send: the message of the call; the one that was sent before, again; or one that the manager makes: a REJ with this reason, a
 * DREQ, a DREP, a SIDR_REP that rejects.
 */
export type CmSend =
  | CmType
  | `${CmType} again`
  | 'REJ (timeout)'
  | 'REJ (stale connection)'
  | 'REJ (consumer)'
  | 'REJ (no resources)'
  | 'own DREQ'
  | 'own DREP'
  | 'own SIDR_REP'

/**
 * `response`: begin to wait for an answer, with all repetitions. `next`: one repetition fewer. `program`: what the program
 * may take to answer a request.
 */
export type CmTimer = 'response' | 'next' | 'mra' | 'timewait' | 'answer' | 'program' | 'stop'

export interface CmTransition {
  from: readonly CmState[]
  on: CmTrigger
  when?: CmGuard
  /** Undefined: the state stays. */
  to?: CmState
  send?: CmSend
  /** Undefined: the timer stays as it is. */
  timer?: CmTimer
  event?: CmEventType
  /** The message is a repetition, and is counted as one. */
  duplicate?: true
}

const asking = ['REQ_SENT', 'MRA_REQ_RCVD'] as const
const asked = ['REQ_RCVD', 'MRA_REQ_SENT'] as const
const replying = ['REP_SENT', 'MRA_REP_RCVD'] as const
const replied = ['REP_RCVD', 'MRA_REP_SENT'] as const
const loading = ['LAP_SENT', 'MRA_LAP_RCVD'] as const
const toLoad = ['LAP_RCVD', 'MRA_LAP_SENT'] as const
const connected = ['ESTABLISHED', ...loading, ...toLoad] as const

export type CmFigure = 'listening' | 'active' | 'bothActive' | 'passive' | 'release' | 'alternatePath' | 'sidr'

/** Parts of the table, each of which is one figure. */
export const cmFigures: Readonly<Record<CmFigure, readonly CmTransition[]>> = {
  listening: [
    { from: ['IDLE'], on: 'listen', to: 'LISTEN' },
    { from: ['LISTEN'], on: 'close', to: 'IDLE' },
  ],
  active: [
    { from: ['IDLE'], on: 'sendReq', to: 'REQ_SENT', send: 'REQ', timer: 'response' },
    { from: asking, on: 'timeout', send: 'REQ again', timer: 'next' },
    { from: asking, on: 'expired', to: 'IDLE', send: 'REJ (timeout)', event: 'reqError' },
    { from: ['REQ_SENT'], on: 'MRA(REQ)', to: 'MRA_REQ_RCVD', timer: 'mra', event: 'mraReceived' },
    { from: ['MRA_REQ_RCVD'], on: 'MRA(REQ)', timer: 'mra', duplicate: true },
    { from: asking, on: 'REP', to: 'REP_RCVD', timer: 'stop', event: 'repReceived' },
    { from: [...asking, ...replied, ...connected], on: 'REJ', when: 'notYet' },
    { from: asking, on: 'REJ', when: 'stale', to: 'TIMEWAIT', timer: 'timewait', event: 'rejReceived' },
    { from: asking, on: 'REJ', to: 'IDLE', event: 'rejReceived' },
    { from: asking, on: 'close', to: 'IDLE', send: 'REJ (timeout)' },
    { from: ['REP_RCVD'], on: 'sendMra', to: 'MRA_REP_SENT', send: 'MRA' },
    { from: ['REP_RCVD'], on: 'prepareMra', to: 'MRA_REP_SENT' },
    { from: ['REP_RCVD'], on: 'REP', duplicate: true },
    { from: ['MRA_REP_SENT'], on: 'REP', send: 'MRA again', duplicate: true },
    { from: replied, on: 'sendRtu', to: 'ESTABLISHED', send: 'RTU' },
    { from: replied, on: 'sendRej', to: 'ANSWERED', send: 'REJ', timer: 'answer' },
    { from: replied, on: 'close', to: 'ANSWERED', send: 'REJ (consumer)', timer: 'answer' },
    { from: replied, on: 'REJ', to: 'TIMEWAIT', timer: 'timewait', event: 'rejReceived' },
    { from: connected, on: 'REP', send: 'RTU again', duplicate: true },
    { from: ['ANSWERED'], on: 'REP', send: 'REJ again', duplicate: true },
  ],
  bothActive: [
    { from: asking, on: 'REQ', when: 'greater', send: 'REQ again' },
    { from: asking, on: 'REQ', when: 'smaller', to: 'REQ_RCVD', timer: 'stop', event: 'reqReceived' },
  ],
  passive: [
    { from: ['LISTEN'], on: 'REQ', to: 'REQ_RCVD', timer: 'program', event: 'reqReceived' },
    { from: ['REQ_RCVD'], on: 'REQ', duplicate: true },
    { from: ['MRA_REQ_SENT'], on: 'REQ', send: 'MRA again', duplicate: true },
    { from: ['REQ_RCVD'], on: 'sendMra', to: 'MRA_REQ_SENT', send: 'MRA' },
    { from: ['REQ_RCVD'], on: 'prepareMra', to: 'MRA_REQ_SENT' },
    { from: asked, on: 'sendRep', to: 'REP_SENT', send: 'REP', timer: 'response' },
    { from: asked, on: 'sendRej', to: 'ANSWERED', send: 'REJ', timer: 'answer' },
    { from: asked, on: 'close', to: 'ANSWERED', send: 'REJ (consumer)', timer: 'answer' },
    { from: asked, on: 'REJ', to: 'TIMEWAIT', timer: 'timewait', event: 'rejReceived' },
    { from: asked, on: 'expired', to: 'IDLE', send: 'REJ (timeout)', event: 'reqDropped' },
    { from: asked, on: 'evicted', to: 'IDLE', event: 'reqDropped' },
    { from: asked, on: 'stale', to: 'TIMEWAIT', timer: 'timewait', event: 'staleConnection' },
    { from: ['ANSWERED'], on: 'REQ', send: 'REJ again', duplicate: true },
    { from: replying, on: 'REQ', send: 'REP again', duplicate: true },
    { from: replying, on: 'timeout', send: 'REP again', timer: 'next' },
    { from: replying, on: 'expired', to: 'TIMEWAIT', send: 'REJ (timeout)', timer: 'timewait', event: 'repError' },
    {
      from: replying,
      on: 'evicted',
      to: 'TIMEWAIT',
      send: 'REJ (no resources)',
      timer: 'timewait',
      event: 'reqDropped',
    },
    { from: ['REP_SENT'], on: 'MRA(REP)', to: 'MRA_REP_RCVD', timer: 'mra', event: 'mraReceived' },
    { from: ['MRA_REP_RCVD'], on: 'MRA(REP)', timer: 'mra', duplicate: true },
    { from: replying, on: 'RTU', to: 'ESTABLISHED', timer: 'stop', event: 'rtuReceived' },
    { from: replying, on: 'established', to: 'ESTABLISHED', timer: 'stop', event: 'userEstablished' },
    { from: replying, on: 'REJ', to: 'TIMEWAIT', timer: 'timewait', event: 'rejReceived' },
    { from: replying, on: 'sendRej', to: 'TIMEWAIT', send: 'REJ', timer: 'timewait' },
    { from: replying, on: 'close', to: 'TIMEWAIT', send: 'REJ (consumer)', timer: 'timewait' },
    { from: replying, on: 'DREQ', to: 'DREQ_RCVD', timer: 'stop', event: 'dreqReceived' },
    { from: [...replying, ...replied], on: 'stale', to: 'TIMEWAIT', timer: 'timewait', event: 'staleConnection' },
    { from: connected, on: 'REQ', duplicate: true },
    { from: connected, on: 'RTU', duplicate: true },
  ],
  release: [
    { from: connected, on: 'sendDreq', to: 'DREQ_SENT', send: 'DREQ', timer: 'response' },
    { from: connected, on: 'close', to: 'DREQ_SENT', send: 'own DREQ', timer: 'response' },
    { from: connected, on: 'stale', to: 'DREQ_SENT', send: 'own DREQ', timer: 'response', event: 'staleConnection' },
    { from: connected, on: 'DREQ', to: 'DREQ_RCVD', timer: 'stop', event: 'dreqReceived' },
    { from: connected, on: 'REJ', to: 'TIMEWAIT', timer: 'timewait', event: 'rejReceived' },
    { from: ['DREQ_SENT'], on: 'timeout', send: 'DREQ again', timer: 'next' },
    { from: ['DREQ_SENT'], on: 'expired', to: 'TIMEWAIT', timer: 'timewait', event: 'dreqError' },
    { from: ['DREQ_SENT'], on: 'DREP', to: 'TIMEWAIT', timer: 'timewait', event: 'drepReceived' },
    { from: ['DREQ_SENT'], on: 'DREQ', to: 'DREQ_RCVD', timer: 'stop', event: 'dreqReceived' },
    { from: ['DREQ_SENT'], on: 'REJ', to: 'TIMEWAIT', timer: 'timewait', event: 'rejReceived' },
    { from: ['DREQ_SENT'], on: 'close' },
    { from: ['DREQ_RCVD'], on: 'sendDrep', to: 'TIMEWAIT', send: 'DREP', timer: 'timewait' },
    { from: ['DREQ_RCVD'], on: 'close', to: 'TIMEWAIT', send: 'own DREP', timer: 'timewait' },
    { from: ['DREQ_RCVD'], on: 'DREQ', duplicate: true },
    { from: ['TIMEWAIT'], on: 'DREQ', send: 'own DREP', duplicate: true },
    { from: ['TIMEWAIT'], on: 'REQ', send: 'REJ (stale connection)', duplicate: true },
    { from: ['TIMEWAIT'], on: 'REP', send: 'REJ (stale connection)', duplicate: true },
    { from: ['TIMEWAIT'], on: 'DREP', duplicate: true },
    { from: ['TIMEWAIT'], on: 'close' },
    { from: ['TIMEWAIT'], on: 'expired', to: 'IDLE', event: 'timewaitExit' },
    { from: ['ANSWERED'], on: 'DREQ', send: 'own DREP', duplicate: true },
    { from: ['ANSWERED'], on: 'close' },
    { from: ['ANSWERED'], on: 'expired', to: 'IDLE' },
  ],
  alternatePath: [
    { from: ['ESTABLISHED'], on: 'sendLap', to: 'LAP_SENT', send: 'LAP', timer: 'response' },
    { from: loading, on: 'timeout', send: 'LAP again', timer: 'next' },
    { from: loading, on: 'expired', to: 'ESTABLISHED', timer: 'stop', event: 'lapError' },
    { from: loading, on: 'APR', to: 'ESTABLISHED', timer: 'stop', event: 'aprReceived' },
    { from: ['LAP_SENT'], on: 'MRA(LAP)', to: 'MRA_LAP_RCVD', timer: 'mra', event: 'mraReceived' },
    { from: ['MRA_LAP_RCVD'], on: 'MRA(LAP)', timer: 'mra', duplicate: true },
    { from: loading, on: 'LAP', when: 'crossed', to: 'LAP_RCVD', timer: 'stop', event: 'lapReceived' },
    { from: ['ESTABLISHED'], on: 'LAP', when: 'repeated', send: 'APR again', duplicate: true },
    { from: ['ESTABLISHED'], on: 'LAP', to: 'LAP_RCVD', event: 'lapReceived' },
    { from: ['LAP_RCVD'], on: 'LAP', duplicate: true },
    { from: ['MRA_LAP_SENT'], on: 'LAP', send: 'MRA again', duplicate: true },
    { from: ['LAP_RCVD'], on: 'sendMra', to: 'MRA_LAP_SENT', send: 'MRA' },
    { from: ['LAP_RCVD'], on: 'prepareMra', to: 'MRA_LAP_SENT' },
    { from: toLoad, on: 'sendApr', to: 'ESTABLISHED', send: 'APR' },
  ],
  sidr: [
    { from: ['IDLE'], on: 'sendSidrReq', to: 'SIDR_REQ_SENT', send: 'SIDR_REQ', timer: 'response' },
    { from: ['SIDR_REQ_SENT'], on: 'timeout', send: 'SIDR_REQ again', timer: 'next' },
    { from: ['SIDR_REQ_SENT'], on: 'expired', to: 'IDLE', event: 'sidrReqError' },
    { from: ['SIDR_REQ_SENT'], on: 'SIDR_REP', to: 'IDLE', event: 'sidrRepReceived' },
    { from: ['SIDR_REQ_SENT'], on: 'close', to: 'IDLE' },
    { from: ['LISTEN'], on: 'SIDR_REQ', to: 'SIDR_REQ_RCVD', timer: 'program', event: 'sidrReqReceived' },
    { from: ['SIDR_REQ_RCVD'], on: 'expired', to: 'IDLE', event: 'reqDropped' },
    { from: ['SIDR_REQ_RCVD'], on: 'evicted', to: 'IDLE', event: 'reqDropped' },
    { from: ['SIDR_REQ_RCVD'], on: 'SIDR_REQ', duplicate: true },
    { from: ['SIDR_REQ_RCVD'], on: 'sendSidrRep', to: 'ANSWERED', send: 'SIDR_REP', timer: 'answer' },
    { from: ['SIDR_REQ_RCVD'], on: 'close', to: 'ANSWERED', send: 'own SIDR_REP', timer: 'answer' },
    { from: ['ANSWERED'], on: 'SIDR_REQ', send: 'SIDR_REP again', duplicate: true },
  ],
}

export const cmTransitions: readonly CmTransition[] = Object.values(cmFigures).flat()

/** Returns the rows for a state and a trigger, in the order in which their conditions are tried. */
export function transitionsOf(state: CmState, trigger: CmTrigger): readonly CmTransition[] {
  return rows.get(`${state} ${trigger}`) ?? none
}

const none: readonly CmTransition[] = []
const rows = new Map<string, CmTransition[]>()
for (const row of cmTransitions)
  for (const state of row.from) {
    const key = `${state} ${row.on}`
    const found = rows.get(key)
    if (found === undefined) rows.set(key, [row])
    else found.push(row)
  }

/** Returns the states from which a call is possible, for errors. */
export function statesFor(call: CmTrigger): CmState[] {
  return cmStates.filter((state) => transitionsOf(state, call).length > 0)
}
