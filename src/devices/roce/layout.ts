/**
 * The words of a device's record that are its driver's (`layout.Dev.driver`): who uses and drives it, its sockets, and the waits of its
 * threads. In 32-bit words from the beginning of the record; `f64` marks pairs that hold a number as a double.
 */
import { layout } from '../../verbs/provider/index.ts'

const first = layout.Dev.driver

export const RoceDev = {
  /** Open contexts, and those of them that leave the work to a thread. */
  users: first,
  threads: first + 1,
  /** Changes whenever sockets come or go. */
  generation: first + 2,
  /** What tells it from other devices of its kind. */
  identity: first + 3 /* 5 words */,
  /** The table of its sockets. */
  sockets: first + 8,
  /** Of `drivenBy`: one thread alone drives it. */
  alone: first + 9,
  /** Its middleware as JSON: where, how long, how often there was another, and which was closed last. */
  wraps: first + 10,
  wrapsBytes: first + 11,
  wrapsSerial: first + 12,
  wrapsClosed: first + 13,
  /** 1: with congestion control. */
  congestion: first + 14,
  /** 1 when a program has driven it since the last look, −1 when it has said that it will not go on. */
  heartbeat: first + 15,
  /** 1 while the service thread keeps the timers of this one, and waits for its packets unless an event loop does. */
  watched: first + 16,
  /** The thread that waits in the kernel for packets of this device and then goes on with it, 0 if none does. */
  sleeper: first + 17,
  /** A thread that waits for packets of this device in its event loop, 0 if none does. */
  looper: first + 18,
  /** How often threads have waited so. */
  sleeps: first + 19,
  /** When the sleeper looks at the latest, and when the service thread does. */
  sleepsUntil: first + 21 /* f64 */,
  serviceLooksAt: first + 23 /* f64 */,
  /** Changes when a process begins or ends to use the device, or a user of it has died. */
  changes: first + 25,
  /** Of a device in the segment of a process: 1 while that process uses the one that processes share. */
  shared: first + 26,
  /** The thread that closes a socket and waits for the end of waits for it, 0 if none does. */
  closing: first + 27,
} as const
