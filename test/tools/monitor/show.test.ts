import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { runWith } from '../../../src/cli/terminal/index.ts'
import { answerOf } from '../../../src/monitor/index.ts'
import { showWindow } from '../../../src/tools/monitor/show.ts'
import { Traffic } from '../../monitor/traffic.ts'

it('writes a window in one piece, so that nothing of a command that is watched gets into it', () => {
  const traffic = new Traffic()
  for (let psn = 0; psn < 20; psn += 2) traffic.send(psn)
  const written: string[] = []
  const stdout = new Writable({
    write: (chunk, _encoding, done) => {
      written.push(String(chunk))
      done()
    },
  })
  runWith({ stdout, stderr: stdout }, [], () => showWindow(answerOf(traffic.end()), 5))
  expect(written).toHaveLength(1)
  // The head, the keys, the events, what is wrong, and an empty line.
  expect(written[0]).toMatch(/^.* 10 packets .*\n[\s\S]*\nconnection [\s\S]*\nmissing [\s\S]*\n\n$/)
})
