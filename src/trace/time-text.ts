/** First column of `show`: the time at which a packet was captured. */
import type { Row } from './row.ts'

/** Formats, with tshark's letters for `-t`. */
export const timeFormats = {
  relative: { letter: 'r', text: 'seconds since the first packet' },
  delta: { letter: 'd', text: 'seconds since the packet before' },
  displayed: { letter: 'dd', text: 'seconds since the last packet that is shown' },
  absolute: { letter: 'a', text: 'local time of day' },
  date: { letter: 'ad', text: 'local date and time' },
  utc: { letter: 'u', text: 'UTC time of day' },
  'utc-date': { letter: 'ud', text: 'UTC date and time' },
  epoch: { letter: 'e', text: 'seconds since 1970' },
} as const
/** Name for `--time`: the format of the time of a packet. */
export type TimeFormat = keyof typeof timeFormats

/** Returns the format of that name or letter; undefined if there is none. */
export function timeFormatNamed(text: string): TimeFormat | undefined {
  const names = Object.keys(timeFormats) as TimeFormat[]
  return names.find((name) => name === text || timeFormats[name].letter === text)
}

/** Texts of rows, one after the other. */
export class TimeTexts {
  readonly #format: TimeFormat
  #shown: number | undefined

  constructor(format: TimeFormat = 'relative') {
    this.#format = format
  }

  /** Returns the time with six digits of a second; a dash where the file has no time stamps and the format needs one. */
  of({ time, delta, epoch }: Row): string {
    const before = this.#shown ?? time
    this.#shown = time
    switch (this.#format) {
      case 'relative':
        return time.toFixed(6)
      case 'delta':
        return delta.toFixed(6)
      case 'displayed':
        return (time - before).toFixed(6)
      default:
        return epoch === undefined ? '-' : this.#absolute(epoch)
    }
  }

  #absolute({ seconds, nanoseconds }: NonNullable<Row['epoch']>): string {
    const fraction = `.${String(Math.floor(nanoseconds / 1000)).padStart(6, '0')}`
    const parts = this.#format === 'epoch' ? undefined : dateAndTime(seconds, this.#format.startsWith('utc'))
    if (parts === undefined) return `${seconds}${fraction}`
    const [date, time] = parts
    return this.#format === 'date' || this.#format === 'utc-date' ? `${date} ${time}${fraction}` : `${time}${fraction}`
  }
}

/** Returns undefined beyond the years of ECMAScript's calendar: the 64 bits of a time stamp of pcapng reach farther. */
function dateAndTime(seconds: number, utc: boolean): [date: string, time: string] | undefined {
  const at = new Date(seconds * 1000)
  // As if the local time were UTC: the names of the parts are then the same.
  const shifted = utc ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000)
  if (Number.isNaN(shifted.getTime())) return undefined
  const iso = shifted.toISOString()
  return [iso.slice(0, -14), iso.slice(-13, -5)]
}

/**
 * Returns a time since 1970 with nanoseconds: 2026-11-21 04:29:46.344123456 UTC. Without `nanoseconds`, `seconds` has a fraction, of which
 * three digits are shown. Without such a date, returns the number of seconds: 9223372036854.775807000 s since 1970.
 */
export function utcText(seconds: number, nanoseconds?: number): string {
  // A double holds a time of our days to 0.24 µs: a whole millisecond may be a little less in it.
  const microseconds = Math.round((seconds - Math.floor(seconds)) * 1e6)
  const whole = Math.floor(seconds) + (microseconds === 1e6 ? 1 : 0)
  const fraction =
    nanoseconds === undefined
      ? String(Math.floor((microseconds % 1e6) / 1000)).padStart(3, '0')
      : String(nanoseconds).padStart(9, '0')
  const parts = dateAndTime(whole, true)
  if (parts === undefined) return `${whole}.${fraction} s since 1970`
  return `${parts.join(' ')}.${fraction} UTC`
}
