/**
 * A connection to a cluster of Kafka: a producer and a consumer of the client kafkajs, as far as the node has them, with all sockets that
 * they open. kafkajs repairs failures of one broker of several; a session ends when none of its sockets is left, or when the consumer gives
 * up.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Consumer, ISocketFactory, Kafka, KafkaConfig, Producer } from 'kafkajs'
import type { KafkaSettings } from './settings.ts'

export type NewKafka = new (config: KafkaConfig) => Kafka

export interface SessionEvents {
  message(value: Buffer): void
  /** Resolves when another message may come. */
  room(): Promise<void>
  /** Called once, after `open` has resolved. */
  ended(why: string): void
}

/** Time after which a request fails that the broker does not answer. */
const requestMs = 10_000
/** Maximum time for which the broker may hold a fetch back when there are no messages. */
const longestFetchMs = 250
const keepAliveMs = 60_000
/** Retries of kafkajs when a partition gets another leader, or one broker of several goes away. */
const retry = { retries: 3, initialRetryTime: 100 }
/** Minimum that brokers allow by default: for so long a member that was cut off may hold up its group. */
const sessionMs = 6000
const endedByBroker = 'the broker has ended the connection'
/** Names of the errors of `produce` when a broker cannot be reached: kafkajs would keep its connection, even one that leads nowhere. */
const unreachable = ['KafkaJSRequestTimeoutError', 'KafkaJSConnectionError', 'KafkaJSConnectionClosedError']

export class Session {
  readonly #settings: KafkaSettings
  readonly #events: SessionEvents
  readonly #producer: Producer | undefined
  readonly #consumer: Consumer | undefined
  readonly #sockets = new Set<Socket>()
  /** Rejects the promise of `open`. */
  #giveUp: (error: Error) => void = () => {}
  #isOpen = false
  #takesMessages = false
  #ended = false
  /** Last error of a socket. */
  #why = ''

  constructor(
    kafka: NewKafka,
    settings: KafkaSettings,
    directions: { in: boolean; out: boolean },
    events: SessionEvents,
  ) {
    const { servers, clientId, sasl, timeoutMs, groupId } = settings
    this.#settings = settings
    this.#events = events
    const client = new kafka({
      brokers: [...servers],
      clientId,
      ...(sasl && { sasl: { ...sasl } as NonNullable<KafkaConfig['sasl']> }),
      connectionTimeout: timeoutMs,
      authenticationTimeout: Math.max(timeoutMs, 1000),
      requestTimeout: requestMs,
      retry: { retries: 0 },
      socketFactory: this.#socket,
      // The node logs what matters.
      logCreator: () => () => {},
    })
    if (directions.out) this.#producer = client.producer({ createPartitioner: () => partitionOf(clientId), retry })
    if (directions.in)
      this.#consumer = client.consumer({
        groupId,
        sessionTimeout: sessionMs,
        heartbeatInterval: sessionMs / 6,
        rebalanceTimeout: sessionMs,
        maxWaitTimeInMs: longestFetchMs,
        retry: { ...retry, restartOnFailure: async () => false },
      })
  }

  /** Resolves when messages can be sent, and those that other clients send from now on will come; otherwise the session has ended. */
  async open(): Promise<void> {
    const failure = new Promise<never>((_, reject) => {
      this.#giveUp = reject
    })
    try {
      await Promise.race([failure, Promise.all([this.#connectProducer(), this.#consume()])])
      if (this.#ended || this.#sockets.size === 0) throw new Error(this.#why || endedByBroker)
      this.#isOpen = true
    } catch (error) {
      this.close(error as Error)
      throw error
    } finally {
      this.#giveUp = () => {}
    }
  }

  /** True if messages can be produced: before a consumer is let into its group, which takes seconds. */
  get takesMessages(): boolean {
    return this.#takesMessages && !this.#ended
  }

  async #connectProducer(): Promise<void> {
    if (this.#producer === undefined) return
    await this.#producer.connect()
    this.#takesMessages = true
  }

  async #consume(): Promise<void> {
    const consumer = this.#consumer
    if (consumer === undefined) return
    consumer.on('consumer.crash', ({ payload: { error } }) => this.#end(error.message))
    // The first fetch determines from which message on the consumer reads.
    const fetched = new Promise<void>((done) => {
      const remove = consumer.on('consumer.fetch', () => {
        remove()
        done()
      })
    })
    await consumer.connect()
    await consumer.subscribe({ topics: [this.#settings.consume!], fromBeginning: false })
    await consumer.run({
      eachBatch: async ({ batch, heartbeat, resolveOffset }) => {
        for (const { value, offset } of batch.messages) {
          if (this.#ended) return
          await this.#events.room()
          if (value !== null) this.#events.message(value)
          resolveOffset(offset)
        }
        await heartbeat()
      },
    })
    await fetched
  }

  /** Resolves when all replicas have the messages. The session ends if their broker does not answer. */
  async produce(values: readonly Buffer[]): Promise<void> {
    const messages = values.map((value) => ({ value }))
    try {
      await this.#producer!.send({ topic: this.#settings.produce!, acks: -1, timeout: requestMs, messages })
    } catch (error) {
      const { name, message, cause } = error as Error
      if (unreachable.includes(name) || unreachable.includes((cause as Error | undefined)?.name ?? ''))
        this.#end(message)
      throw error
    }
  }

  readonly #socket: ISocketFactory = ({ host, port, onConnect }) => {
    if (this.#ended) throw new Error('the session has ended')
    const { tls } = this.#settings
    const socket = tls
      ? connectTls({ host, port, ...tls, ...(isIP(host) === 0 && { servername: host }) }, onConnect)
      : connectTcp({ host, port }, onConnect)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, keepAliveMs)
    this.#sockets.add(socket)
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#why = error.message || error.code || ''
    })
    socket.on('close', () => {
      this.#sockets.delete(socket)
      if (this.#sockets.size === 0 && this.#isOpen) this.#end(this.#why)
    })
    return socket
  }

  #end(why: string): void {
    if (this.#ended) return
    const wasOpen = this.#isOpen
    const error = new Error(why || endedByBroker)
    this.close(error)
    if (wasOpen) this.#events.ended(error.message)
  }

  /** Leaves the group and ends the connections, for which it waits at most `withinMs`. */
  async leave(withinMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((done) => {
      timer = setTimeout(done, withinMs)
    })
    const left = Promise.allSettled([this.#producer?.disconnect(), this.#consumer?.disconnect()])
    this.#isOpen = false
    await Promise.race([left, late])
    clearTimeout(timer)
    this.close(new Error('the node has stopped'))
  }

  /** Closes all at once. kafkajs ends its requests and timers by the error of a socket. */
  close(error: Error): void {
    if (this.#ended) return
    this.#ended = true
    this.#giveUp(error)
    for (const socket of this.#sockets) socket.destroy(error)
    for (const client of [this.#producer, this.#consumer]) client?.disconnect().catch(() => {})
  }
}

/** Chooses one partition for all messages of a client: only within a partition the broker keeps their order. */
function partitionOf(clientId: string): (args: { partitionMetadata: { partitionId: number }[] }) => number {
  let sum = 0
  for (let i = 0; i < clientId.length; i++) sum += clientId.charCodeAt(i)
  return ({ partitionMetadata }) => sum % partitionMetadata.length
}
