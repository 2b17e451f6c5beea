// A process that holds a lock and is in an operation, for segment.test.ts: lock-holder.process.ts NAME STATIC-BYTES LOCK. When the word
// behind the lock is 1, it sets the one behind that to 1, and lets go.
import { Segment } from '../../src/memory/index.ts'

const [name, staticBytes, lock] = process.argv.slice(2)
const at = Number(lock)
const segment = Segment.named(name!, { staticBytes: Number(staticBytes), sizeBytes: 1 << 22 })
segment.lock(at)
segment.enterNow()
process.send!('holds')
setInterval(() => {
  if (Atomics.load(segment.i32, at + 1) !== 1) return
  segment.i32[at + 2] = 1
  segment.leave()
  segment.unlock(at)
  segment.release(segment.me)
  process.exit()
}, 1)
