/**
 * A file `/dev/infiniband/umadN` that a program has open: agents, and messages until they are read. Sizes, checks and errnos are those of
 * Linux' user_mad.c; read(2) returns a message after a header with its source.
 */
import { hasRmpp, isSubnClass, Mad, madDataOffset, Rmpp, RmppFlag } from '../../wire/index.ts'
import type { Call, PolledFile, ProgramProcess, Result } from '../door.ts'
import { fail } from '../errnos.ts'
import { EventFile } from '../event-file.ts'
import { decode, encode } from '../struct.ts'
import { destinationOf, senderFields } from './addresses.ts'
import type { AgentOwner, Sender, UmadAgent } from './agent.ts'
import { checkQp, type Registration, readRegistration, readRegistration2 } from './registration.ts'
import { headerBytesWithoutPkey, UmadRequest, type UserMad, userMad } from './structs.ts'
import type { UmadPort } from './umad-port.ts'
import type { UmadWatch } from './umad-watch.ts'

/** The status of a message that had no response. */
const ETIMEDOUT = 110

const maxAgents = 32
/** Messages that a program has not read, and their bytes: more are dropped. */
const maxQueued = 4096
const maxQueuedBytes = 64 << 20
/** The largest message that may be sent. */
const maxSendBytes = 64 << 20

/** A message that waits to be read. */
interface Queued {
  readonly header: Partial<UserMad>
  readonly message: Uint8Array
  /** Flag: it was received; else it was sent and had no response. */
  readonly isReceived: boolean
}

export class UmadFile implements PolledFile, AgentOwner {
  readonly kind = 'polled'
  readonly asks = 'read'
  readonly #events: EventFile
  readonly #port: UmadPort
  readonly #left: (file: UmadFile) => void
  readonly #watch: UmadWatch | null
  readonly #agents = new Map<number, UmadAgent>()
  readonly #queue: Queued[] = []
  #queuedBytes = 0
  #headerBytes = headerBytesWithoutPkey
  /** True if an agent was ever registered: the format of headers is fixed from then on. */
  #isUsed = false
  #isClosed = false

  constructor(port: UmadPort, nonBlocking: boolean, left: (file: UmadFile) => void, watch: UmadWatch | null) {
    this.#port = port
    this.#left = left
    this.#watch = watch
    this.#events = new EventFile(nonBlocking, this.asks)
  }

  get descriptor(): number {
    return this.#events.descriptor
  }

  get otherEnd(): number {
    return this.#events.otherEnd
  }

  // --- agents --------------------------------------------------------------------------------------------------------

  ioctl(call: Call, request: number, argument: number): Result {
    const execute = (): Result => this.#ioctl(call, request, argument)
    return this.#watch?.watched(call, execute) ?? execute()
  }

  #ioctl({ process }: Call, request: number, argument: number): Result {
    switch (request) {
      case UmadRequest.registerAgent:
        return this.#register(process, argument, readRegistration)
      case UmadRequest.registerAgent2:
        return this.#register(process, argument, readRegistration2)
      case UmadRequest.unregisterAgent: {
        const bytes = new Uint8Array(4)
        process.read(argument, bytes)
        const index = new DataView(bytes.buffer).getUint32(0, true)
        this.#watch?.see('umad_unregister', () => ({ agent: index }))
        const agent = this.#agents.get(index)
        if (agent === undefined) fail('EINVAL', `umad_unregister: there is no agent ${index}`)
        this.#agents.delete(index)
        this.#port.unregister(agent)
        return 0
      }
      case UmadRequest.enablePkey:
        this.#watch?.see('umad_open_port', () => ({ pkeys: 1 }))
        if (this.#isUsed) fail('EINVAL', 'umad_open_port: P_Keys are asked for before the first agent is registered')
        this.#headerBytes = userMad.sizeBytes
        return 0
      default:
        fail('ENOTTY', `umad has no request 0x${request.toString(16)}`)
    }
  }

  #register(
    process: ProgramProcess,
    address: number,
    read: (process: ProgramProcess, address: number) => Registration,
  ): number {
    const registration = read(process, address)
    this.#watch?.registers(registration)
    let index = 0
    while (this.#agents.has(index)) index++
    if (index >= maxAgents) fail('ENOMEM', `umad_register: a file has at most ${maxAgents} agents: unregister one`)
    checkQp(registration, this.#port.fabric !== null)
    const agent = this.#port.register(this, index, registration)
    try {
      const bytes = new Uint8Array(4)
      bytes[0] = index
      process.write(address, bytes)
    } catch (error) {
      this.#port.unregister(agent)
      throw error
    }
    this.#agents.set(index, agent)
    this.#isUsed = true
    this.#watch?.results(() => ({ agent: index }))
    return 0
  }

  // --- sending -------------------------------------------------------------------------------------------------------

  write(call: Call, address: number, length: number): Result {
    const execute = (): Result => this.#send(call, address, length)
    return this.#watch?.watched(call, execute) ?? execute()
  }

  #send({ process }: Call, address: number, length: number): number {
    const headerBytes = this.#headerBytes
    if (length < headerBytes + Rmpp.end)
      fail('EINVAL', `umad_send: a MAD has at least ${Rmpp.end} bytes, behind ${headerBytes} of its header`)
    if (length > headerBytes + maxSendBytes) fail('EINVAL', `umad_send: a message has at most ${maxSendBytes} bytes`)
    const start = new Uint8Array(userMad.sizeBytes)
    process.read(address, start.subarray(0, headerBytes))
    const header = decode(userMad, start)
    const agent = this.#agents.get(header.id)
    if (header.id >= maxAgents) fail('EINVAL', `umad_send: agents have numbers below ${maxAgents}, not ${header.id}`)
    if (agent === undefined) fail('EIO', `umad_send: there is no agent ${header.id}`)
    const first = new Uint8Array(Rmpp.end)
    process.read(address + headerBytes, first)
    const bytes = length - headerBytes
    const isRmpp = isMultiPacket(agent, first)
    if (bytes < madDataOffset(first[Mad.mgmtClass]!))
      fail('EINVAL', 'umad_send: the MAD ends within the headers of its class')
    if (!isRmpp && bytes > Mad.totalLength)
      fail(
        'EINVAL',
        `umad_send: a MAD has ${Mad.totalLength} bytes; longer messages need RMPP, by their class, agent and flags`,
      )
    if (isSubnClass(first[Mad.mgmtClass]!) && agent.registration.qpn !== 0)
      fail('EINVAL', 'umad_send: subnet management packets are sent by agents of QP 0')
    const message = new Uint8Array(bytes)
    process.read(address + headerBytes, message)
    this.#watch?.sends(header, message)
    this.#port.send(agent, header, message, destinationOf(header), isRmpp)
    this.#watch?.sent(header, message, process.pid)
    return length
  }

  // --- receiving -----------------------------------------------------------------------------------------------------

  received({ index }: UmadAgent, message: Uint8Array, from: Sender): void {
    if (this.#queue.length >= maxQueued || this.#queuedBytes + message.length > maxQueuedBytes) {
      const { host, index: device } = this.#port.context.device
      host.count(device, 'mad_drops_queue')
      return
    }
    const length = this.#headerBytes + message.length
    this.#add({ header: { id: index, length, ...senderFields(from) }, message, isReceived: true })
  }

  timedOut({ index }: UmadAgent, header: UserMad, message: Uint8Array): void {
    this.#watch?.unanswered(header, message)
    const again = { ...header, id: index, status: ETIMEDOUT }
    this.#add({ header: again, message: message.subarray(0, Mad.length), isReceived: false })
  }

  gaveUp(header: UserMad, message: Uint8Array): void {
    this.#watch?.unanswered(header, message)
  }

  #add(queued: Queued): void {
    this.#queue.push(queued)
    this.#queuedBytes += queued.message.length
    this.#showReadable()
  }

  read(call: Call, address: number, length: number): Result {
    const execute = (): Result => this.#receive(call, address, length)
    return this.#watch?.watched(call, execute) ?? execute()
  }

  #receive(call: Call, address: number, length: number): Result {
    this.#watch?.see('umad_recv', () => ({ length }), true)
    if (length < this.#headerBytes)
      fail('EINVAL', `umad_recv: read gives a header of ${this.#headerBytes} bytes first: there is room for ${length}`)
    if (this.#queue.length === 0) {
      if (call.nonBlocking) fail('EAGAIN', 'umad_recv: no management datagram has come')
      return this.#events.block(call)
    }
    const whole = this.#give(call.process, address, length)
    this.#take(call.process.pid)
    return whole
  }

  /** Copies the first message to the program, and returns its length; it stays in the queue until it is taken. */
  #give(process: ProgramProcess, address: number, length: number): number {
    const { header, message, isReceived } = this.#queue[0]!
    const whole = this.#headerBytes + message.length
    const least = Math.min(whole, this.#headerBytes + Mad.totalLength)
    if (length < (isReceived ? least : whole))
      fail('EINVAL', `umad_recv: the next message has ${whole} bytes, and there is room for ${length}`)
    const bytes = new Uint8Array(Math.min(whole, Math.max(length, least)))
    bytes.set(encode(userMad, header).subarray(0, this.#headerBytes))
    if (length < whole) {
      // The header contains the required length, and the first segment the message's transaction and class.
      bytes.set(message.subarray(0, Mad.totalLength), this.#headerBytes)
      process.write(address, bytes.subarray(0, least))
      fail('ENOSPC', `umad_recv: the next message has ${whole} bytes, and there is room for ${length}`)
    }
    bytes.set(message, this.#headerBytes)
    process.write(address, bytes)
    return whole
  }

  /** `pid`: the process that has received it. */
  #take(pid: number): void {
    const { header, message, isReceived } = this.#queue.shift()!
    this.#queuedBytes -= message.length
    if (isReceived) this.#watch?.received(header, message, pid)
    this.#showReadable()
  }

  #showReadable(): void {
    this.#events.readable = this.#queue.length > 0
  }

  closed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const agent of this.#agents.values()) this.#port.unregister(agent)
    this.#agents.clear()
    this.#queue.length = 0
    this.#events.close()
    this.#left(this)
  }
}

/** True if the kernel would segment the message: its class and its agent support RMPP, and the message requests it. */
function isMultiPacket({ registration }: UmadAgent, mad: Uint8Array): boolean {
  return registration.rmpp && hasRmpp(mad[Mad.mgmtClass]!) && (mad[Rmpp.flags]! & RmppFlag.active) !== 0
}
