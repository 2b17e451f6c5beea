/** A process of process-end.test.ts: ends with the code that its argument says, and says who is asked before. */
import { writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { atExit, endAtOnce } from '../../src/memory/index.ts'

const say = (text: string): void => void writeSync(1, `${text}\n`)
// Where Node.js begins to take threads down.
const ending = process as unknown as { reallyExit(code: number): void }
const its = ending.reallyExit
ending.reallyExit = (code) => {
  say('taken down')
  its.call(process, code)
}
atExit(() => say('listened'))
const thread = new Worker('setInterval(() => {}, 1000)', { eval: true, execArgv: [] })
thread.once('online', () => endAtOnce(Number(process.argv[2])))
