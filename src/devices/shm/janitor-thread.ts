/** A thread that is only a janitor, for a process whose own threads poll, or wait without their event loops. */
import { threadData } from '../../memory/index.ts'
import { Janitor } from './janitor.ts'
import { attachSegment } from './segments.ts'
import type { JanitorData } from './thread-data.ts'

const { name, inode } = threadData<JanitorData>()
const { host } = attachSegment(name, 'open')
if (host.segment.inode !== inode) throw new Error('its file was deleted, and the name stands for another segment')
new Janitor(host, 'thread')
