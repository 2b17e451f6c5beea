/**
 * What two connected queue pairs must do, in plain TypeScript: a queue of requests and one of receives at each end,
 * bytes, and the completions that are due. It carries requests out as soon as it can; a device may take longer, but
 * its completions come in the order of each queue, with these statuses, and its memory ends the same.
 */
import { Opcode, type WcOpcode, type WcStatus } from '../../src/index.ts'

export type Status = keyof typeof WcStatus
export type TypeName = 'RC' | 'UC' | 'UD'

/** A range of an endpoint's memory. */
export interface Range {
  offset: number
  length: number
}

/** What is wrong with a request: at most one thing. */
export type Problem = 'none' | 'lkey' | 'rkey' | 'bounds' | 'align' | 'size'

export interface ModelSend {
  wrId: number
  opcode: number
  signaled: boolean
  /** Where the data come from, or go to (READ, atomics). */
  ranges: readonly Range[]
  /** Taken when the request was posted. */
  inline: Uint8Array | null
  remoteOffset: number
  immData: number
  compareAdd: bigint
  swap: bigint
  problem: Problem
}

export interface ModelReceive {
  wrId: number
  ranges: readonly Range[]
  /** Index of the first element with a bad key, or the number of elements. */
  badFrom: number
}

export interface Expected {
  wrId: number
  status: Status
  opcode: keyof typeof WcOpcode
  byteLen?: number
  immData?: number
  /** Places in the send queue that polling this completion gives back. */
  position?: number
}

const completionOpcode: Record<number, Expected['opcode']> = {
  [Opcode.Send]: 'Send',
  [Opcode.SendWithImm]: 'Send',
  [Opcode.Write]: 'Write',
  [Opcode.WriteWithImm]: 'Write',
  [Opcode.Read]: 'Read',
  [Opcode.AtomicCmpAndSwp]: 'CompSwap',
  [Opcode.AtomicFetchAndAdd]: 'FetchAdd',
}

export function isAtomic(opcode: number): boolean {
  return opcode === Opcode.AtomicCmpAndSwp || opcode === Opcode.AtomicFetchAndAdd
}

function total(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { length }) => sum + length, 0)
}

const grh = 40

export class ModelEnd {
  readonly type: TypeName
  readonly memory: Uint8Array
  readonly hasSrq: boolean
  readonly limits: { sends: number; receives: number }
  peer!: ModelEnd
  state: 'Rts' | 'Sqe' | 'Err' = 'Rts'
  sends: ModelSend[] = []
  receives: ModelReceive[] = []
  /** Completions that have not been polled yet, in the order of each queue. */
  readonly due: { send: Expected[]; receive: Expected[] } = { send: [], receive: [] }
  /** Where a device may have written what it liked: the GRH of a datagram. */
  readonly wild: Range[] = []
  /** The same, for a device that writes packets: where a part of a message may have come that was refused then. */
  readonly parts: Range[] = []
  #posted = 0
  #released = 0
  #executed = 0

  constructor(type: TypeName, bytes: number, hasSrq: boolean, limits: { sends: number; receives: number }) {
    this.type = type
    this.memory = new Uint8Array(bytes)
    this.hasSrq = hasSrq
    this.limits = limits
  }

  /** False if the send queue is full. */
  postSend(send: ModelSend): boolean {
    if (this.#posted - this.#released >= this.limits.sends) return false
    this.#posted++
    this.sends.push(send)
    this.run()
    return true
  }

  postReceive(receive: ModelReceive): boolean {
    if (this.receives.length >= this.limits.receives) return false
    this.receives.push(receive)
    if (this.state === 'Err') this.#flushReceives()
    else this.peer.run()
    return true
  }

  /** A completion of the send queue was polled. */
  release(position: number): void {
    this.#released = Math.max(this.#released, position)
  }

  fail(): void {
    this.state = 'Err'
    this.#flushSends()
    this.#flushReceives()
    // What stands in the peer's queue finds nobody any more.
    this.peer.run()
  }

  /** After RESET and connecting again. Receives in an SRQ stay. */
  restart(): void {
    this.state = 'Rts'
    this.sends = []
    if (!this.hasSrq) this.receives = []
    this.#posted = 0
    this.#released = 0
    this.#executed = 0
  }

  /** Where a part of a message may be of which the rest waits for a receive. */
  arriving(): Range[] {
    const first = this.peer.sends[0]
    return first?.opcode === Opcode.WriteWithImm ? [{ offset: first.remoteOffset, length: total(first.ranges) }] : []
  }

  /** Carries out what can be carried out. */
  run(): void {
    while (this.sends.length > 0) {
      if (this.state !== 'Rts') {
        this.#flushSends()
        return
      }
      const send = this.sends[0]!
      const status = this.#execute(send)
      if (status === 'waits') return
      this.sends.shift()
      this.#complete(send, status)
      if (status === 'Success') continue
      if (this.type === 'RC') this.fail()
      else {
        this.state = 'Sqe'
        this.#flushSends()
      }
    }
  }

  // --- one request -------------------------------------------------------------------------------------------------

  #execute(send: ModelSend): Status | 'waits' {
    const { opcode, problem, ranges } = send
    const length = total(ranges)
    if (problem === 'lkey') return 'LocProtErr'
    if (problem === 'size') return 'LocLenErr'
    if (this.peer.state === 'Err') return this.type === 'RC' ? 'RetryExcErr' : 'Success'
    if (opcode === Opcode.Send || opcode === Opcode.SendWithImm) return this.#send(send, length)
    if (problem === 'align') return this.#refused('RemInvReqErr')
    if (problem === 'rkey' || problem === 'bounds') return this.#refused('RemAccessErr')
    const remote = this.peer.memory
    const at = send.remoteOffset
    if (opcode === Opcode.Write || opcode === Opcode.WriteWithImm) {
      const receive = opcode === Opcode.WriteWithImm ? this.peer.#nextReceive() : null
      if (receive === undefined) {
        this.peer.parts.push({ offset: at, length })
        return this.type === 'RC' ? 'waits' : 'Success'
      }
      remote.set(this.#data(send), at)
      if (receive) {
        const { wrId } = receive
        this.peer.due.receive.push({
          wrId,
          status: 'Success',
          opcode: 'RecvRdmaWithImm',
          byteLen: length,
          immData: send.immData,
        })
      }
      return 'Success'
    }
    if (opcode === Opcode.Read) {
      this.#scatter(ranges, remote.slice(at, at + length))
      return 'Success'
    }
    const word = new BigUint64Array(remote.buffer, at, 1)
    const old = word[0]!
    if (opcode === Opcode.AtomicFetchAndAdd) word[0] = old + send.compareAdd
    else if (old === send.compareAdd) word[0] = send.swap
    this.#scatter(ranges, new Uint8Array(BigUint64Array.of(old).buffer))
    return 'Success'
  }

  #send(send: ModelSend, length: number): Status | 'waits' {
    const { peer } = this
    const receive = peer.#nextReceive()
    if (receive === undefined) return this.type === 'RC' ? 'waits' : 'Success'
    const { wrId } = receive
    peer.parts.push(...receive.ranges)
    const head = this.type === 'UD' ? grh : 0
    if (total(receive.ranges) < length + head) {
      if (this.type !== 'RC') {
        // The message is lost; the receive serves the next one.
        peer.receives.unshift(receive)
        return 'Success'
      }
      peer.due.receive.push({ wrId, status: 'LocLenErr', opcode: 'Recv' })
      return this.#refused('RemInvReqErr')
    }
    const before = total(receive.ranges.slice(0, receive.badFrom))
    if (before < length + head && receive.badFrom < receive.ranges.length) {
      peer.due.receive.push({ wrId, status: 'LocProtErr', opcode: 'Recv' })
      return this.#refused('RemOpErr')
    }
    const message = new Uint8Array(head + length)
    message.set(this.#data(send), head)
    peer.#scatter(receive.ranges, message)
    peer.#mark(receive.ranges, head)
    const imm = send.opcode === Opcode.SendWithImm ? { immData: send.immData } : {}
    peer.due.receive.push({ wrId, status: 'Success', opcode: 'Recv', byteLen: message.length, ...imm })
    return 'Success'
  }

  /** The peer refuses: on RC both ends fail, on UC and UD nobody hears of it. */
  #refused(status: Status): Status {
    if (this.type !== 'RC') return 'Success'
    const { peer } = this
    peer.state = 'Err'
    peer.#flushReceives()
    peer.#flushSends()
    return status
  }

  #nextReceive(): ModelReceive | undefined {
    return this.receives.shift()
  }

  #data(send: ModelSend): Uint8Array {
    if (send.inline) return send.inline
    const parts = send.ranges.map(({ offset, length }) => this.memory.subarray(offset, offset + length))
    return Buffer.concat(parts)
  }

  #scatter(ranges: readonly Range[], bytes: Uint8Array): void {
    let done = 0
    for (const { offset, length } of ranges) {
      const part = bytes.subarray(done, done + length)
      this.memory.set(part, offset)
      done += part.length
    }
  }

  #mark(ranges: readonly Range[], length: number): void {
    let left = length
    for (const range of ranges) {
      const used = Math.min(left, range.length)
      if (used > 0) this.wild.push({ offset: range.offset, length: used })
      left -= used
    }
  }

  // --- completions -------------------------------------------------------------------------------------------------

  #complete(send: ModelSend, status: Status): void {
    this.#executed++
    if (status === 'Success' && !send.signaled) return
    const opcode = completionOpcode[send.opcode]!
    const brings = send.opcode === Opcode.Read || isAtomic(send.opcode)
    const byteLen = brings && status === 'Success' ? { byteLen: total(send.ranges) } : {}
    this.due.send.push({ wrId: send.wrId, status, opcode, position: this.#executed, ...byteLen })
  }

  #flushSends(): void {
    this.peer.parts.push(...this.peer.arriving())
    for (const send of this.sends.splice(0)) this.#complete(send, 'WrFlushErr')
  }

  #flushReceives(): void {
    if (this.hasSrq) return
    for (const { wrId } of this.receives.splice(0))
      this.due.receive.push({ wrId, status: 'WrFlushErr', opcode: 'Recv' })
  }
}
