/**
 * Kafka, through the client kafkajs. A message is a frame of samples. While the broker has not acknowledged what was sent, messages that
 * come meanwhile wait, and go as one request. Messages that are not acknowledged when a connection ends are counted as lost.
 */
import { peerPackage } from '../../host/index.ts'
import type { NodeContext, NodeType, ParsedNode, RunningNode } from '../../index.ts'
import { Backoff } from '../kit/backoff.ts'
import { Counters } from '../kit/counters.ts'
import { FramesOut } from '../kit/frames-out.ts'
import { Inbox } from '../kit/inbox.ts'
import { inboxNode } from '../kit/inbox-node.ts'
import { type NewKafka, Session } from './session.ts'
import { type KafkaSettings, kafkaSettings } from './settings.ts'

const frameLimit = 1 << 18
/** Maximum number of messages that wait or are not acknowledged; beyond it, samples are lost. */
const mostWaiting = 1024
/** Maximum number of bytes of a request, with `messageBytes` for the parts of a message around its value. Brokers take 1 MiB by default. */
const requestLimit = 900_000
const messageBytes = 100

interface Waiting {
  readonly value: Buffer
  /** Samples in it. */
  readonly count: number
}

class KafkaNode implements RunningNode {
  readonly source: Inbox | null
  readonly destination: FramesOut | null
  state = 'started'
  readonly #context: NodeContext
  readonly #settings: KafkaSettings
  readonly #counters: Counters
  readonly #kafka: NewKafka
  readonly #backoff: Backoff
  /** Session that is open, or about to be. */
  #session: Session | undefined
  #attempt: Promise<void>
  #waiting: Waiting[] = []
  #request: Promise<void> | undefined
  /** Messages of the request that is not answered. */
  #inFlight = 0
  #failures = 0
  #stopped = false

  constructor(context: NodeContext, settings: KafkaSettings, kafka: NewKafka) {
    const { format, consume, produce } = settings
    this.#context = context
    this.#settings = settings
    this.#kafka = kafka
    this.#counters = new Counters(context)
    this.source = consume === undefined ? null : new Inbox(context, format, this.#counters)
    this.destination =
      produce === undefined
        ? null
        : new FramesOut(context, format, this.#counters, {
            limit: frameLimit,
            send: (frame, count) => this.#send(frame, count),
            flush: () => this.#pump(),
          })
    this.#backoff = new Backoff(() => {
      this.#attempt = this.#open()
    })
    this.#attempt = this.#open()
  }

  counters(): Readonly<Record<string, number>> {
    return this.#counters.all
  }

  async #open(): Promise<void> {
    const where = this.#settings.servers.join(',')
    this.state = 'pending connect'
    const inbox = this.source
    const session = new Session(
      this.#kafka,
      this.#settings,
      { in: inbox !== null, out: this.destination !== null },
      {
        message: (value) => {
          if (!this.#stopped) inbox!.message(value)
        },
        room: async () => {
          if (!this.#stopped && inbox!.room === 0) await new Promise<void>((done) => inbox!.whenRoom(done))
        },
        ended: (why) => this.#ended(where, why),
      },
    )
    this.#session = session
    try {
      await session.open()
      // It may have ended at the same moment.
      if (this.#session !== session) return
      this.#failures = 0
      this.#backoff.reset()
      this.state = 'connected'
      this.#counters.add('connections')
      this.#context.log('info', `connected to ${where}`)
    } catch (error) {
      this.#session = undefined
      this.#lose(this.#waiting.splice(0), (error as Error).message)
      if (this.#stopped) return
      if (this.#failures++ === 0) this.#context.log('warn', `${where}: ${(error as Error).message}; trying again`)
      this.#backoff.schedule()
    }
  }

  #ended(where: string, why: string): void {
    if (this.#stopped) return
    this.#session = undefined
    this.state = 'pending connect'
    this.#counters.add('disconnects')
    this.#context.log('warn', `the connection to ${where} has ended: ${why}, connecting again`)
    this.#lose(this.#waiting.splice(0), why)
    this.#backoff.schedule()
  }

  #lose(messages: readonly Waiting[], why: string): void {
    const count = messages.reduce((sum, message) => sum + message.count, 0)
    if (count > 0) this.#counters.warn('send_failed', `samples are lost: ${why}`, count)
  }

  #send(frame: Uint8Array, count: number): boolean {
    if (!this.#session?.takesMessages) {
      this.#counters.warn('not_connected', 'there is no connection: samples are lost', count)
      return false
    }
    if (this.#waiting.length + this.#inFlight >= mostWaiting) {
      this.#counters.warn('dropped', `the broker is ${mostWaiting} messages behind: samples are lost`, count)
      return false
    }
    this.#waiting.push({ value: Buffer.from(frame), count })
    return true
  }

  /** Sends what waits, unless a request is outstanding, after which it will go. */
  #pump(): void {
    const session = this.#session
    if (session === undefined || this.#request !== undefined || this.#waiting.length === 0) return
    const messages = this.#waiting.splice(0, this.#fitting())
    this.#inFlight = messages.length
    this.#request = session
      .produce(messages.map(({ value }) => value))
      .catch((error: Error) => this.#lose(messages, error.message))
      .then(() => {
        this.#inFlight = 0
        this.#request = undefined
        this.#pump()
      })
  }

  /** Returns the number of waiting messages that fit into one request, at least one. */
  #fitting(): number {
    let bytes = 0
    let count = 0
    for (const { value } of this.#waiting) {
      bytes += value.length + messageBytes
      if (bytes > requestLimit) break
      count++
    }
    return count
  }

  async stop(): Promise<void> {
    await this.#finish()
    this.#stopped = true
    this.#backoff.cancel()
    if (this.state === 'connected') await this.#session?.leave(this.#settings.timeoutMs)
    else this.#session?.close(new Error('the node has stopped'))
    await this.#attempt
    this.source?.stop()
    this.state = 'stopped'
  }

  /** Waits until all messages are acknowledged; a broker that does not answer is left. */
  async #finish(): Promise<void> {
    const session = this.#session
    if (session === undefined) return
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      session.close(new Error('the broker did not answer before the node stopped'))
    }, this.#settings.timeoutMs)
    while (this.#request !== undefined && !isLate) await this.#request
    clearTimeout(timer)
  }
}

export const kafka: NodeType = {
  name: 'kafka',
  is: 'a cluster of Kafka: produce to a topic, consume one',
  parse(reader, common) {
    const settings = kafkaSettings(reader)
    const { consume, produce } = settings
    const needs = () => peerPackage('the node-type kafka', 'kafkajs@2', () => import('kafkajs'))
    const start: ParsedNode['start'] = async (context) => {
      const { Kafka } = await needs()
      return new KafkaNode(context, settings, Kafka)
    }
    return inboxNode(common, start, {
      settings: reader,
      format: settings.format,
      reads: consume !== undefined,
      writes: produce !== undefined,
      needs,
    })
  },
}
