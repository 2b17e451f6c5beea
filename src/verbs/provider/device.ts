/**
 * The interface of a device. A device keeps its queues and tables in a segment (see layout.ts); the objects of this folder write requests
 * into the queues, and the device executes them and completes them through the `Host`.
 */
import type { AhAttr, DeviceAttr, GidEntry, OpenOptions, PortAttr } from './attributes.ts'
import { VerbsError } from './errors.ts'
import type { Host } from './host.ts'
import type { SendWorkRequest } from './work-request.ts'

/** A device that can be opened. */
export interface DeviceInfo {
  /** The name that `openDevice` takes. */
  name: string
  /** GUID of the node. */
  guid: bigint
  /** The driver that serves it: `shm`, `roce`, … */
  kind: string
}

/** A device that this thread has open. */
export interface Device {
  /** The name that it was opened by. */
  readonly name: string
  /** The tables of its segment. */
  readonly host: Host
  /** Number of its record in the segment. */
  readonly index: number
  /** Limits and identity. */
  readonly attr: DeviceAttr
  /** The only port. */
  readonly port: PortAttr
  /** The GID table of the port. */
  readonly gids: readonly GidEntry[]
  /** The P_Key table of the port. */
  readonly pkeys: readonly number[]
  /** Words that the device keeps for each QP, zeroed when it is created or reset; at `Qp.wire`. */
  readonly qpWords: number
  /** True if anything arrives only when `progress` is called: polls that find nothing call it. */
  readonly driven: boolean

  /** The index of the device that an address vector leads to, −1 if none answers there. */
  route(attr: AhAttr): number

  /** Returns the fast path of the QP whose record begins at `q`; null if the device has none. */
  fastPath(q: number): FastPath | null
  /**
   * Requests are in the send queue of `q`, whose send lock is held: executes them or ensures that another thread does. A `driven` device is
   * also notified, without the lock, of a QP that its owner has moved to ERR.
   */
  doorbell(q: number): void
  /** Called after the send lock was released: does what `doorbell` had to defer. */
  settle(): void
  /**
   * Acknowledges what `q` has received, before `q` closes and no thread can do so any more; this thread does it, whichever thread works for
   * the QP otherwise. Absent in devices that execute requests in memory.
   */
  acknowledge?(q: number): void
  /**
   * Prepares for a thread that may poll, or is about to wait without its event loop, perhaps for ever: the work that the device does in
   * event loops needs a thread from now on.
   */
  leavesLoop?(): void
  /**
   * Prepares this thread to copy from and to that memory of another process, and returns the number that its regions have for what the
   * process executes now: after it has ended, or has executed something else, no region reaches it. Throws EPERM, or EINVAL if the
   * first or last byte is not there. Missing where the device cannot do that.
   */
  reachProcess?(verb: string, pid: number, address: number, length: number): number
  /** False while another thread drives the device alone: then this one hosts no queue pairs. */
  readonly hosts?: boolean
  /** A receive was posted to a queue on which the QP with this slot waits. */
  resume(qpSlot: number): void
  /** Continues requests that wait for a time or for their peer; called when a poll finds nothing and by waits. */
  progress(): void
  /**
   * Returns the number of milliseconds in which a thread that hosts queue pairs, and sleeps until it is woken, has to call `progress`
   * without a wake-up; Infinity if it need not. Missing where no queue pairs are hosted.
   */
  dueInMs?(): number
  /**
   * Takes, in such a thread, all that has arrived for a `driven` device, once in each of the thread's turns; returns how much it was. From
   * the first call on `progress` leaves that to this, so that looks at queues and for events cost no system calls.
   */
  look?(): number
  /**
   * Prepares such a thread for a wait in the kernel, for more than this device; it has begun to wait for the parking of the segment. Writes
   * the descriptors to wait for as well, and returns their number, −1 if there is work already. Then follows `endSleep`, before `progress`.
   */
  beginSleep?(into: Int32Array, from: number): number
  /** Ends the wait that `beginSleep` began. */
  endSleep?(): void
  /**
   * Joins the multicast group to which a QP was attached, in the network of its GID `sgidIndex` unless that is −1 or missing; throws if the
   * device cannot join it.
   */
  joinGroup(gid: Uint8Array, sgidIndex?: number): void
  /** Ends the membership that one call of `joinGroup` began. */
  leaveGroup(gid: Uint8Array): void
  /**
   * Prepares for a wait of this thread, which does not drive the device meanwhile: in its event loop, where the device may wake it when
   * something arrives (`inLoop`), or otherwise.
   */
  rest(inLoop: boolean): void
  /**
   * Blocks this thread until something may have come for the device, or the number of events of the channel is not `expected`; at most
   * `timeoutMs`. False, at once, if the device leaves its work to other threads while threads wait.
   */
  sleep(channel: number, expected: number, timeoutMs: number): boolean
  /** Begins a context, by the slot of its record; throws if `options` cannot be fulfilled. */
  open(context: number, options: OpenOptions): void
  /**
   * A thread was killed: if it was driving the device, this thread takes that over and restores a consistent state. Does nothing unless a
   * dead thread holds the device.
   */
  takeOver?(): void
  /** Ends what `open` began. */
  close(context: number): void
  /** A thread that had contexts of this device has ended without closing them; they are gone already. */
  closeUnused?(): void
}

/**
 * A path past the send queue for the usual requests of one QP in one thread, where a device has one. It leaves all other requests to the
 * queue.
 */
export interface FastPath {
  /** Executes one request completely, without those linked to it, or returns false and has done nothing. */
  post(wr: SendWorkRequest): boolean
  /** Looks up again what `post` remembers; the send lock is held and the queue was served. */
  prepare(): void
}

/** Factory of the devices of one kind. */
export interface DeviceDriver {
  /** The kind, as in `DeviceInfo`. */
  readonly kind: string
  /** The devices that there are now. */
  list(): DeviceInfo[]
  /** Null if the name is not one of this driver's; `options` are what `Device.open` gets then. */
  open(name: string, options: OpenOptions): Device | null
  /** The device with record `index` in the segment of `host`, null if it is none of this driver's; for drivers that hold more than memory. */
  at?(host: Host, index: number): Device | null
}

const drivers: DeviceDriver[] = []

/** Makes a kind of device known; the front door does so for all that it ships. */
export function registerDriver(driver: DeviceDriver): void {
  if (!drivers.includes(driver)) drivers.push(driver)
}

/** `ibv_get_device_list`: the devices that there are now. A name that is not listed may be opened all the same: `shm:NAME` makes a segment. */
export function getDeviceList(): DeviceInfo[] {
  return drivers.flatMap((driver) => driver.list())
}

/** The device with record `index` in the segment of `host`, for cleaning up after a thread; null where memory is all that a device has. */
export function deviceAt(host: Host, index: number): Device | null {
  for (const driver of drivers) {
    const device = driver.at?.(host, index)
    if (device) return device
  }
  return null
}

/** Opens a device by name; ENODEV with the names that there are. */
export function findDevice(name: string, options: OpenOptions): Device {
  for (const driver of drivers) {
    const device = driver.open(name, options)
    if (device) return device
  }
  const names = getDeviceList().map((info) => info.name)
  throw new VerbsError('ENODEV', 'openDevice', `there is no device '${name}'; there are ${names.join(', ') || 'none'}`)
}
