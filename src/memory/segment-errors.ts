/** What goes wrong with a segment. */
import { NativeError } from './native/index.ts'

export class SegmentError extends Error {
  override readonly name = 'SegmentError'
  readonly code: 'ENOMEM' | 'ENXIO' | 'ETIMEDOUT' | 'EOPNOTSUPP'
  constructor(code: SegmentError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** That the system has no memory is a `SegmentError` here; everything else stays what it is. */
export function outOfMemory(error: unknown, what: string): unknown {
  if (!(error instanceof NativeError) || !['ENOSPC', 'ENOMEM', 'EDQUOT'].includes(error.code)) return error
  return new SegmentError('ENOMEM', `${what}: ${error.message}`)
}
