/** Which adapter a program of two processes uses. */
import { type Context, getDeviceList, type OpenOptions, openDevice, VerbsError } from '../index.ts'
import { UsageError } from './usage.ts'

/** The segment that two processes of one host meet in when neither names another. */
export const meetingPlace = 'shm:verbena'

/** Opens the adapter that `-d` names; without a name that of the segment where processes meet. */
export function openNamed(name: string | undefined, options: OpenOptions = {}): Context {
  const asked = name ?? meetingPlace
  if (/^shm[01]$/.test(asked))
    throw new UsageError(
      '-d',
      `${asked} lives within one process, and the peer is another one: name a segment that both open, for example ${meetingPlace}`,
    )
  try {
    return openDevice(asked, options)
  } catch (error) {
    if (!(error instanceof VerbsError) || (error.code !== 'ENODEV' && error.code !== 'EINVAL')) throw error
    const known = getDeviceList().filter(({ kind }) => kind !== 'shm')
    const hint = known.length > 0 ? `; there are ${known.map((device) => device.name).join(', ')}` : ''
    throw new UsageError('-d', `'${asked}' cannot be used: ${error.message.replace(/^openDevice: /, '')}${hint}`)
  }
}
