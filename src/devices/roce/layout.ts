/**
 * The words of a device's record that are its driver's (`layout.Dev.driver`): its users and the thread that drives it, its sockets, and
 * the waits of its threads. Offsets are in 32-bit words from the beginning of the record; `f64` marks pairs that hold a number as a
 * double.
 */
export const RoceDev = {
  /** Numbers of open contexts, and of those that leave the work to a thread. */
  users: 33,
  threads: 34,
  /** Number that changes whenever sockets are opened or closed. */
  generation: 35,
  /** Identity that distinguishes it from other devices of its kind. */
  identity: 36 /* 5 words */,
  /** Table of its sockets. */
  sockets: 41,
  /** Value of `drivenBy`: whether one thread alone drives the device. */
  alone: 42,
  /** Middleware of the device as JSON: location, length, number of the current wrapping, and number of the one that was closed last. */
  wraps: 43,
  wrapsBytes: 44,
  wrapsSerial: 45,
  wrapsClosed: 46,
  /** Flag: congestion control is on. */
  congestion: 47,
  /** State of the driving program: 1 if it has driven the device since the last look, −1 when it has announced that it will not go on. */
  heartbeat: 48,
  /** Flag: the service thread keeps the timers of the device, and waits for its packets unless an event loop does. */
  watched: 49,
  /** Thread that waits in the kernel for packets of this device and then goes on with it, 0 if there is none. */
  sleeper: 50,
  /** Thread to whose event loop the kernel signals packets of this device, 0 if there is none. */
  looper: 51,
  /** Number of waits in the kernel that have ended. */
  sleeps: 52,
  /** Time at which the sleeper looks at the latest, and at which the service thread does. */
  sleepsUntil: 54 /* f64 */,
  serviceLooksAt: 56 /* f64 */,
  /** Number that changes when a process begins or ends to use the device, or a user of it has died. */
  changes: 58,
  /** Flag of a device in the segment of a process: that process uses the one that processes share. */
  shared: 59,
  /** Thread that closes a socket and waits until no thread waits for its packets, 0 if there is none. */
  closing: 60,
  /** A second thread like `looper`, in case the first is busy; 0 if there is none. */
  deputy: 61,
  /** Flag: a third event loop has waited, which is signalled nothing. */
  unsignalled: 62,
} as const
