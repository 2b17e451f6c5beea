/** The process of elsewhere.slow.test.ts. */
import { type Part, play } from './part.ts'

process.once('message', (part: Part) => {
  play(part, (message) => process.send!(message))
  process.disconnect()
})
process.send!('ready')
