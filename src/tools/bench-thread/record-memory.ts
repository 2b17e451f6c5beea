/**
 * Memory for the records of the data path: t_recv, t_comp and message numbers. It lies on huge pages where these are
 * available, and every page is touched before the first message, so that no page fault falls into a measurement.
 */
import { mapPrivate, nativeAvailable } from '../../memory/index.ts'

export interface RecordMemory {
  words: Int32Array
  hugePages: boolean
}

export function recordMemory(words: number): RecordMemory {
  if (nativeAvailable) {
    try {
      const { buffer, hugePages } = mapPrivate(words * 4, { hugePages: true })
      return { words: new Int32Array(buffer), hugePages: hugePages !== false }
    } catch {
      // Ordinary memory works as well, with a page fault here and there.
    }
  }
  return { words: new Int32Array(words).fill(0), hugePages: false }
}
