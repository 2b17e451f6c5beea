/** The adapter that a program of two processes uses. */
import { type Context, getDeviceList, type OpenOptions, openDevice, VerbsError } from '../../index.ts'
import { UsageError } from './usage.ts'

/** Name of the segment in which two processes of one host meet when neither names another. */
export const meetingPlace = 'shm:verbena'

/** Throws a UsageError if the adapter is one that no other process can reach. `flag` is the option that named it. */
export function checkShared(flag: string, name: string | undefined): void {
  if (name !== undefined && /^shm[01]$/.test(name))
    throw new UsageError(
      flag,
      `${name} lives within one process, and the peer is another one: name a segment that both open, for example ${meetingPlace}`,
    )
}

/**
 * Throws a UsageError if there is no adapter of this name. A name with an address or a segment is checked only when it
 * is opened.
 */
export function checkKnown(flag: string, name: string | undefined): void {
  if (name === undefined || /^(shm|roce):./.test(name)) return
  const known = getDeviceList().map((device) => device.name)
  if (!known.includes(name)) throw new UsageError(flag, `there is no device '${name}'; there are ${known.join(', ')}`)
}

/** Environment variable that names the adapter where no option does. */
export const deviceVariable = 'VERBENA_DEVICE'

/** Returns the source of the adapter's name, for an error message: `flag`, or the environment variable, which may name several. */
export function deviceFlag(name: string | undefined, flag: string): string {
  return name !== undefined && process.env[deviceVariable]?.split(',').includes(name) ? deviceVariable : flag
}

/**
 * Returns the reason why two ends on these devices can never reach each other; undefined if they may. An adapter in shared
 * memory reaches only those of its segment, and no other kind reaches it.
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

/** Opens the adapter that `-d` or VERBENA_DEVICE names; without a name that of the segment where processes meet. */
export function openNamed(name: string | undefined, options: OpenOptions = {}): Context {
  const asked = name || meetingPlace
  checkShared(deviceFlag(name, '-d'), asked)
  return openAsked('-d', asked, options)
}

/** Opens an adapter of any kind. Throws a UsageError if there is none of this name: `flag`, or VERBENA_DEVICE, was wrong. */
export function openAsked(flag: string, name: string, options: OpenOptions = {}): Context {
  try {
    return openDevice(name, options)
  } catch (error) {
    // The message of ENODEV lists the adapters. Any other error has a cause other than the name, such as the environment.
    if (!(error instanceof VerbsError) || error.code !== 'ENODEV') throw error
    throw new UsageError(deviceFlag(name, flag), error.message.replace(/^openDevice: | \(ENODEV\)$/g, ''))
  }
}
