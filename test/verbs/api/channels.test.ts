/** `verbena:qp:error` and `verbena:qp:retransmit`: what subscribers hear of queue pairs that fail or send again. */
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type Context,
  connectQp,
  endpointOf,
  faults,
  nativeAvailable,
  Opcode,
  openDevice,
  type PathMtu,
  type QpErrorMessage,
  type QpRetransmitMessage,
  QpState,
  SendFlag,
  sendWr,
  type Wrap,
} from '../../../src/index.ts'
import { newsOf, noteSubscribers, subscriptions, takeNews } from '../../../src/verbs/api/channels.ts'
import { processHost } from '../../../src/verbs/index.ts'
import { access, drain, makeEnd, until } from '../../devices/shm/rig.ts'
import { loopbackDevice } from '../../loopback.ts'

const undo: (() => void)[] = []
afterEach(() => {
  for (const each of undo.splice(0).reverse()) each()
})

/** What a channel publishes from now on. */
function listen<T>(name: string, also: (message: T) => void = () => {}): T[] {
  const messages: T[] = []
  const take = (message: unknown): void => {
    messages.push(message as T)
    also(message as T)
  }
  subscribe(name, take)
  undo.push(() => unsubscribe(name, take))
  return messages
}

const listenErrors = (also?: (message: QpErrorMessage) => void) => listen<QpErrorMessage>('verbena:qp:error', also)
const listenRetransmits = () => listen<QpRetransmitMessage>('verbena:qp:retransmit')

interface Options {
  wrap?: Wrap[]
  pathMtu?: PathMtu
  timeout?: number
  retryCnt?: number
  minRnrTimer?: number
}

/** Two queue pairs of RC that are connected, on two devices. */
function pair([first, second]: readonly [string, string], options: Options = {}) {
  const { wrap = [], ...connection } = options
  const open = (name: string, wrapped: Wrap[]): Context => openDevice(name, wrapped.length > 0 ? { wrap: wrapped } : {})
  const [a, b] = [open(first, []), open(second, wrap)]
  const [x, y] = [makeEnd(a), makeEnd(b)]
  undo.push(() => {
    for (const end of [x, y]) end.close()
    for (const context of [a, b]) context.close()
  })
  const [toX, toY] = [endpointOf(x.qp), endpointOf(y.qp)]
  connectQp(x.qp, toX, toY, { accessFlags: access, timeout: 14, retryCnt: 7, ...connection })
  connectQp(y.qp, toY, toX, { accessFlags: access, timeout: 14, retryCnt: 7, ...connection })
  const write = (length: number, rkey = y.mr.rkey): void =>
    x.qp.postSend(
      sendWr({
        ...{ opcode: Opcode.Write, wrId: 1, sendFlags: SendFlag.Signaled },
        ...{ sgList: [x.sge(0, length)], remoteAddr: y.mr.addr, rkey },
      }),
    )
  return { x, y, write, psn: toX.psn }
}

const shm = ['shm0', 'shm1'] as const
const roce = [loopbackDevice(1), loopbackDevice(2)] as const

describe.each([
  ['shm', shm],
  ['roce', roce],
] as const)('a remote key that is not there, on %s', (_, devices) => {
  it('is told of both queue pairs, whose reasons are the status and the event', async () => {
    const errors = listenErrors()
    const { x, y, write } = pair(devices)
    write(64, y.mr.rkey ^ 0x1234)
    const found = drain(x.cq)
    await until('messages', () => drain(x.cq, found).length > 0 && errors.length === 2)
    const of = (qpNum: number) => errors.find((message) => message.qpNum === qpNum)
    expect(of(x.qp.qpNum)).toEqual({ device: devices[0], qpNum: x.qp.qpNum, state: 'ERR', reason: 'RemAccessErr' })
    expect(of(y.qp.qpNum)).toEqual({ device: devices[1], qpNum: y.qp.qpNum, state: 'ERR', reason: 'QpAccessErr' })
  })
})

it('a subscriber may call verbs of the queue pair that failed', async () => {
  let state: number | undefined
  const { x, y, write } = pair(shm)
  const errors = listenErrors(({ qpNum }) => {
    if (qpNum !== x.qp.qpNum) return
    x.qp.modify({ state: QpState.Reset })
    state = x.qp.state
  })
  write(64, y.mr.rkey ^ 0x1234)
  await until('messages', () => errors.length === 2)
  expect(state).toBe(QpState.Reset)
})

it('nothing is told of a queue pair that the program itself moves to ERR', async () => {
  const errors = listenErrors()
  const { x } = pair(shm)
  x.qp.modify({ state: QpState.Err })
  await new Promise((resolve) => setImmediate(resolve))
  expect(errors).toEqual([])
})

describe('roce', () => {
  it('whose peer is gone: packets go again after silence and time-outs, until the retries are used up', async () => {
    const [errors, retransmits] = [listenErrors(), listenRetransmits()]
    const { x, write, psn } = pair(roce, {
      wrap: [faults({ loss: 1 })],
      timeout: 13,
      retryCnt: 1,
      pathMtu: 1024,
    })
    write(3 * 1024)
    await until('an error', () => errors.length > 0)
    expect(errors).toEqual([{ device: roce[0], qpNum: x.qp.qpNum, state: 'ERR', reason: 'RetryExcErr' }])
    const reasons = new Set(retransmits.map(({ reason }) => reason))
    expect(reasons).toContain('timeout')
    expect([...reasons].filter((reason) => reason !== 'timeout' && reason !== 'silence')).toEqual([])
    for (const { device, qpNum, psn: first, packets } of retransmits)
      expect({ device, qpNum, first, packets }).toEqual({
        ...{ device: roce[0], qpNum: x.qp.qpNum },
        ...{ first: psn, packets: 3 },
      })
  })

  it('that loses packets: NAKs have them sent again, from a PSN of the message on', async () => {
    const retransmits = listenRetransmits()
    const { x, write, psn } = pair(roce, {
      wrap: [faults({ loss: 0.1, seed: 3 })],
      timeout: 16,
      pathMtu: 1024,
    })
    const found: { wrId: number; status: number }[] = []
    for (let i = 0; i < 50 && !retransmits.some(({ reason }) => reason === 'nak'); i++) {
      write(16 * 1024)
      await until('a completion', () => drain(x.cq, found).length > i)
    }
    expect(found.every(({ status }) => status === 0)).toBe(true)
    const nak = retransmits.find(({ reason }) => reason === 'nak')!
    expect(nak).toMatchObject({ device: roce[0], qpNum: x.qp.qpNum })
    const behind = (nak.psn - psn) & 0xffffff
    expect(behind).toBeLessThan(50 * 16)
    expect(nak.packets).toBeGreaterThan(0)
  })

  it('whose peer has no receive: RNR', async () => {
    const retransmits = listenRetransmits()
    // On a busy machine silence may come before the NAK.
    const isRnr = ({ reason }: QpRetransmitMessage): boolean => reason === 'rnr'
    const { x, y, psn } = pair(roce, { minRnrTimer: 1 })
    x.qp.postSend(sendWr({ opcode: Opcode.Send, wrId: 1, sendFlags: SendFlag.Signaled, sgList: [x.sge()] }))
    await until('a message', () => drain(x.cq).length === 0 && retransmits.some(isRnr))
    expect(retransmits.find(isRnr)).toEqual({ device: roce[0], qpNum: x.qp.qpNum, psn, packets: 1, reason: 'rnr' })
    y.qp.postRecv({ wrId: 2, sgList: [y.sge()] })
    await until('the completion', () => drain(x.cq).length > 0)
  })
})

describe('subscribers', () => {
  it('are none: nothing is asked for, and threads that work for this one are told so', () => {
    const news = newsOf(processHost)
    openDevice('shm0').close()
    expect([news.wantsErrors, news.wantsRetransmits, Atomics.load(subscriptions, 0)]).toEqual([false, false, 0])
    const errors = listenErrors()
    noteSubscribers()
    expect([news.wantsErrors, news.wantsRetransmits, Atomics.load(subscriptions, 0)]).toEqual([true, false, 1])
    expect(errors).toEqual([])
  })

  it('get 1,000 messages for each turn of the event loop at most', async () => {
    const errors = listenErrors()
    const news = newsOf(processHost)
    for (let i = 0; i < 1200; i++) news.qpError(0, i, 'ERR', 'QpFatal')
    expect(errors).toEqual([])
    await new Promise((resolve) => setImmediate(resolve))
    expect(errors.map(({ qpNum }) => qpNum)).toEqual(Array.from({ length: 1000 }, (_, i) => i))
    news.qpError(0, 7, 'SQE', 'LocProtErr')
    await new Promise((resolve) => setImmediate(resolve))
    expect(errors.at(-1)).toMatchObject({ qpNum: 7, state: 'SQE' })
  })

  it('hear what another thread passes, which counts as taken', () => {
    const errors = listenErrors()
    const message: QpErrorMessage = { device: 'roce', qpNum: 5, state: 'ERR', reason: 'RetryExcErr' }
    Atomics.add(subscriptions, 1, 1)
    const before = Atomics.load(subscriptions, 1)
    takeNews({ news: 'error', message, index: 2 })
    expect(errors).toEqual([message])
    expect(Atomics.load(subscriptions, 1)).toBe(before - 1)
    expect(channel('verbena:qp:error').hasSubscribers).toBe(true)
  })
})

it.skipIf(!nativeAvailable)('an engine thread passes what it finds to the thread that opened the device', async () => {
  const errors = listenErrors()
  const [a, b] = [openDevice('shm0', { engine: 'thread' }), openDevice('shm1')]
  const [x, y] = [makeEnd(a), makeEnd(b)]
  undo.push(() => {
    for (const end of [x, y]) end.close()
    for (const context of [a, b]) context.close()
  })
  const [toX, toY] = [endpointOf(x.qp), endpointOf(y.qp)]
  connectQp(x.qp, toX, toY, { accessFlags: access })
  connectQp(y.qp, toY, toX, { accessFlags: access })
  x.qp.postSend(
    sendWr({
      ...{ opcode: Opcode.Write, wrId: 1, sendFlags: SendFlag.Signaled, sgList: [x.sge()] },
      ...{ remoteAddr: y.mr.addr, rkey: y.mr.rkey ^ 0x1234 },
    }),
  )
  await until('messages', () => errors.length === 2)
  const told = errors.map(({ device, reason }) => [device, reason]).sort()
  expect(told).toEqual([
    ['shm0', 'RemAccessErr'],
    ['shm1', 'QpAccessErr'],
  ])
})
