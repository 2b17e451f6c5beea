/** The size of segments, from the environment. */
import { defaultSegmentMib, type SegmentOptions, segmentBytes } from '../../memory/index.ts'
import { VerbsError } from '../provider/errors.ts'
import { Tables, unorderedTables } from '../provider/layout.ts'

/**
 * Returns the options of new segments. VERBENA_SHM_MIB is the size of buffers and queues in MiB; the tables are added to it. EINVAL if it
 * is not from 1 to 2048.
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
