/** Parses the lines in which records arrive. */
import type { Readable } from 'node:stream'
import type { TraceRecord } from '../watch/records.ts'

/** Calls `onRecord` for each record; resolves when there are no more. */
export async function readRecords(stream: Readable, onRecord: (record: TraceRecord) => void): Promise<void> {
  let rest = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    for (const line of lines) onRecord(JSON.parse(line))
  }
}
