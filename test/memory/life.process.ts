// A process with a life pipe, or one that only attaches, for lives.test.ts: life.process.ts NAME STATIC-BYTES follows|attaches. It says when it has.
import { Lives, Segment } from '../../src/memory/index.ts'

const [name, staticBytes, how] = process.argv.slice(2)
const segment = Segment.named(name!, { staticBytes: Number(staticBytes), sizeBytes: 1 << 22 })
if (how === 'follows')
  new Lives(
    segment,
    'loop',
    () => {},
    () => {},
  )
process.send!('done')
setInterval(() => {}, 1000)
