/**
 * Adapters on the virtual link whose driving thread is killed at any of its stores (`Faults.killing`).
 *
 * A turn of such a thread runs with arrays that count: each store into the segment, by index, by `Atomics` or by a copy, is a
 * step, and the last one that the turn may make throws. From then on the thread is dead: what `finally` does on the way out
 * changes nothing. Its locks stay, as those of a thread that no longer lives.
 *
 * A packet that its thread had taken and not executed is lost, and costs the peer a retry: with such faults go `Faults.spares`.
 */
import { type DeviceInfo, openDevice } from '../../src/index.ts'
import type { Segment } from '../../src/memory/index.ts'
import { TransportDevice } from '../../src/transport/layout.ts'
import { type DeviceDriver, Host, layout, registerDriver } from '../../src/verbs/provider/index.ts'
import { link, VirtualDevice } from './virtual.ts'

export class Killed extends Error {}

/** What locks of dead threads hold: an attachment that no thread of these tests has, in a use that it never had. */
export const deadAttachment = 1000
const attachmentBits = 10

const targets = new WeakMap<object, object>()
const changing = ['store', 'exchange', 'compareExchange', 'add', 'sub'] as const
const realAtomics = Atomics

/** One thread, from its birth to its death. */
export class Life {
  /** Steps that it may still make. */
  left = Number.POSITIVE_INFINITY
  dead = false
  scratch: readonly [number, number] = [0, 0]
  /** The word in which it says what it is about to do, and how many steps it may make from then on; 0: as many as are left. */
  journal = 0
  afterNote = 0
  #lives = 0
  lockValue = 0

  begin(steps: number, afterNote = 0): void {
    this.left = steps
    this.afterNote = afterNote
    this.dead = false
    this.#lives = (this.#lives + 1) & 0xfffff
    this.lockValue = deadAttachment | (this.#lives << attachmentBits)
  }

  /** Whether the thread still lives to make this store. */
  step(): boolean {
    if (this.dead) return false
    if (--this.left > 0) return true
    this.dead = true
    throw new Killed()
  }

  array<T extends Int32Array | Float64Array | Uint8Array | BigInt64Array>(target: T): T {
    const bytes = target instanceof Uint8Array
    const proxy = new Proxy(target, {
      get: (_, name) => {
        const value = Reflect.get(target, name, target) as unknown
        if (typeof value !== 'function') return value
        if (name !== 'fill' && name !== 'set' && name !== 'copyWithin') return value.bind(target)
        return (...args: unknown[]) => {
          if (!bytes && !this.step()) return
          Reflect.apply(value, target, args)
        }
      },
      set: (_, name, value) => {
        const index = Number(name)
        const inScratch = bytes && index >= this.scratch[0] && index < this.scratch[1]
        if (!inScratch && !this.step()) return true
        Reflect.set(target, name, value, target)
        if (target instanceof Int32Array && index === this.journal && value !== 0 && this.afterNote > 0)
          this.left = Math.min(this.left, this.afterNote)
        return true
      },
    }) as T
    targets.set(proxy, target)
    return proxy
  }

  /** `Atomics` that know these arrays. */
  readonly atomics: typeof Atomics = new Proxy(realAtomics, {
    get: (_, name) => {
      const real = Reflect.get(realAtomics, name) as (...args: unknown[]) => unknown
      const changes = (changing as readonly unknown[]).includes(name)
      return (array: object, ...rest: unknown[]) => {
        const target = targets.get(array)
        if (target === undefined) return real(array, ...rest)
        if (changes && !this.step()) return realAtomics.load(target as Int32Array, rest[0] as number)
        return real(target, ...rest)
      }
    },
  })

  run<T>(body: () => T): T {
    const scope = globalThis as { Atomics: typeof Atomics }
    scope.Atomics = this.atomics
    try {
      return body()
    } finally {
      scope.Atomics = realAtomics
    }
  }

  segment(real: Segment): Segment {
    const life = this
    const i32 = real.i32
    const copy = (dst: number, src: number, length: number): void => {
      if (life.left === 1) real.copy(dst, src, length >> 1)
      if (life.step()) real.copy(dst, src, length)
    }
    const own: Partial<Record<keyof Segment, unknown>> = {
      i32: life.array(i32),
      f64: life.array(real.f64),
      u8: life.array(real.u8),
      b64: life.array(real.b64),
      copy,
      copyOrdered: copy,
      enterNow() {},
      leave() {},
      quiesce() {},
      publish(word: number, value: number) {
        if (life.step()) i32[word] = value
      },
      lock(word: number) {
        // Nobody else runs: whoever has it is dead.
        if (life.step()) i32[word] = life.lockValue
      },
      tryLock(word: number) {
        if (i32[word] !== 0 || !life.step()) return false
        i32[word] = life.lockValue
        return true
      },
      unlock(word: number) {
        if (life.step()) i32[word] = 0
      },
      bumpEpoch() {
        if (life.step()) real.bumpEpoch()
      },
      wake(attachment: number) {
        if (life.step()) real.wake(attachment)
      },
      takeFromDead(word: number) {
        if (i32[word] === 0 || !life.step()) return false
        i32[word] = life.lockValue
        return true
      },
    }
    Object.defineProperty(own, 'lockValue', { get: () => life.lockValue })
    return new Proxy(real, {
      get: (_, name) => {
        if (name in own) return own[name as keyof Segment]
        const value = Reflect.get(real, name, real) as unknown
        return typeof value === 'function' ? value.bind(real) : value
      },
    })
  }
}

export class MortalDevice extends VirtualDevice {
  readonly #life: Life
  /** The same adapter, as the thread that dies sees it. */
  readonly #mortal: VirtualDevice
  deaths = 0

  constructor(host: Host, number: number) {
    super(host, number)
    const life = new Life()
    this.#life = life
    this.#mortal = life.run(() => new VirtualDevice(new Host(life.segment(host.segment), host.platform), number))
    life.scratch = this.#mortal.scratch
    life.journal = this.transport.journal
    link.devices[number] = this
  }

  override get isOrphaned(): boolean {
    const { host } = this
    const record = host.i32[host.deviceWord(this.index) + layout.Dev.transport]!
    return (host.i32[record + TransportDevice.lock]! & (2 ** attachmentBits - 1)) === deadAttachment
  }

  override doorbell(q: number): void {
    this.transport.ring(q)
  }

  override settle(): void {
    this.drive(false)
  }

  override drive(look: boolean): number {
    const { killing = 0, spares } = link.faults
    if (killing === 0 && this.isOrphaned) this.takeOver()
    // A turn in which there is nothing to do is not worth dying in.
    if (killing === 0 || !(this.transport.pending || link.arrived(this)) || spares?.() || link.random() >= killing)
      return super.drive(look)
    // Few steps as often as many.
    const steps = Math.ceil(Math.exp(link.random() * 7))
    // Half of them die while something happens that may happen only once.
    const afterNote = link.random() < 0.5 ? 0 : Math.ceil(link.random() * 40)
    if (this.#live(afterNote > 0 ? 1e6 : steps, () => this.#mortal.drive(look), afterNote)) return 1
    // Whoever takes over may be killed as well.
    while (link.random() < 0.3) if (this.#live(Math.ceil(link.random() * 200), () => this.#mortal.takeOver())) return 1
    // Somebody is told, or notices by polling.
    if (link.random() < 0.9) this.takeOver()
    return 1
  }

  /** Runs a turn that ends after so many steps, and the thread with it; false if it did. */
  #live(steps: number, turn: () => void, afterNote = 0): boolean {
    this.#life.begin(steps, afterNote)
    const held: (() => void)[] = []
    link.held = held
    let lives = true
    try {
      this.#life.run(turn)
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      lives = false
      this.deaths++
    } finally {
      link.held = null
    }
    // Some of what it had made may have left before.
    for (const send of lives ? held : held.slice(0, link.random() * (held.length + 1))) send()
    return lives
  }
}

export const mortal: readonly [string, string] = ['virtual-mortal0', 'virtual-mortal1']
const devices = new Map<string, MortalDevice>()

export function mortalDevice(name: string): MortalDevice {
  let device = devices.get(name)
  if (!device) {
    const probe = openDevice('shm0')
    device = new MortalDevice(probe.device.host, 4 + mortal.indexOf(name))
    probe.close()
    devices.set(name, device)
  }
  return device
}

const driver: DeviceDriver = {
  kind: 'mortal',
  list: (): DeviceInfo[] => [],
  open: (name) => (mortal.includes(name) ? mortalDevice(name) : null),
}

export function registerMortal(): void {
  registerDriver(driver)
}
