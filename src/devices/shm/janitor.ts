/**
 * A thread beside each process of a named segment that notices when another process dies: its queue pairs disappear, so
 * that requests to them end with RETRY_EXC_ERR, and its memory and keys are given back.
 */
import { Lives, threadData } from '../../memory/index.ts'
import { reapDead } from '../../verbs/index.ts'
import { attachSegment } from './segments.ts'
import type { JanitorData } from './thread-data.ts'

/** How often it looks for dead processes while there is one whose end it would not be told of. */
const lookMs = 20
/** And while it would be told of all: in case that is lost. */
const recheckMs = 1000

const { host } = attachSegment(threadData<JanitorData>().name)

const lives = new Lives(host.segment, () => reapDead(host))
for (;;) {
  const { begun } = lives
  const all = lives.watch()
  reapDead(host)
  await lives.wait(begun, all ? recheckMs : lookMs)
}
