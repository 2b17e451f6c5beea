/** For life.slow.test.ts: a process that is stopped in the middle of an operation, and ends it when it goes on: stopped.process.ts DEVICE. */
import { openDevice } from '../../../src/index.ts'

const context = openDevice(process.argv[2]!)
const { segment } = context.device.host
process.on('SIGCONT', () => {
  segment.leave()
  process.send!('left')
})
process.on('disconnect', () => process.exit())
segment.enterNow()
process.send!('in')
