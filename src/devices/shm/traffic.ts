/**
 * Counts the messages of programs under `verbena run` as the packets that they would be on a link: programs in other languages read
 * counters of ports. Messages between programs of Node.js are not counted, because that would lengthen their path of some hundred
 * nanoseconds; nor are acknowledgements.
 *
 * Counts are collected here and added to those of the device after a batch of requests.
 */
import {
  atomicOpcodes,
  type CounterName,
  fillingOpcodes,
  type Host,
  hasOpcode,
  layout,
  localOpcodes,
  operandKind,
  operandsOf,
  QpType,
  remoteOpcodes,
  SendFlag,
} from '../../verbs/provider/index.ts'

const { Qp, qpEngine, Sg, Wqe } = layout

/** Bytes of a packet besides its payload: BTH and ICRC. */
const packetBytes = 16
const rethBytes = 16
const dethBytes = 8
const immBytes = 4
const aethBytes = 4
const atomicBytes = 28
const atomicAckBytes = 8

/** Counts of what a device has sent or received. */
interface Direction {
  readonly names: readonly [packets: CounterName, bytes: CounterName, messages: CounterName]
  readonly counts: Float64Array
}

const words = 3

export class Traffic {
  readonly #host: Host
  readonly #mtu: number
  readonly #sent: Direction
  readonly #received: Direction
  readonly #adapters: number
  #isEmpty = true

  constructor(host: Host, mtu: number, adapters: number) {
    this.#host = host
    this.#mtu = mtu
    this.#adapters = adapters
    const counts = (): Float64Array => new Float64Array(adapters * words)
    this.#sent = { names: ['sent_pkts', 'sent_bytes', 'rdma_sends'], counts: counts() }
    this.#received = { names: ['rcvd_pkts', 'rcvd_bytes', 'rdma_recvs'], counts: counts() }
  }

  /** True if messages of a queue pair are counted. */
  isCounted(q: number): boolean {
    const { i32 } = this.#host
    return i32[q + Qp.engine] === qpEngine.hosted || i32[q + Qp.executor] !== 0
  }

  /** Counts the request at `w` of `q`, which was executed. `readBytes`: bytes that a READ has brought. */
  executed(q: number, w: number, readBytes: number): void {
    const { i32 } = this.#host
    const from = i32[q + Qp.device]!
    const opcode = i32[w + Wqe.opcode]!
    if (i32[q + Qp.type] === QpType.UD) {
      this.#add(this.#sent, from, 1, this.lengthOf(w) + packetBytes + dethBytes + immOf(opcode), 1)
      return
    }
    const to = i32[q + Qp.destDevice]!
    if (hasOpcode(localOpcodes, opcode)) return
    if (hasOpcode(atomicOpcodes, opcode)) {
      this.#cross(from, to, 1, packetBytes + atomicBytes, 1)
      this.#cross(to, from, 1, packetBytes + aethBytes + atomicAckBytes, 0)
    } else if (hasOpcode(fillingOpcodes, opcode)) {
      this.#cross(from, to, 1, packetBytes + rethBytes, 1)
      this.#cross(to, from, this.#packets(readBytes), this.#bytes(readBytes) + aethBytes, 0)
    } else {
      const bytes = this.lengthOf(w)
      const headers = (hasOpcode(remoteOpcodes, opcode) ? rethBytes : 0) + immOf(opcode)
      this.#cross(from, to, this.#packets(bytes), this.#bytes(bytes) + headers, 1)
    }
  }

  /** Counts the datagram at `w`, which has reached a queue pair of that device. */
  arrived(device: number, opcode: number, bytes: number): void {
    this.#add(this.#received, device, 1, bytes + packetBytes + dethBytes + immOf(opcode), 1)
  }

  /** Returns the bytes of the request at `w`. */
  lengthOf(w: number): number {
    const { i32 } = this.#host
    if ((i32[w + Wqe.flags]! & SendFlag.Inline) !== 0) return i32[w + Wqe.inlineLength]!
    let length = 0
    for (let i = 0; i < i32[w + Wqe.sges]!; i++) length += i32[w + Wqe.data + i * Sg.words + Sg.length]! >>> 0
    return length
  }

  #packets(bytes: number): number {
    return Math.max(1, Math.ceil(bytes / this.#mtu))
  }

  #bytes(bytes: number): number {
    return bytes + this.#packets(bytes) * packetBytes
  }

  #cross(from: number, to: number, packets: number, bytes: number, messages: number): void {
    this.#add(this.#sent, from, packets, bytes, messages)
    this.#add(this.#received, to, packets, bytes, messages)
  }

  #add({ counts }: Direction, device: number, packets: number, bytes: number, messages: number): void {
    // The device that a program names as its peer's may not exist.
    if (device < 0 || device >= this.#adapters) return
    const at = device * words
    counts[at] = counts[at]! + packets
    counts[at + 1] = counts[at + 1]! + bytes
    counts[at + 2] = counts[at + 2]! + messages
    this.#isEmpty = false
  }

  /** Adds the collected counts to the counters of the devices. */
  settle(): void {
    if (this.#isEmpty) return
    this.#isEmpty = true
    for (const { names, counts } of [this.#sent, this.#received])
      for (let i = 0; i < counts.length; i++) {
        if (counts[i] === 0) continue
        this.#host.count((i / words) | 0, names[i % words]!, counts[i]!)
        counts[i] = 0
      }
  }
}

function immOf(opcode: number): number {
  const operands = operandsOf[opcode]
  return operands === operandKind.immediate || operands === operandKind.key ? immBytes : 0
}
