/**
 * Random programs that make objects, give calls what they reject, close in any order and give up in the middle: on `shm` and on
 * `roce` every call ends the same, what it may say is what the model says, and afterwards nothing of the program is left. Objects,
 * keys, memory, ports and services of the segment are as many as before.
 *
 * The model: what is open, and what keeps what from being closed.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  Access,
  type Context,
  connectQp,
  createEventChannel,
  type EventChannel,
  endpointOf,
  MwType,
  Opcode,
  openDevice,
  PortSpace,
  QpState,
  QpType,
  RdmaCmError,
  SendFlag,
  VerbsError,
  workCompletions,
} from '../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../loopback.ts'
import { holds } from '../property.ts'
import { type Census, census } from '../verbs/census.ts'

const kinds = ['pd', 'channel', 'cq', 'srq', 'qp', 'mr', 'mw', 'ah', 'memory', 'event channel', 'id'] as const
type Kind = (typeof kinds)[number]

/** An object of the program on one device: what it is, what it needs, and what has been done with it. */
interface Made {
  kind: Kind
  needs: Made[]
  /** Open objects that need it. */
  uses: number
  open: boolean
  // biome-ignore lint/suspicious/noExplicitAny: one of the kinds above
  object: any
}

type Step =
  | { do: 'make'; kind: Kind; a: number; b: number; wrong: number }
  | { do: 'close'; which: number }
  | { do: 'use'; which: number; how: number }

const number = fc.nat(999)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record(
      {
        do: fc.constant('make' as const),
        kind: fc.constantFrom(...kinds, 'event channel', 'id', 'id', 'qp'),
        a: number,
        b: number,
        wrong: fc.oneof(
          { weight: 2, arbitrary: fc.constant(0) },
          { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) },
        ),
      },
      { noNullPrototype: true },
    ),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('close' as const), which: number }, { noNullPrototype: true }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('use' as const), which: number, how: number }, { noNullPrototype: true }),
  },
)
const programs = fc.array(step, { minLength: 1, maxLength: 60, size: 'max' })

interface Place {
  context: Context
  device: string
  address: string
}

/** The code of what it throws, or 'ok'. */
function outcome(action: () => void): string {
  try {
    action()
    return 'ok'
  } catch (error) {
    if (error instanceof VerbsError || error instanceof RdmaCmError) return error.code
    throw error
  }
}

class Program {
  readonly #place: Place
  readonly #made: Made[] = []
  readonly log: string[] = []

  constructor(place: Place) {
    this.#place = place
  }

  #one(kind: Kind, n: number): Made | undefined {
    const some = this.#made.filter((made) => made.kind === kind && made.open)
    return some[n % Math.max(1, some.length)]
  }

  run(step: Step): void {
    if (step.do === 'make') this.#make(step)
    else {
      const made = this.#made[step.which % Math.max(1, this.#made.length)]
      if (made === undefined) return
      if (step.do === 'close') this.#close(made)
      else this.#use(made, step.how)
    }
  }

  /** With `wrong`, an argument is not possible: nothing is made then. */
  #make({ kind, a, b, wrong }: Extract<Step, { do: 'make' }>): void {
    const { context, device, address } = this.#place
    const pd = this.#one('pd', a)
    const cq = this.#one('cq', b)
    const needs: Made[] = []
    const need = (made: Made): Made['object'] => {
      needs.push(made)
      return made.object
    }
    let make: (() => Made['object']) | undefined
    switch (kind) {
      case 'pd':
        make = () => context.allocPd()
        break
      case 'channel':
        make = () => context.createCompChannel()
        break
      case 'cq': {
        const channel = a % 2 === 0 ? this.#one('channel', b) : undefined
        const cqe = [8, 0, -1, 2 ** 40][wrong]!
        make = () => context.createCq(cqe, channel ? { channel: need(channel) } : {})
        break
      }
      case 'srq':
        if (pd) make = () => need(pd).createSrq({ maxWr: [4, -1, 2 ** 40, 0.5][wrong]! })
        break
      case 'qp': {
        const srq = this.#one('srq', b)
        const init = [{}, { cap: { maxSendSge: 1000 } }, { cap: { maxInlineData: -1 } }, { type: 77 }][wrong]!
        const type = [QpType.RC, QpType.UC, QpType.UD][a % 3]!
        if (pd && cq)
          make = () =>
            need(pd).createQp({
              ...{ type, sendCq: need(cq), recvCq: cq.object, ...init },
              ...(srq && b % 2 === 0 ? { srq: need(srq) } : {}),
            } as never)
        break
      }
      case 'mr': {
        const memory = this.#one('memory', b)
        const access = [Access.LocalWrite | Access.RemoteRead, 1 << 30, Access.RemoteWrite, -1][wrong]!
        if (pd && memory) make = () => need(pd).regMr(memory.object, access)
        break
      }
      case 'mw':
        if (pd) make = () => need(pd).allocMw([MwType.Type1, 0, 3, Number.NaN][wrong] as never)
        break
      case 'ah': {
        const { gid } = context.queryGidEx(1, 0)
        const dgid = [gid, gid.slice(1), undefined, 'x'][wrong] as Uint8Array
        if (pd) make = () => need(pd).createAh({ portNum: 1, grh: { dgid } })
        break
      }
      case 'memory':
        make = () => context.alloc([4096, 0, -1, Number.NaN][wrong]!)
        break
      case 'event channel':
        make = () => createEventChannel({ device })
        break
      case 'id': {
        const channel = this.#one('event channel', a)
        if (channel)
          make = () => {
            const id = (need(channel) as EventChannel).createId([PortSpace.Tcp, PortSpace.Udp][b % 2]!)
            try {
              id.bindAddr({ address: wrong === 1 ? '203.0.113.7' : address, port: wrong === 2 ? 70_000 : 0 })
              if (a % 2 === 0) id.createQp(wrong === 3 ? { cap: { maxRecvSge: 1000 } } : {})
              else if (wrong === 3) id.listen(-1)
              else if (b % 3 === 0) id.listen(3)
            } catch (error) {
              // It gives up with the id: whatever the id had goes with it.
              id.close()
              throw error
            }
            return id
          }
      }
    }
    if (make === undefined) return
    let object: Made['object']
    const said = outcome(() => {
      object = make()
    })
    this.log.push(`make ${kind} ${wrong}: ${said}`)
    if (said !== 'ok') return
    for (const made of needs) made.uses++
    this.#made.push({ kind, needs, uses: 0, open: true, object })
  }

  #close(made: Made): void {
    // As with C's free: its pages may be another's by now.
    if (made.kind === 'memory' && !made.open) return
    const { kind, needs, open, object } = made
    const said = outcome(() => (kind === 'memory' ? this.#place.context.free(object) : object.close()))
    // An event channel closes its ids; an id that is closed again says nothing. A region does not keep its memory.
    const quiet = kind === 'id'
    const busy = kind !== 'event channel' && kind !== 'memory' && made.uses > 0
    const expected = !open ? (quiet ? 'ok' : 'EBADF') : busy ? 'EBUSY' : 'ok'
    expect(said, `close ${kind}, ${open ? `used by ${made.uses}` : 'closed'}`).toBe(expected)
    this.log.push(`close ${kind}: ${said}`)
    if (said !== 'ok' || !open) return
    made.open = false
    for (const needed of needs) needed.uses--
    if (kind === 'event channel')
      for (const id of this.#made) if (id.kind === 'id' && id.needs[0] === made) id.open = false
  }

  /** Calls on objects, of which many are not possible in the state that they are in. */
  #use({ kind, object, open }: Made, how: number): void {
    const { context } = this.#place
    const wc = workCompletions(4)
    const calls: Partial<Record<Kind, (() => void)[]>> = {
      qp: [
        () =>
          object.modify({
            state: QpState.Init,
            pkeyIndex: 0,
            port: 1,
            ...(object.type === QpType.UD ? { qkey: 5 } : { accessFlags: 0 }),
          }),
        () => object.modify({ state: QpState.Err }),
        () => object.modify({ state: QpState.Reset }),
        () => object.modify({ state: QpState.Rts, sqPsn: 2 ** 24 }),
        () => object.postRecv({ wrId: how }),
        () => object.postRecv({ wrId: -1 }),
        () => object.postSend({ wrId: how, opcode: Opcode.Send, sendFlags: SendFlag.Signaled }),
        () =>
          connectQp(object, endpointOf(object), object.type === QpType.UD ? null : endpointOf(object), {
            rnrRetry: 0,
            timeout: 1,
            retryCnt: 0,
            minRnrTimer: 1,
          }),
        () => object.attachMcast(new Uint8Array(how % 16)),
      ],
      cq: [
        () => void object.poll(wc),
        () => object.resize(how % 3 === 0 ? -how - 1 : 64),
        () => object.ackEvents(how + 1),
        () => object.reqNotify(7 as never),
      ],
      srq: [() => object.postRecv({ wrId: how }), () => object.modify({ srqLimit: 2 ** 20 })],
      mr: [() => object.rereg(1 << 20, {}), () => object.rereg(4, { access: Access.LocalWrite })],
      pd: [() => object.createAh(null as never), () => void object.regMr(new Uint8Array(8), 1)],
      id: [
        () => object.destroyQp(),
        () => object.createQp({ cap: { maxSendWr: -1 } }),
        () => object.connect({}),
        () => object.accept({}),
        () => object.resolveAddr(undefined, { address: this.#place.address, port: 9 }),
        () => object.setOption('tos', 300),
        () => object.joinMulticast({ address: '10.0.0.1' }),
      ],
      'event channel': [() => void object.tryGetEvent()],
      memory: [() => void context.view(-1, how)],
    }
    const some = calls[kind]
    if (some === undefined) return
    const at = how % some.length
    const said = outcome(some[at]!)
    // What a closed object is asked for is EBADF, whatever else is wrong with it.
    if (!open && kind !== 'memory') expect(['EBADF', 'EINVAL'], `${kind} ${at} closed`).toContain(said)
    this.log.push(`use ${kind} ${at}: ${said}`)
  }

  /** Gives up: closes what is open, in an order that works, however far it has come. */
  end(): void {
    for (let left = this.#open(); left.length > 0; left = this.#open()) {
      const before = left.length
      for (const made of left.filter(({ kind, uses }) => uses === 0 || kind === 'event channel'))
        if (made.open) this.#close(made)
      expect(this.#open().length, 'something cannot be closed').toBeLessThan(before)
    }
  }

  #open(): Made[] {
    return this.#made.filter(({ open }) => open)
  }
}

const places: Place[] = []
beforeAll(() => {
  for (const [device, address] of [
    ['shm0', '127.0.0.1'],
    [loopbackDevice(1), loopbackAddress(1)],
  ] as const)
    places.push({ context: openDevice(device), device, address })
})
afterAll(() => {
  for (const { context } of places) context.close()
})

it('programs that give up leave nothing, and end the same on shm and roce', async () => {
  await holds(
    fc.property(programs, (program) => {
      const logs = places.map((place) => {
        const before: Census = census(place.context)
        const run = new Program(place)
        for (const one of program) run.run(one)
        run.end()
        for (let event = place.context.pollAsyncEvent(); event; event = place.context.pollAsyncEvent())
          place.context.ackAsyncEvent(event)
        expect(census(place.context), `left on ${place.device}`).toEqual(before)
        return run.log
      })
      expect(logs[0]).toEqual(logs[1])
    }),
    30,
    200,
  )
})
