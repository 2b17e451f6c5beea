/**
 * Information of the capture itself on which QPs are connected: messages of the communication manager, and the lines that the pingpong
 * programs of libibverbs exchange over TCP. Both become claims: "what goes to this QP comes from that one".
 */
import { type CmMessage, isMalformed, parseCm } from '../wire/index.ts'
import type { Basis } from './flow.ts'

export interface Claim {
  source: number
  srcQp: number
  basis: Basis
  /** First PSN of the requests to the QP; -1 if it is not known. */
  startPsn: number
  /** Bytes; 0 if it is not known. */
  mtu: number
}

/** Maximum number of claims, of pending REQs, and of pingpong exchanges that are remembered. */
const most = 65_536

interface Half {
  qpn: number
  /** PSN that the QP expects, in a request that waits for its reply; otherwise the PSN that it begins with. */
  psn: number
  mtu: number
}

interface Exchange {
  /** Address that was first seen as a sender, and the lines of both sides. */
  first: number
  lines: [Half[], Half[]]
  joined: number
}

export class Connections {
  readonly #claims = new Map<number, Claim>()
  /** REQs that wait for their REP, by the address and the communication ID of their senders. */
  readonly #requests = new Map<number, Half>()
  readonly #exchanges = new Map<string, Exchange>()
  readonly #onClaim: (destination: number, qpn: number, claim: Claim) => void

  constructor(onClaim: (destination: number, qpn: number, claim: Claim) => void) {
    this.#onClaim = onClaim
  }

  /** Returns the end that sends to this QP, if the capture contains that information. */
  claimOf(destination: number, qpn: number): Claim | undefined {
    return this.#claims.get(destination * 0x1000000 + qpn)
  }

  /** Processes the MAD b[start, start + 256) that went from `source` to `destination`. */
  management(b: Uint8Array, start: number, end: number, source: number, destination: number): CmMessage | undefined {
    const message = parseCm(b, start, end)
    if (isMalformed(message)) return undefined
    if (message.type === 'REQ') {
      if (this.#requests.size < most)
        this.#requests.set(keyOf(source, message.localCommId), {
          qpn: message.localQpn,
          psn: message.startingPsn,
          mtu: mtuOf(message.pathMtu),
        })
    } else if (message.type === 'REP') {
      const request = this.#requests.get(keyOf(destination, message.remoteCommId))
      if (request === undefined) return message
      // Each side names the PSN that it expects: the other one begins with it.
      const active = { ...request, psn: message.startingPsn }
      const passive = { qpn: message.localQpn, psn: request.psn, mtu: request.mtu }
      this.#connect(destination, active, source, passive, 'cm')
    }
    return message
  }

  /** Processes the payload b[start, end) of a TCP segment. `name` identifies the connection and is the same in both directions. */
  tcp(b: Uint8Array, start: number, end: number, source: number, destination: number, name: () => string): void {
    const count = (end - start) / lineLength
    if (count < 1 || count > 64 || !Number.isInteger(count) || b[end - 1] !== 0 || b[start + 4] !== colon) return
    const lines: Half[] = []
    for (let at = start; at < end; at += lineLength) {
      const line = /^[0-9a-f]{4}:([0-9a-f]{6}):([0-9a-f]{6}):[0-9a-f]{32}\0$/.exec(latin1(b, at, at + lineLength))
      if (line === null) return
      lines.push({ qpn: Number.parseInt(line[1]!, 16), psn: Number.parseInt(line[2]!, 16), mtu: 0 })
    }
    const key = name()
    let exchange = this.#exchanges.get(key)
    if (exchange === undefined) {
      if (this.#exchanges.size >= most) return
      exchange = { first: source, lines: [[], []], joined: 0 }
      this.#exchanges.set(key, exchange)
    }
    const [first, second] = exchange.lines
    const own = source === exchange.first && (destination !== source || first.length === 0) ? first : second
    if (own.length + lines.length > 1024) return
    own.push(...lines)
    const other = source === exchange.first ? destination : source
    for (; exchange.joined < Math.min(first.length, second.length); exchange.joined++)
      this.#connect(exchange.first, first[exchange.joined]!, other, second[exchange.joined]!, 'pingpong')
  }

  /**
   * Renumbers the addresses after they were assigned other numbers; claims whose address has no number any more (−1) are forgotten, and so
   * are unfinished exchanges.
   */
  renumber(numbers: Int32Array): void {
    const claims = [...this.#claims]
    this.#claims.clear()
    for (const [key, claim] of claims) {
      const destination = numbers[Math.floor(key / 0x1000000)]!
      const source = numbers[claim.source]!
      if (destination >= 0 && source >= 0)
        this.#claims.set(destination * 0x1000000 + (key % 0x1000000), { ...claim, source })
    }
    this.#requests.clear()
    this.#exchanges.clear()
  }

  #connect(a: number, qpA: Half, b: number, qpB: Half, basis: Basis): void {
    this.#claim(b, qpB.qpn, { source: a, srcQp: qpA.qpn, basis, startPsn: qpA.psn, mtu: qpA.mtu })
    this.#claim(a, qpA.qpn, { source: b, srcQp: qpB.qpn, basis, startPsn: qpB.psn, mtu: qpB.mtu })
  }

  #claim(destination: number, qpn: number, claim: Claim): void {
    const key = destination * 0x1000000 + qpn
    const known = this.#claims.get(key)
    // A retransmitted message contains nothing new.
    if (known?.source === claim.source && known.srcQp === claim.srcQp && known.startPsn === claim.startPsn) return
    if (known === undefined && this.#claims.size >= most) return
    this.#claims.set(key, claim)
    this.#onClaim(destination, qpn, claim)
  }
}

const lineLength = 52
const colon = 0x3a

function keyOf(address: number, commId: number): number {
  return address * 0x1_0000_0000 + commId
}

/** Returns the MTU for its code; 0 for a code that does not exist. */
function mtuOf(code: number): number {
  return code >= 1 && code <= 5 ? 128 << code : 0
}

function latin1(b: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...b.subarray(start, end))
}
