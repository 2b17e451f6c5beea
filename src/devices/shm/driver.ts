/**
 * Adapters in shared memory, by name. Each segment has two, so that a program finds a pair to talk between: `shm0` and `shm1`
 * in the segment of this process, `shm:NAME` and `shm:NAME/1` in a named segment between processes.
 */
import { NativeError, Segment, SegmentError } from '../../memory/index.ts'
import { segmentOptions } from '../../verbs/index.ts'
import {
  type DeviceDriver,
  type DeviceInfo,
  type Host,
  type OpenOptions,
  VerbsError,
} from '../../verbs/provider/index.ts'
import { ShmDevice } from './device.ts'
import { watchInLoop } from './janitors.ts'
import {
  type Attached,
  attachSegment,
  deviceGuid,
  guidIn,
  guidsEndBytes,
  namedSegments,
  removeStaleSegments,
} from './segments.ts'

function attach(name: string | null, existing = false): Attached {
  let attached: Attached
  try {
    attached = attachSegment(name, existing ? 'open' : undefined)
  } catch (error) {
    if (!existing || !(error instanceof NativeError) || error.code !== 'ENOENT') throw error
    throw new VerbsError('ENODEV', 'openDevice', `no process uses a segment of the name '${name}'`)
  }
  if (name !== null) watchInLoop(name, attached.host)
  return attached
}

const devices = new Map<string, ShmDevice>()

const isSegmentName = (name: string): boolean => /^[A-Za-z0-9._-]{1,64}$/.test(name)

/** Returns the segment and the adapter that a name stands for; null if it is not a name of this driver. */
function parse(name: string): { segment: string | null; index: number } | null {
  const own = /^shm([01])$/.exec(name)
  if (own) return { segment: null, index: Number(own[1]) }
  if (!name.startsWith('shm:')) return null
  const named = /^shm:([^/]*)(?:\/([01]))?$/.exec(name)
  if (!named || !isSegmentName(named[1]!))
    throw new VerbsError(
      'ENODEV',
      'openDevice',
      `'${name}' is not a segment's name: shm:NAME or shm:NAME/1, with up to 64 letters, digits, dots, dashes or underscores`,
    )
  return { segment: named[1]!, index: Number(named[2] ?? 0) }
}

function open(name: string, { existing }: OpenOptions): ShmDevice | null {
  const parsed = parse(name)
  if (!parsed) return null
  const canonical = parsed.segment === null ? name : `shm:${parsed.segment}/${parsed.index}`
  let device = devices.get(canonical)
  if (!device) {
    device = new ShmDevice(name, attach(parsed.segment, existing), parsed.index)
    devices.set(canonical, device)
  }
  return device
}

function list(): DeviceInfo[] {
  const info = (name: string, host: Host, index: number): DeviceInfo => ({
    name,
    guid: deviceGuid(host, index),
    kind: 'shm',
  })
  const own = attach(null).host
  const found = [info('shm0', own, 0), info('shm1', own, 1)]
  removeStaleSegments()
  for (const name of namedSegments()) {
    // Devices of other kinds have segments, too, of names that these cannot have.
    if (!isSegmentName(name)) continue
    try {
      // A segment with other tables is of another version, or of a test; it is not a device.
      const guids = Segment.peek(
        name,
        segmentOptions().staticBytes,
        guidsEndBytes,
        (i32, tables) => [guidIn(i32, tables, 0), guidIn(i32, tables, 1)] as const,
      )
      if (!guids) continue
      found.push(
        { name: `shm:${name}`, guid: guids[0], kind: 'shm' },
        { name: `shm:${name}/1`, guid: guids[1], kind: 'shm' },
      )
    } catch (error) {
      // Nor is a segment that this process has no right to open.
      if (!(error instanceof SegmentError) && !(error instanceof Error && 'errno' in error)) throw error
    }
  }
  return found
}

export const shmDriver: DeviceDriver = { kind: 'shm', list, open }
