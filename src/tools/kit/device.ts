/** Which adapter a program of two processes uses. */
import { type Context, type OpenOptions, openDevice, VerbsError } from '../../index.ts'
import { UsageError } from './usage.ts'

/** The segment that two processes of one host meet in when neither names another. */
export const meetingPlace = 'shm:verbena'

/** Throws a UsageError if the adapter is one that no other process can reach. `flag` has named it. */
export function checkShared(flag: string, name: string | undefined): void {
  if (name !== undefined && /^shm[01]$/.test(name))
    throw new UsageError(
      flag,
      `${name} lives within one process, and the peer is another one: name a segment that both open, for example ${meetingPlace}`,
    )
}

/** How the help says which adapter is the default. */
export const meetingPlaceText: string = `$VERBENA_DEVICE, else ${meetingPlace}`

/**
 * Why two ends on these devices can never reach each other; undefined if they may. An adapter in shared memory reaches
 * those of its segment only, and no other kind reaches it.
 */
export function apart(here: string, there: string): string | undefined {
  const [ours, theirs] = [segmentOf(here), segmentOf(there)]
  if (ours === theirs) return undefined
  const both = ours !== undefined && theirs !== undefined
  return `this end is on ${here} and the other on ${there}, which ${both ? 'are different segments' : 'do not reach each other'}: name the same at both`
}

function segmentOf(device: string): string | undefined {
  return /^shm(?::([^/]*)|\d)/.exec(device)?.[0]
}

/** Opens the adapter that `-d` names; without a name that of VERBENA_DEVICE, or of the segment where processes meet. */
export function openNamed(name: string | undefined, options: OpenOptions = {}): Context {
  const ofEnvironment = process.env.VERBENA_DEVICE
  const asked = name ?? (ofEnvironment || meetingPlace)
  const flag = name === undefined && ofEnvironment ? 'VERBENA_DEVICE' : '-d'
  checkShared(flag, asked)
  try {
    return openDevice(asked, options)
  } catch (error) {
    // It says which there are. What else is wrong is not the name: the environment, perhaps.
    if (!(error instanceof VerbsError) || error.code !== 'ENODEV') throw error
    throw new UsageError(flag, `'${asked}' cannot be used: ${error.message.replace(/^openDevice: /, '')}`)
  }
}
