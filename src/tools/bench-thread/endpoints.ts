/** Handling of queue pairs and memory that the ends of all benchmarks share. */
import { type Context, QpType } from '../../index.ts'

export type Service = 'RC' | 'UC' | 'UD'

export const qpTypes: Readonly<Record<Service, QpType>> = { RC: QpType.RC, UC: QpType.UC, UD: QpType.UD }
/** Encoding of 0.01 ms in the specification: after an RNR NAK the sender retries soon. */
export const minRnrTimer = 1

/** Returns the bytes from one slot to the next: whole cache lines, which two threads then do not share. */
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
