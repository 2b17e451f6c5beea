/**
 * The words of a device's record that are its driver's (`layout.Dev.driver`): who uses and drives it, its sockets, and the waits of its
 * threads. In 32-bit words from the beginning of the record; `f64` marks pairs that hold a number as a double.
 */
export const RoceDev = {
  /** Open contexts, and those of them that leave the work to a thread. */
  users: 33,
  threads: 34,
  /** Changes whenever sockets come or go. */
  generation: 35,
  /** What tells it from other devices of its kind. */
  identity: 36 /* 5 words */,
  /** The table of its sockets. */
  sockets: 41,
  /** Of `drivenBy`: one thread alone drives it. */
  alone: 42,
  /** Its middleware as JSON: where, how long, how often there was another, and which was closed last. */
  wraps: 43,
  wrapsBytes: 44,
  wrapsSerial: 45,
  wrapsClosed: 46,
  /** 1: with congestion control. */
  congestion: 47,
  /** 1 when a program has driven it since the last look, −1 when it has said that it will not go on. */
  heartbeat: 48,
  /** 1 while the service thread keeps the timers of this one, and waits for its packets unless an event loop does. */
  watched: 49,
  /** The thread that waits in the kernel for packets of this device and then goes on with it, 0 if none does. */
  sleeper: 50,
  /** A thread that waits for packets of this device in its event loop, 0 if none does. */
  looper: 51,
  /** How often threads have waited so. */
  sleeps: 52,
  /** When the sleeper looks at the latest, and when the service thread does. */
  sleepsUntil: 54 /* f64 */,
  serviceLooksAt: 56 /* f64 */,
  /** Changes when a process begins or ends to use the device, or a user of it has died. */
  changes: 58,
  /** Of a device in the segment of a process: 1 while that process uses the one that processes share. */
  shared: 59,
  /** The thread that closes a socket and waits for the end of waits for it, 0 if none does. */
  closing: 60,
} as const
