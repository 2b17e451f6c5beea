/**
 * The segments of devices that processes share: one for each device of a user in a network namespace, which contains all state of the
 * device. The first process to open the device makes it, and it goes with the last one. Where the administrator has made a folder for a
 * group of users, its members share theirs.
 */
import { readlinkSync } from 'node:fs'
import { atExit, NativeError, Segment, SegmentError } from '../../memory/index.ts'
import { hostOf, reapDead, reapOwn, segmentOptions } from '../../verbs/index.ts'
import { type Host, VerbsError } from '../../verbs/provider/index.ts'

/** Hosts by the name of the device. */
const hosts = new Map<string, Host>()
/** Devices without shared memory for which a warning was printed. */
const alone = new Set<string>()

/** Returns the number of the network namespace of this process's ports; 0 where the system does not report it. */
function networkNamespace(): string {
  try {
    return /\[(\d+)\]/.exec(readlinkSync('/proc/self/ns/net'))?.[1] ?? '0'
  } catch {
    return '0'
  }
}

/**
 * Returns the group of users that share their devices, if `VERBENA_ROCE_GROUP` names one: a folder in /dev/shm that the administrator has
 * made for it. Throws VerbsError: EINVAL if that is not a valid name.
 */
function sharingGroup(): string | null {
  const { VERBENA_ROCE_GROUP: group = '' } = process.env
  if (group === '') return null
  if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/.test(group)) return group
  throw new VerbsError(
    'EINVAL',
    'openDevice',
    `VERBENA_ROCE_GROUP is the name of a folder in /dev/shm, not ${JSON.stringify(group)}`,
  )
}

/** Returns the name of the segment of a device; `shm:NAME` does not accept such names. */
export function sharedSegmentName(device: string): string {
  const group = sharingGroup()
  return `${group === null ? '' : `${group}/`}${device}@${group ?? process.geteuid?.() ?? 0}.${networkNamespace()}`
}

/** Returns the host of a device that all processes of this user share; null if shared memory is not available, with a warning. */
export function sharedHost(device: string): Host | null {
  const known = hosts.get(device)
  if (known !== undefined) return known
  try {
    const host = hostOf(Segment.named(sharedSegmentName(device), segmentOptions()))
    hosts.set(device, host)
    reapDead(host)
    return host
  } catch (error) {
    if (!(error instanceof SegmentError || error instanceof NativeError)) throw error
    // There may be memory another time: then the device is shared.
    if (!alone.has(device))
      process.emitWarning(`no other process can use ${device} while this one does: ${error.message}`, {
        code: 'VERBENA_ROCE_ALONE',
      })
    alone.add(device)
    return null
  }
}

atExit(() => {
  for (const host of hosts.values()) reapOwn(host)
})
