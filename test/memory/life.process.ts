// A process with a life pipe, for lives.test.ts: life.process.ts NAME STATIC-BYTES. It says when it has one.
import { Lives, Segment } from '../../src/memory/index.ts'

const [name, staticBytes] = process.argv.slice(2)
const segment = Segment.named(name!, { staticBytes: Number(staticBytes), sizeBytes: 1 << 22 })
new Lives(
  segment,
  'loop',
  () => {},
  () => {},
)
process.send!('lives')
setInterval(() => {}, 1000)
