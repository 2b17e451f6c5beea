/** The size of segments, from the environment. */
import { defaultSegmentMib, type SegmentOptions, segmentBytes } from '../../memory/index.ts'
import { VerbsError } from '../provider/errors.ts'
import { Tables, unorderedTables } from '../provider/layout.ts'

/**
 * What new segments are made with. VERBENA_SHM_MIB is how many MiB buffers and queues may take; the tables come on top.
 * EINVAL if that is not from 1 to 2048.
 */
export function segmentOptions(): SegmentOptions {
  const mib = Number(process.env.VERBENA_SHM_MIB || defaultSegmentMib)
  if (!Number.isInteger(mib) || mib < 1 || mib > 2048)
    throw new VerbsError(
      'EINVAL',
      'openDevice',
      `VERBENA_SHM_MIB must be an integer from 1 to 2048, not '${process.env.VERBENA_SHM_MIB}'`,
    )
  const staticBytes = Tables.words * 4
  return { staticBytes, sizeBytes: segmentBytes(staticBytes, mib * 2 ** 20), committed: unorderedTables() }
}
