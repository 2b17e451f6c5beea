/** A rank that test/collectives/launch/local.slow.test.ts starts: what it does is its argument. Without a rank it starts three. */
import { writeSync } from 'node:fs'
import { endWithParent, joinGroup, runRanks } from '../../../src/collectives/index.ts'

const [what] = process.argv.slice(2)
if (process.env.VERBENA_RANK === undefined) {
  const args = [...process.execArgv, process.argv[1]!, what!]
  process.exitCode = await runRanks({ size: 3, args, onLine: (rank, line) => console.error(`rank ${rank}: ${line}`) })
} else if (what === 'wait') {
  // The third never comes.
  if (process.env.VERBENA_RANK === '2') process.env.VERBENA_JOB = 'another'
  const joining = joinGroup({ timeoutMs: 0 })
  process.stderr.write(`process ${process.pid}\n`)
  await joining
} else if (what === 'save') {
  // Ranks 0 and 2 take longer to end than rank 1.
  let signals = 0
  const timer = setInterval(() => undefined, 1000)
  const count = (): void => {
    if (++signals > 1) return
    if (process.env.VERBENA_RANK === '1') process.exit(130)
    setTimeout(() => {
      clearInterval(timer)
      process.stderr.write(`saved after ${signals} signal\n`)
    }, 3000)
  }
  process.on('SIGINT', count)
  process.on('SIGTERM', count)
  process.stderr.write(`process ${process.pid}\n`)
} else if (what === 'blocked') {
  endWithParent()
  process.on('SIGTERM', () => undefined)
  writeSync(2, `process ${process.pid}\n`)
  const word = new Int32Array(new SharedArrayBuffer(4))
  for (const endMs = performance.now() + 30_000; performance.now() < endMs; ) Atomics.wait(word, 0, 0, 1000)
  process.exit(1)
} else if (what === 'hangup') {
  // All take SIGHUP for something else; then one fails.
  setInterval(() => undefined, 1000)
  process.on('SIGHUP', () => {
    if (process.env.VERBENA_RANK === '1') process.exit(3)
  })
  process.stderr.write(`process ${process.pid}\n`)
} else if (process.env.VERBENA_RANK === '1') {
  const lines = Array.from({ length: 2000 }, (_, i) => `line ${i}\n`).join('')
  process.stderr.write(lines, () => process.kill(process.pid, what as NodeJS.Signals))
}
