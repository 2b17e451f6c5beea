/** Control messages of a client to one server: requests are gathered, and sent together at the end of a turn. */
import { Opcode, SendFlag, type SendWorkRequest, sendWr } from '../../verbs/index.ts'
import { batchRequests, controlSlots, requestBytes } from './layout.ts'
import type { Link } from './link.ts'

const words = requestBytes / 4
const doubles = requestBytes / 8

export class Requests {
  readonly #link: Link
  readonly #stride: number
  readonly #wr: SendWorkRequest
  #posted = 0
  #done = 0
  #count = 0

  constructor(link: Link, stride: number) {
    this.#link = link
    this.#stride = stride
    const sge = { addr: link.controlAddr, length: 0, lkey: link.lkey }
    this.#wr = sendWr({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge] })
  }

  /** True if another request can be added. */
  get room(): boolean {
    return this.#posted - this.#done < controlSlots
  }

  /** Adds a request. `sequence`: number of the flow among those that are requested from its channel. */
  add(channel: number, verb: number, sequence: number, size: number, rateBps: number): void {
    const at = (this.#posted % controlSlots) * batchRequests + this.#count
    const { controlWords, controlDoubles } = this.#link
    controlWords[at * words] = channel | (verb << 16)
    controlWords[at * words + 1] = sequence | 0
    controlDoubles[at * doubles + 1] = size
    controlDoubles[at * doubles + 2] = rateBps
    if (++this.#count === batchRequests) this.flush()
  }

  flush(): void {
    if (this.#count > 0) this.#post()
  }

  /** Sends an empty message, if none is outstanding: it fails when the server is not there. */
  probe(): void {
    if (this.#posted === this.#done) this.#post()
  }

  #post(): void {
    const wr = this.#wr
    const sge = wr.sgList[0]!
    sge.addr = this.#link.controlAddr + (this.#posted % controlSlots) * batchRequests * requestBytes
    sge.length = this.#count * requestBytes
    this.#posted++
    this.#count = 0
    wr.wrId = this.#posted * this.#stride + this.#link.controlIndex
    this.#link.control.postSend(wr)
  }

  completed(number: number): void {
    this.#done = number
  }
}
