/** A thread that is nothing but a janitor, for a process whose own threads poll, or wait without their event loops. */
import { threadData } from '../../memory/index.ts'
import { Janitor } from './janitor.ts'
import { attachSegment } from './segments.ts'
import type { JanitorData } from './thread-data.ts'

new Janitor(attachSegment(threadData<JanitorData>().name).host, 'thread')
