/**
 * The thread that drives RoCE devices while programs do not: it answers peers while they compute, serves timers, and is the adapter of
 * contexts with `engine: 'thread'`. Each process has one; of the processes that share a device one drives it, and the others wait until
 * that one ends. All of them give descriptors to processes that begin to use the device, and detect the end of other processes
 * (sharing.ts).
 *
 *     a program polls or blocks     it leaves the device alone, and looks now and then whether the program goes on
 *     an event loop waits           the same; but it keeps the timers, and looks whether packets are left waiting
 *     no program does               it waits for packets, a doorbell or a timer, in the kernel
 */
import { parentPort } from 'node:worker_threads'
import {
  hostLinks,
  letThreadRest,
  loopDescriptor,
  NativeError,
  type NetlinkEvents,
  nativeAvailable,
  nowNs,
  Polling,
  seldomMs,
  threadData,
  turnOfLoop,
  untilLook,
  waitReadable,
  watchHostNetwork,
} from '../../memory/index.ts'
import { nameDevice, passNews, processHost } from '../../verbs/index.ts'
import { type Host, layout, VerbsError } from '../../verbs/provider/index.ts'
import { hostAddresses } from './addresses.ts'
import { closeAll, followTable, lookForDrops } from './datagram-table.ts'
import type { RoceDevice } from './device.ts'
import { openTables } from './device-records.ts'
import { openDevices } from './driver.ts'
import { RoceDev } from './layout.ts'
import { type PublishedDevice, Publisher } from './published-counters.ts'
import { beginService, firstIndex, type ServiceData, wakeService } from './service-handle.ts'
import { Sharing } from './sharing.ts'
import { maxSlots } from './socket-table.ts'

const { Meta } = layout

/** Shortest interval between two looks whether programs still drive their devices. Each look that finds it so doubles the interval, ... */
const lookMs = 1
/** ... up to this while they poll or wake: a peer waits for as long for a program that has begun to compute. */
const longestTrustMs = 8
/**
 * Longest interval while all of them only wait. If even then no packet comes, this thread also waits for packets, as a sign that they are
 * back.
 */
const longestPauseMs = 64
/**
 * Maximum time of one wait in the kernel where the thread cannot be called back when it is to end, or where other processes have a
 * device: a process that is stopped makes no event, and the next one takes its part.
 */
const longestWaitMs = untilLook(250)
/** Interval of queries for the kernel's drops, where only /proc reports them, and for the host's network in that case. */
const dropsEveryNs = 1e9
/** Interval of retries after another thread was about to change the device. */
const againNs = 20e6
/** Interval at which a thread that stands by looks whether the working one lives. */
const standbyMs = 200

const host = processHost()
const { i32, segment, at } = host
const { parking } = segment
const owner = at.meta + Meta.serviceOwner
const wake = at.meta + Meta.serviceWake
const turns = at.meta + Meta.serviceTurns
/** Maximum number of processes of a device whose ends are detected. */
const mostProcesses = 256
/** Descriptors that wake this thread, all sockets of all devices, and those that signal requests and ends of other processes. */
const fds = new Int32Array(3 + layout.maxDevices * (2 + maxSlots + mostProcesses))
/** Flag for each of them: it can be read. */
const readies = new Uint8Array(fds.length)
/** Current interval between two looks at programs. */
let pause = lookMs
/** Work of this thread for other processes, by shared device that this process uses. */
const sharings = new Map<RoceDevice, Sharing>()
/** Descriptor on which this thread's event loop waits, −1 if it is unknown: it is signalled when the thread is to end. */
let loop = -1
/** Flag: the event loop has something to do. */
let loopCalls = false
/** Parkings through which other threads wake this one: in the segment of the process, and in those of `sharings`. */
let parkings = [parking]
/** Events of changes of the host's links or addresses; null if the kernel does not send them. */
let network: NetlinkEvents | null = null
const { command, subscriptions } = threadData<ServiceData>()
const publisher = new Publisher(command)
passNews(subscriptions, (passed) => parentPort?.postMessage(passed))

letThreadRest()
standBy()
beginService()
network = watchNetwork()
if (nativeAvailable) {
  loop = await loopDescriptor()
  await serve()
} else await serveEvents()

function watchNetwork(): NetlinkEvents | null {
  try {
    return nativeAvailable ? watchHostNetwork() : null
  } catch (error) {
    if (error instanceof NativeError) return null
    throw error
  }
}

/** Updates the ports and GID tables of devices from the links and addresses of the host; false if it has to be tried again. */
function followNetwork(devices: readonly RoceDevice[]): boolean {
  if (devices.length === 0) return true
  try {
    const links = hostLinks()
    const addresses = hostAddresses()
    let done = true
    for (const device of devices) if (!device.followHost(links, addresses)) done = false
    return done
  } catch (error) {
    // Too many open files, perhaps not for long.
    if (error instanceof NativeError || error instanceof VerbsError) return false
    throw error
  }
}

/** Waits until it is this thread's turn. */
function standBy(): void {
  for (;;) {
    if (Atomics.compareExchange(i32, owner, 0, segment.lockValue) === 0) {
      segment.notify(owner)
      // The previous thread may have been terminated while it waited in the kernel.
      if ((Atomics.load(i32, turns) & 1) === 1) Atomics.add(i32, turns, 1)
      segment.notify(turns)
      return
    }
    segment.releaseDead(owner)
    if (Atomics.load(i32, owner) !== 0) segment.wait(owner, Atomics.load(i32, owner), standbyMs)
  }
}

async function serve(): Promise<void> {
  let open: RoceDevice[] = []
  let seen = -1
  const polling = new Polling()
  let busyTurns = 0
  /** Devices among `open` that this thread has to drive, and those of them that no program drives. */
  const devices: RoceDevice[] = []
  const left: RoceDevice[] = []
  /** Flag: the host's network has changed. */
  let changed = false
  for (;;) {
    if (loopCalls) {
      loopCalls = false
      await turnOfLoop()
    }
    const wakeups = countWakeups()
    if (Atomics.load(i32, at.meta + Meta.serviceStop) === 1) {
      end(open)
      return
    }
    const generation = generations()
    if (generation !== seen) {
      seen = generation
      open = devicesNow(open)
      // The network may have changed between the opening of a device and this.
      changed = true
      // The set of counters has changed: a change of their sum is a wake-up only as long as none is added or removed.
      continue
    }
    if (changed) {
      network?.drain()
      changed = !followNetwork(open)
    }
    const now = nowNs()
    devices.length = 0
    left.length = 0
    for (const device of open) {
      if (sharings.get(device)?.drives === false) continue
      devices.push(device)
      looksAt(device.host, now)
    }
    for (const device of devices) if (!device.isDriven()) left.push(device)
    if (left.length === 0) {
      polling.leave()
      changed = sleep(devices, left, wakeups, changed) || changed
      continue
    }
    let found = 0
    for (const device of left) found += device.drive(true) + (device.busy ? 1 : 0)
    if (found > 0) {
      polling.came(now)
      if ((++busyTurns & 0xff) === 0) {
        publish(devices)
        for (const sharing of sharings.values()) sharing.look()
        changed = network?.drain() ?? false
      }
      continue
    }
    if (polling.goesOn(now)) continue
    changed = sleep(devices, left, wakeups, changed) || changed
  }
}

/** Returns a number that changes with each event that wakes this thread. */
function countWakeups(): number {
  let sum = Atomics.load(i32, wake)
  for (const { host, users } of sharings.keys())
    sum = (sum + Atomics.load(host.i32, host.at.meta + Meta.serviceWake) + users.changes) | 0
  return sum
}

function devicesNow(before: readonly RoceDevice[]): RoceDevice[] {
  const open = openDevices()
  for (const device of before) if (!open.includes(device)) retire(device)
  for (const { host, index, name } of open) nameDevice(host, index, name)
  for (const device of open) if (device.shared && !sharings.has(device)) sharings.set(device, new Sharing(device))
  parkings = [parking, ...Array.from(sharings.keys(), ({ host }) => host.segment.parking)]
  markUnwrapped()
  publisher.hurry()
  return open
}

function retire(device: RoceDevice): void {
  device.retire()
  sharings.get(device)?.leave()
  sharings.delete(device)
}

function end(devices: readonly RoceDevice[]): void {
  for (const device of devices) retire(device)
  Atomics.store(i32, at.meta + Meta.serviceStop, 2)
  segment.notify(at.meta + Meta.serviceStop)
}

/** Serves devices with sockets of node:dgram: packets come through the event loop, and each packet wakes this thread. */
async function serveEvents(): Promise<void> {
  let devices: RoceDevice[] = []
  let seen = -1
  let nextLook = 0
  for (;;) {
    const wakeups = Atomics.load(i32, wake)
    if (nowNs() >= nextLook) {
      lookForDrops()
      // Nothing signals changes here.
      nextLook = nowNs() + (followNetwork(devices) ? dropsEveryNs : againNs)
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
      publish(devices)
      await new Promise((resolve) => setImmediate(resolve))
      continue
    }
    for (const device of devices) device.flushWraps()
    publish(devices)
    const next = devices.reduce(
      (earliest, device) => Math.min(earliest, device.nextDeadlineNs),
      Number.POSITIVE_INFINITY,
    )
    for (const device of devices) device.watch(next)
    if (!devices.some((device) => device.busy))
      await parking.waitInLoop(wake, wakeups, Math.min(longestWaitMs, Math.max(0, (next - nowNs()) / 1e6)))
    for (const device of devices) device.unwatch()
  }
}

function ring(): void {
  wakeService(host)
}

function publish(devices: readonly RoceDevice[]): void {
  publisher.tick(nowNs() / 1e6, () =>
    devices.map(({ name, host, index }): PublishedDevice => ({ name, counters: host.counters(index) })),
  )
}

/** Marks closed devices: nothing of their middleware is left to write. */
function markUnwrapped(): void {
  for (let index = firstIndex; index < layout.maxDevices; index++) {
    const dev = host.deviceWord(index)
    const serial = i32[dev + RoceDev.wrapsSerial]!
    if (i32[dev + RoceDev.users]! > 0 || i32[dev + RoceDev.wrapsClosed] === serial) continue
    Atomics.store(i32, dev + RoceDev.wrapsClosed, serial)
    segment.notify(dev + RoceDev.wrapsClosed)
  }
}

/** Returns a number that changes when a device opens, closes, or gets another socket. */
function generations(): number {
  let sum = 0
  for (let index = firstIndex; index < layout.maxDevices; index++) {
    const dev = host.deviceWord(index)
    // Twice, so that one socket less and one user less do not make up for each other.
    sum = (sum + 2 * i32[dev + RoceDev.generation]! + (i32[dev + RoceDev.users]! > 0 ? 1 : 0)) | 0
  }
  return sum
}

/**
 * Waits in the kernel: for packets of the devices that are left to this thread, their timers, and until it has to look at the others.
 * True if the host's network has changed; `isBehind`: an earlier change could not be followed yet.
 */
function sleep(
  devices: readonly RoceDevice[],
  left: readonly RoceDevice[],
  wakeups: number,
  isBehind: boolean,
): boolean {
  for (const device of left) device.flushWraps()
  for (const sharing of sharings.values()) sharing.look()
  publish(devices)
  const now = nowNs()
  const longestMs = mayRest() && !isBehind ? seldomMs : longestWaitMs
  let until = Math.min(now + longestMs * 1e6, publisher.dueMs * 1e6)
  if (left.length < devices.length) until = Math.min(until, now + pause * 1e6)
  const quiet = left.length < devices.length && pause > longestPauseMs
  for (const device of devices) if (left.includes(device) || device.looped) device.watch(Number.POSITIVE_INFINITY)
  Atomics.add(i32, turns, 1)
  for (const each of parkings) each.beginWait()
  // From here on a thread that changes something wakes this one; earlier changes are found by looking again.
  let count = 0
  let awaited = countWakeups() !== wakeups
  for (const device of devices) {
    if (left.includes(device)) {
      count += device.descriptors(fds, count)
      awaited ||= device.busy
    } else {
      if (quiet) count += device.descriptors(fds, count)
      awaited ||= device.rests
    }
    if (device.watched) until = Math.min(until, device.nextDeadlineNs)
  }
  if (network !== null) fds[count++] = network.fd
  const loopAt = count
  if (loop >= 0) fds[count++] = loop
  for (const sharing of sharings.values()) {
    awaited ||= sharing.rung
    count += sharing.descriptors(fds, count)
    until = Math.min(until, sharing.nextLookNs)
  }
  for (const device of devices) if (device.watched) device.watch(until)
  for (const device of devices) looksAt(device.host, until)
  const readable = awaited ? 0 : waitReadable(parkings, fds, count, Math.max(0, (until - nowNs()) / 1e6), readies)
  loopCalls = readable > 0 && loop >= 0 && readies[loopAt] !== 0
  for (const each of parkings) each.endWait()
  Atomics.add(i32, turns, 1)
  segment.notify(turns)
  for (const device of devices) device.unwatch()
  // While this thread drives a device itself, it looks often at those that programs drive: the peer that answers may be among them.
  const trusts = left.length === 0 && countWakeups() === wakeups && readable === 0
  const networkChanged = readable > 0 && (network?.drain() ?? false)
  // Programs that look by themselves although no packet comes, as event loops do now and then, are no reason to look more often.
  const longest = !quiet && devices.some((device) => device.active) ? longestTrustMs : longestMs
  pause = trusts ? Math.min(2 * pause, longest) : lookMs
  return networkChanged
}

/** True if everything that this thread has to notice is signalled by an event. */
function mayRest(): boolean {
  if (loop < 0) return false
  for (const { alone } of sharings.values()) if (!alone) return false
  return true
}

/** Publishes the time at which this thread looks again. */
function looksAt({ f64, at }: Host, untilNs: number): void {
  f64[(at.meta + Meta.serviceLooksAt) >> 1] = untilNs
}
