/** What the ends of all benchmarks do alike with their queue pairs and memory. */
import { type Context, QpType } from '../../index.ts'

export type Service = 'RC' | 'UC' | 'UD'

export const qpTypes: Readonly<Record<Service, QpType>> = { RC: QpType.RC, UC: QpType.UC, UD: QpType.UD }
/** The standard's encoding of 0.01 ms: a receiver that was late is asked again soon. */
export const minRnrTimer = 1

/** Bytes from one slot to the next: whole cache lines, which two threads then do not share. */
export function strideOf(bytes: number): number {
  return Math.ceil(bytes / 64) * 64
}

interface Closable {
  close(): void
}

/** Closes what was opened, last first; `opened` is empty afterwards. */
export function closeAll(opened: Closable[], context: Context | null): void {
  let failure: unknown
  for (let object = opened.pop(); object; object = opened.pop()) {
    try {
      object.close()
    } catch (error) {
      failure ??= error
    }
  }
  context?.close()
  if (failure) throw failure
}
