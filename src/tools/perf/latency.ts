/**
 * Latency tests.
 *
 *     send    SEND to the peer, which answers with a SEND: half the round trip
 *     write   RDMA WRITE into the peer's memory, where it polls the last byte and answers the same way: half of it
 *     read, atomic   from posting to the completion
 *
 * Closed loop: the next message is sent when the answer has arrived. Open loop (`--rate`): messages are sent when they are
 * due, whatever is outstanding, and a latency counts from the moment at which the message should have been sent, so that
 * queueing time is part of it.
 */
import { SendFlag } from '../../index.ts'
import { nowNs } from '../../memory/index.ts'
import type { Recorder } from './recorder.ts'
import { busy, type DataEnd, failed, idle, peerSent, quietNs, received } from './state.ts'

/** Time after which a missing answer on UC or UD is lost. */
const lossAfterNs = 1e9

export interface LatencyGoal {
  /** Number of transactions; Infinity with a duration. */
  messages: number
  /** Nanoseconds between messages of an open loop; 0: closed loop. */
  intervalNs: number
  /** Start and end of recording, relative to the start, with a duration; else 0 and Infinity. */
  fromNs: number
  untilNs: number
  /** End of a run with a duration, nanoseconds from the start. */
  endNs: number
}

export interface LatencyRun {
  /** Number of messages that were sent, and number of those that were never answered. */
  messages: number
  lost: number
  /** Number of messages that were recorded, and their duration. */
  recorded: number
  seconds: number
}

/** Returns the value of the last byte of message number `seq`: it differs from that of the message before in the same slot. */
function markOf(e: DataEnd, seq: number): number {
  return 1 + (Math.floor(seq / e.slots) % 255)
}

const signalMask = 31

/** Posts message number `seq`. Its send completion, if it makes one, is taken by `collectSends`. */
function post(e: DataEnd, seq: number): boolean {
  const wr = e.singles[0]!
  wr.wrId = seq
  if (e.verb === 'read' || e.verb === 'atomic') wr.sendFlags = SendFlag.Signaled
  else {
    if (seq - e.completedSeq > e.sendRoom && !makeRoom(e, seq)) return false
    wr.sendFlags = (seq & signalMask) === signalMask ? e.flags | SendFlag.Signaled : e.flags
    if (e.verb === 'send') wr.immData = seq >>> 0
    else mark(e, seq, markOf(e, seq))
  }
  e.qps[0]!.postSend(wr)
  return true
}

/** Points the request to the slot of message `seq` and writes its last byte. */
function mark(e: DataEnd, seq: number, value: number): void {
  const at = (seq % e.slots) * e.strideBytes
  const wr = e.singles[0]!
  wr.remoteAddr = e.remoteAddr + at
  wr.sgList[0]!.addr = e.outAddr + at
  e.outbox[at + e.size - 1] = value
}

function collectSends(e: DataEnd): void {
  const n = e.sendCq.poll(e.wcs)
  if (n < 0) e.error ||= 'the send CQ overran'
  for (let i = 0; i < n; i++) {
    const wc = e.wcs[i]!
    if (wc.status !== 0) failed(e, 'request', wc)
    else e.completedSeq = wc.wrId
  }
}

/** Waits until the send queue takes message `seq`; returns false if the loop has to end. */
function makeRoom(e: DataEnd, seq: number): boolean {
  while (seq - e.completedSeq > e.sendRoom) {
    collectSends(e)
    if (e.error !== '' || (seq - e.completedSeq > e.sendRoom && !idle(e))) return false
  }
  return true
}

const answered = 0
const lost = 1
const ended = 2

/** Waits for the answer to message `seq`. */
function awaitAnswer(e: DataEnd, seq: number): number {
  for (;;) {
    if (e.verb === 'write') {
      const last = (seq % e.slots) * e.strideBytes + e.size - 1
      if (Atomics.load(e.inbox, last) === markOf(e, seq)) break
      // Polling also lets an adapter that works in this thread make progress.
      collectSends(e)
    } else {
      const cq = e.verb === 'send' ? e.recvCq : e.sendCq
      const n = cq.poll(e.wcs, 1)
      if (n < 0) e.error ||= 'a CQ overran'
      if (n > 0) {
        const wc = e.wcs[0]!
        if (wc.status !== 0) failed(e, e.verb === 'send' ? 'receive' : 'request', wc)
        else if (e.verb !== 'send') break
        else {
          const mine = wc.immData === seq >>> 0
          received(e, 0)
          if (mine) break
          // The answer belongs to a message that was given up.
          continue
        }
      }
      if (e.verb === 'send' && (e.spins & 255) === 255) collectSends(e)
    }
    if (e.error !== '' || !idle(e)) return ended
    if (e.connection !== 'RC' && quietNs(e) > lossAfterNs) {
      busy(e)
      return lost
    }
  }
  busy(e)
  return answered
}

export function closedLoop(e: DataEnd, goal: LatencyGoal, recorder: Recorder): LatencyRun {
  const beganNs = nowNs()
  const fromNs = beganNs + goal.fromNs
  const untilNs = beganNs + goal.untilNs
  const endNs = beganNs + goal.endNs
  const run: LatencyRun = { messages: 0, lost: 0, recorded: 0, seconds: 0 }
  let firstNs = 0
  let lastNs = 0
  let postedNs = nowNs()
  while (run.messages < goal.messages && postedNs < endNs) {
    const seq = e.nextSeq++
    if (!post(e, seq)) break
    const outcome = awaitAnswer(e, seq)
    const answeredNs = nowNs()
    if (outcome === ended) break
    run.messages++
    if (outcome === lost) run.lost++
    else if (postedNs >= fromNs && answeredNs <= untilNs) {
      recorder.add(answeredNs - postedNs)
      if (firstNs === 0) firstNs = postedNs
      lastNs = answeredNs
    }
    if (e.verb === 'send' && (run.messages & signalMask) === 0) collectSends(e)
    postedNs = nowNs()
  }
  run.recorded = recorder.count
  run.seconds = (lastNs - firstNs) / 1e9
  return run
}

export function openLoop(e: DataEnd, goal: LatencyGoal, recorder: Recorder): LatencyRun {
  const { intervalNs, messages } = goal
  const beganNs = nowNs()
  const fromNs = beganNs + goal.fromNs
  const untilNs = beganNs + goal.untilNs
  const count = Math.min(messages, Math.ceil(goal.endNs / intervalNs))
  const run: LatencyRun = { messages: 0, lost: 0, recorded: 0, seconds: 0 }
  const first = e.nextSeq
  /** Number of the first message that has no answer yet, counted from 0. */
  let expected = 0
  let firstNs = 0
  let lastNs = 0
  while (expected < count) {
    let now = nowNs()
    if (run.messages < count && run.messages - expected < e.txDepth && now >= beganNs + run.messages * intervalNs) {
      if (!post(e, e.nextSeq++)) break
      run.messages++
    }
    if (run.messages > expected) {
      const answer = nextAnswer(e, first + expected) - first
      if (answer >= expected) {
        now = nowNs()
        run.lost += answer - expected
        const dueNs = beganNs + answer * intervalNs
        if (dueNs >= fromNs && dueNs <= untilNs) {
          recorder.add(now - dueNs)
          if (firstNs === 0) firstNs = dueNs
          lastNs = now
        }
        expected = answer + 1
        busy(e)
        continue
      }
      if (e.error !== '') break
    }
    // Sleeping would delay the next message.
    if (run.messages < count && run.messages - expected < e.txDepth) {
      if ((++e.spins & 1023) === 0 && !onward(e)) break
      continue
    }
    if (!idle(e)) break
    if (e.connection !== 'RC' && quietNs(e) > lossAfterNs) {
      run.lost += run.messages - expected
      expected = run.messages
      busy(e)
    }
  }
  run.recorded = recorder.count
  run.seconds = (lastNs - firstNs) / 1e9
  return run
}

/** Checks between messages; returns false if an operation has failed or the run shall end. */
function onward(e: DataEnd): boolean {
  collectSendsUnlessAwaited(e)
  return e.error === '' && Atomics.load(e.control, 0) === 0
}

function collectSendsUnlessAwaited(e: DataEnd): void {
  if (e.verb === 'send' || e.verb === 'write') collectSends(e)
}

/** Returns the number of the message whose answer has arrived, −1 if there is none. */
function nextAnswer(e: DataEnd, expected: number): number {
  if (e.verb === 'write') {
    const last = (expected % e.slots) * e.strideBytes + e.size - 1
    const there = Atomics.load(e.inbox, last) === markOf(e, expected)
    if (!there || (expected & signalMask) === 0) collectSends(e)
    return there ? expected : -1
  }
  const n = (e.verb === 'send' ? e.recvCq : e.sendCq).poll(e.wcs, 1)
  if (n < 0) e.error ||= 'a CQ overran'
  if (n <= 0) return -1
  const wc = e.wcs[0]!
  if (wc.status !== 0) {
    failed(e, e.verb === 'send' ? 'receive' : 'request', wc)
    return -1
  }
  if (e.verb !== 'send') return wc.wrId
  received(e, 0)
  // Immediates have 32 bits, which is more than can be outstanding.
  const ahead = (wc.immData - expected) | 0
  if (((expected + ahead) & signalMask) === 0) collectSends(e)
  return ahead < 0 ? -1 : expected + ahead
}

/** Runs the other end of send and write: answers until the client has sent all its messages. */
export function answerAll(e: DataEnd): number {
  return e.verb === 'write' ? answerWrites(e) : answerSends(e)
}

/** Posts the answer to the message that arrived as number `seq`; returns false if the loop has to end. */
function answer(e: DataEnd, seq: number, immData: number): boolean {
  if (seq - e.completedSeq > e.sendRoom && !makeRoom(e, seq)) return false
  const wr = e.singles[0]!
  const signaled = (seq & signalMask) === signalMask
  wr.wrId = seq
  wr.immData = immData
  wr.sendFlags = signaled ? e.flags | SendFlag.Signaled : e.flags
  e.qps[0]!.postSend(wr)
  if (signaled) collectSends(e)
  return true
}

function answerSends(e: DataEnd): number {
  let count = 0
  while (e.error === '') {
    const n = e.recvCq.poll(e.wcs, 1)
    if (n > 0) {
      const wc = e.wcs[0]!
      if (wc.status !== 0) {
        failed(e, 'receive', wc)
        break
      }
      const { immData } = wc
      if (!answer(e, count++, immData)) break
      received(e, 0)
      busy(e)
      continue
    }
    if (n < 0) e.error ||= 'the receive CQ overran'
    if ((e.spins & 255) === 255 || e.channel !== null) collectSends(e)
    if (!idle(e) || (e.spins & 255) === 0) if (peerSent(e) || e.error !== '') break
  }
  return count
}

function answerWrites(e: DataEnd): number {
  const seen = new Uint8Array(e.slots)
  let count = 0
  while (e.error === '') {
    const slot = count % e.slots
    const value = Atomics.load(e.inbox, slot * e.strideBytes + e.size - 1)
    if (value !== seen[slot]) {
      seen[slot] = value
      mark(e, count, value)
      if (!answer(e, count++, 0)) break
      busy(e)
      continue
    }
    collectSends(e)
    if (!idle(e) || (e.spins & 255) === 0) if (peerSent(e) || e.error !== '') break
  }
  return count
}
