/**
 * Files of samples as the gateway writes them, format csv, of which a report needs the offset and the sequence number:
 *
 *     # secs,nsecs,offset,sequence,signal0,signal1
 *     1795409422,579032821,0.000001443,0,0.5,1
 *     1795409422,579132820,nan,1,0.5,1           (not received: no offset)
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { ReportError } from './errors.ts'
import type { SavedSet } from './results.ts'

const bytesPerRead = 1 << 22
const [lineFeed, comma, hash] = [0x0a, 0x2c, 0x23]

export interface NodeFiles {
  /** Samples that were generated. */
  input: string
  /** Samples that arrived. */
  output: string
}

/** Returns the files of a run of node-types, named as those of VILLASnode's benchmark. `limit`: samples that were requested at first. */
export function nodeFiles(
  dir: string,
  { id, settings, limit }: Pick<SavedSet, 'id' | 'settings'> & { limit: number },
): NodeFiles {
  const name = `${id}_${settings.mode}-${settings.values}-${settings.rate}-${limit}`
  return { input: join(dir, `${name}_input.csv`), output: join(dir, `${name}_output.csv`) }
}

/**
 * Calls `row` for each sample: its sequence number, its offset (from the origin to the receipt) in nanoseconds, NaN if it has none, and
 * the position of its line in the file. `row` returns false to end.
 *
 * @throws ReportError ERR_REPORT_NO_RESULTS when the file cannot be opened, ERR_REPORT_CSV with file and line when it is damaged
 */
export function eachSample(
  path: string,
  row: (sequence: number, offsetNs: number, at: number) => boolean | undefined,
): void {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : (cause as Error).message
    throw new ReportError('ERR_REPORT_NO_RESULTS', `${path}: the samples cannot be read: ${why}`, { cause })
  }
  const bytes = Buffer.alloc(bytesPerRead)
  let kept = 0
  let position = 0
  let line = 0
  try {
    for (;;) {
      const read = readSync(fd, bytes, kept, bytes.length - kept, null)
      const end = kept + read
      let from = 0
      for (let to = bytes.indexOf(lineFeed); to >= 0 && to < end; to = bytes.indexOf(lineFeed, from)) {
        line++
        if (bytes[from] !== hash) {
          const [sequence, offsetNs] = fieldsOf(bytes, from, to)
          if (!Number.isSafeInteger(sequence)) throw damaged(path, line)
          if (row(sequence, offsetNs, position + from) === false) return
        }
        from = to + 1
      }
      if (read === 0) {
        if (end > from) throw damaged(path, line + 1)
        return
      }
      bytes.copy(bytes, 0, from, end)
      kept = end - from
      position += from
      if (kept === bytes.length) throw damaged(path, line + 1)
    }
  } finally {
    closeSync(fd)
  }
}

/** Returns sequence number and offset of a line; NaN for a field that is not a number. */
function fieldsOf(bytes: Buffer, from: number, to: number): [number, number] {
  let at = from
  let offset = Number.NaN
  for (let field = 0; field < 3; field++) {
    const next = bytes.indexOf(comma, at)
    if (next < 0 || next >= to) return [Number.NaN, Number.NaN]
    if (field === 2) offset = Number(bytes.toString('latin1', at, next))
    at = next + 1
  }
  const comma4 = bytes.indexOf(comma, at)
  const text = bytes.toString('latin1', at, comma4 < 0 || comma4 > to ? to : comma4)
  return [/^\d+$/.test(text) ? Number(text) : Number.NaN, Math.round(offset * 1e9)]
}

function damaged(path: string, line: number): ReportError {
  const what =
    'this is no sample: seconds, nanoseconds, offset, sequence number, values; the file was cut off, or is another one'
  return new ReportError('ERR_REPORT_CSV', `${path}:${line}: ${what}`)
}

/** Returns the latencies of a file, nanoseconds, in the order of their receipt. */
export function readLatencies(path: string): Float64Array {
  const latencies: number[] = []
  eachSample(path, (_sequence, offsetNs) => {
    if (!Number.isNaN(offsetNs)) latencies.push(offsetNs)
  })
  return Float64Array.from(latencies)
}
