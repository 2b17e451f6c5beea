/**
 * The thread that drives the RoCE devices of its process while programs do not: it answers peers while they compute,
 * serves timers, and is the adapter of contexts with `engine: 'thread'`.
 *
 *     a program polls     it leaves the device alone, and looks every millisecond whether that goes on
 *     nobody polls        it waits for packets, a doorbell or a timer, in the kernel: an idle device costs nothing
 */
import { drainEventFd, nativeAvailable, nowNs, threadData, waitReadable } from '../../memory/index.ts'
import { processHost } from '../../verbs/index.ts'
import { layout } from '../../verbs/provider/index.ts'
import { closeAll, followTable, lookForDrops } from './datagram-table.ts'
import type { RoceDevice } from './device.ts'
import { openTables } from './device-records.ts'
import { openDevices } from './driver.ts'
import { type PublishedDevice, Publisher } from './published-counters.ts'
import { beginService, firstIndex, type ServiceData, serviceMode } from './service-handle.ts'
import { maxSlots } from './socket-table.ts'

const { Dev, Meta } = layout

/** How long it looks for more after it has found something. */
const spinNs = 100_000
/** How often it looks whether programs still poll. */
const lookMs = 1
/** The longest interval between two looks while the threads that drive devices wait in the kernel themselves. */
const longestPauseMs = 64
/** How long it waits in the kernel at a time: a thread that is to end cannot be called back from there. */
const longestWaitMs = 250
/** How often it asks what the kernel dropped, where only /proc tells. */
const dropsEveryNs = 1e9
/** How often a thread that stands by looks whether the one at work lives. */
const standbyMs = 200

const host = processHost()
const { i32, f64, segment, at } = host
const owner = at.meta + Meta.serviceOwner
const mode = at.meta + Meta.serviceMode
const wake = at.meta + Meta.serviceWake
const wakeAt = (at.meta + Meta.serviceWakeAt) >> 1
const dozes = at.meta + Meta.serviceDozes
/** The descriptor that others signal, and all sockets of all devices. */
const fds = new Int32Array(1 + layout.maxDevices * maxSlots)
/** How often threads had waited for their devices when it looked last, −1 if one did not wait; and how long it paused. */
let sleepsSeen = -1
let pause = lookMs
const publisher = new Publisher(threadData<ServiceData>().command)

standBy()
beginService()
if (nativeAvailable) serve()
else await serveEvents()

/** Until it is this thread's turn. */
function standBy(): void {
  for (;;) {
    if (Atomics.compareExchange(i32, owner, 0, segment.lockValue) === 0) {
      segment.notify(owner)
      return
    }
    segment.releaseDead(owner)
    if (Atomics.load(i32, owner) !== 0) segment.wait(owner, Atomics.load(i32, owner), standbyMs)
  }
}

function serve(): void {
  let devices: RoceDevice[] = []
  let seen = -1
  let idleSince = 0
  let turns = 0
  /** Those that no program drives. */
  const left: RoceDevice[] = []
  for (;;) {
    const bell = Atomics.load(i32, wake)
    if (Atomics.load(i32, at.meta + Meta.serviceStop) === 1) {
      end(devices)
      return
    }
    const generation = generations()
    if (generation !== seen) {
      seen = generation
      devices = devicesNow(devices)
    }
    const now = nowNs()
    left.length = 0
    for (const device of devices) if (!device.isDriven(now)) left.push(device)
    if (devices.length > 0 && left.length === 0) {
      idleSince = 0
      tell(devices)
      const ms = pauseMs(devices)
      Atomics.store(i32, mode, serviceMode.asleep)
      // A program that went idle before `mode` was `asleep` did not wake this thread.
      if (!devices.some((device) => device.rests)) segment.wait(wake, bell, ms)
      Atomics.store(i32, mode, serviceMode.awake)
      Atomics.store(i32, dozes, 0)
      continue
    }
    let found = 0
    for (const device of left) found += device.drive(true) + (device.busy ? 1 : 0)
    if (found > 0) {
      idleSince = 0
      if ((++turns & 0xff) === 0) tell(devices)
      continue
    }
    if (idleSince === 0) idleSince = now
    if (now - idleSince < spinNs) continue
    idleSince = 0
    sleep(devices, left, bell)
  }
}

/** How long threads that drive devices are trusted: longer while all of them wait in the kernel, and go on waiting. */
function pauseMs(driven: readonly RoceDevice[]): number {
  let sleeps = 0
  for (const device of driven) {
    const slept = device.slept
    sleeps = slept < 0 || sleeps < 0 ? -1 : (sleeps + slept) & 0x7fffffff
  }
  if (sleeps < 0 || sleeps !== sleepsSeen) pause = lookMs
  else pause = Math.min(2 * pause, longestPauseMs)
  sleepsSeen = sleeps
  // While this thread trusts for longer than `lookMs`, a thread that comes back from its wait wakes it.
  Atomics.store(i32, dozes, pause > lookMs ? 1 : 0)
  return pause
}

function devicesNow(before: readonly RoceDevice[]): RoceDevice[] {
  const open = openDevices()
  for (const device of before) if (!open.includes(device)) device.retire()
  markUnwrapped()
  publisher.hurry()
  return open
}

function end(devices: readonly RoceDevice[]): void {
  for (const device of devices) device.retire()
  Atomics.store(i32, at.meta + Meta.serviceStop, 2)
  segment.notify(at.meta + Meta.serviceStop)
}

/** The same with sockets of node:dgram: packets come through the event loop, and each that comes wakes this thread. */
async function serveEvents(): Promise<void> {
  let devices: RoceDevice[] = []
  let seen = -1
  let nextLook = 0
  for (;;) {
    const bell = Atomics.load(i32, wake)
    if (nowNs() >= nextLook) {
      nextLook = nowNs() + dropsEveryNs
      lookForDrops()
    }
    if (Atomics.load(i32, at.meta + Meta.serviceStop) === 1) {
      end(devices)
      await closeAll()
      return
    }
    const generation = generations()
    if (generation !== seen) {
      seen = generation
      for (const { dev, table, addresses } of openTables()) await followTable(host, dev, table, addresses, ring)
      devices = devicesNow(devices)
    }
    let found = 0
    for (const device of devices) found += device.drive(true) + (device.busy ? 1 : 0)
    if (found > 0) {
      tell(devices)
      await new Promise((resolve) => setImmediate(resolve))
      continue
    }
    for (const device of devices) device.flushWraps()
    tell(devices)
    const next = devices.reduce(
      (earliest, device) => Math.min(earliest, device.nextDeadlineNs),
      Number.POSITIVE_INFINITY,
    )
    f64[wakeAt] = next
    Atomics.store(i32, mode, serviceMode.waiting)
    if (!devices.some((device) => device.busy))
      await segment.waitAsync(wake, bell, Math.min(longestWaitMs, Math.max(0, (next - nowNs()) / 1e6)))
    Atomics.add(i32, at.meta + Meta.serviceTurns, 1)
    Atomics.store(i32, mode, serviceMode.awake)
  }
}

function ring(): void {
  Atomics.add(i32, wake, 1)
  segment.notify(wake)
}

function tell(devices: readonly RoceDevice[]): void {
  publisher.tick(nowNs() / 1e6, () =>
    devices.map(({ name, index }): PublishedDevice => ({ name, counters: host.counters(index) })),
  )
}

/** Says of devices that are closed that nothing of their middleware is left to write. */
function markUnwrapped(): void {
  for (let index = firstIndex; index < layout.maxDevices; index++) {
    const dev = host.deviceWord(index)
    const serial = i32[dev + Dev.wrapsSerial]!
    if (i32[dev + Dev.users]! > 0 || i32[dev + Dev.wrapsClosed] === serial) continue
    Atomics.store(i32, dev + Dev.wrapsClosed, serial)
    segment.notify(dev + Dev.wrapsClosed)
  }
}

/** Changes when a device opens, closes, or gets another socket. */
function generations(): number {
  let sum = 0
  for (let index = firstIndex; index < layout.maxDevices; index++) {
    const dev = host.deviceWord(index)
    // Twice, so that one socket less and one user less do not make up for each other.
    sum = (sum + 2 * i32[dev + Dev.generation]! + (i32[dev + Dev.users]! > 0 ? 1 : 0)) | 0
  }
  return sum
}

/** Waits in the kernel for packets of those that are left to this thread. */
function sleep(devices: readonly RoceDevice[], left: readonly RoceDevice[], bell: number): void {
  for (const device of devices) device.flushWraps()
  tell(devices)
  let count = 0
  fds[count++] = i32[at.meta + Meta.serviceEventFd]! - 1
  let next = Number.POSITIVE_INFINITY
  for (const device of devices) device.watched = false
  for (const device of left) {
    device.watched = true
    count += device.descriptors(fds, count)
    next = Math.min(next, device.nextDeadlineNs)
  }
  f64[wakeAt] = next
  Atomics.store(i32, mode, serviceMode.waiting)
  const longestMs =
    left.length < devices.length ? pauseMs(devices.filter((device) => !left.includes(device))) : longestWaitMs
  // A thread that rang, or went idle, before `mode` was `waiting` did not signal.
  const awaited = left.some((device) => device.busy) || devices.some((device) => !left.includes(device) && device.rests)
  if (Atomics.load(i32, wake) === bell && !awaited)
    waitReadable(fds, count, Math.min(longestMs, Math.max(0, (next - nowNs()) / 1e6)))
  Atomics.add(i32, at.meta + Meta.serviceTurns, 1)
  Atomics.store(i32, mode, serviceMode.awake)
  Atomics.store(i32, dozes, 0)
  drainEventFd(fds[0]!)
}
