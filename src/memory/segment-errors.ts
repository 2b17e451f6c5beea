/** Errors of a segment. */
import { NativeError } from './native/index.ts'

export class SegmentError extends Error {
  override readonly name = 'SegmentError'
  readonly code: 'ENOMEM' | 'ENXIO' | 'ETIMEDOUT' | 'EOPNOTSUPP'
  constructor(code: SegmentError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Converts an error of the system that it has no memory to a `SegmentError`; returns other errors unchanged. */
export function outOfMemory(error: unknown, what: string): unknown {
  if (!(error instanceof NativeError) || !['ENOSPC', 'ENOMEM', 'EDQUOT'].includes(error.code)) return error
  return new SegmentError('ENOMEM', `${what}: ${error.message}`)
}

/** A program runs whose segments have another layout: version of it, and bytes of the tables above. */
export function ofOtherVersion(
  name: string,
  file: string,
  found: readonly number[],
  own: readonly number[],
): SegmentError {
  const [theirs, ours] = [found, own].map(([version, tables]) => `layout ${version} with tables of ${tables} bytes`)
  return new SegmentError(
    'ENXIO',
    `segment '${name}' belongs to another version of verbena that is running (${theirs}, not ${ours}): end its programs first; ` +
      `\`fuser -v /dev/shm/${file}\` lists them`,
  )
}

export function ofOtherContainer(name: string): SegmentError {
  return new SegmentError(
    'ENXIO',
    `segment '${name}' is used by processes of another container (PID namespace), and those of two cannot tell whether ` +
      'the others still live: let them share one (docker run --pid, shareProcessNamespace of Kubernetes), or use another name',
  )
}
