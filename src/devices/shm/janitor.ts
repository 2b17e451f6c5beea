/**
 * A thread beside each process of a named segment that notices when another process dies: its queue pairs disappear, so
 * that requests to them end with RETRY_EXC_ERR, and its memory and keys are given back.
 */
import { threadData } from '../../memory/index.ts'
import { reapDead } from '../../verbs/index.ts'
import { attachSegment } from './segments.ts'
import type { JanitorData } from './thread-data.ts'

const intervalMs = 20

const { host } = attachSegment(threadData<JanitorData>().name)

host.segment.becomeJanitor()

setInterval(() => {
  for (const dead of host.segment.deadAttachments()) reapDead(host, dead)
}, intervalMs)
