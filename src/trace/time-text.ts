/** The first column of `show`: when a packet was captured. */
import type { Row } from './row.ts'

/** With tshark's letters for `-t`. */
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
export type TimeFormat = keyof typeof timeFormats

/** The format of that name or letter; undefined if there is none. */
export function timeFormatNamed(text: string): TimeFormat | undefined {
  const names = Object.keys(timeFormats) as TimeFormat[]
  return names.find((name) => name === text || timeFormats[name].letter === text)
}

/** The texts of rows, one after the other. */
export class TimeTexts {
  readonly #format: TimeFormat
  #shown: number | undefined

  constructor(format: TimeFormat = 'relative') {
    this.#format = format
  }

  /** With six digits of a second; a dash where the file has no time stamps and the format needs one. */
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
    if (this.#format === 'epoch') return `${seconds}${fraction}`
    const [date, time] = dateAndTime(seconds, this.#format.startsWith('utc'))
    return this.#format === 'date' || this.#format === 'utc-date' ? `${date} ${time}${fraction}` : `${time}${fraction}`
  }
}

function dateAndTime(seconds: number, utc: boolean): [string, string] {
  const at = new Date(seconds * 1000)
  // As if the local time were UTC: the names of the parts are then the same.
  const iso = new Date(utc ? at : at.getTime() - at.getTimezoneOffset() * 60_000).toISOString()
  return [iso.slice(0, -14), iso.slice(-13, -5)]
}

/** All that is known of the time, with nanoseconds: 2026-11-21 04:29:46.344123456 UTC. */
export function fullTime({ seconds, nanoseconds }: NonNullable<Row['epoch']>): string {
  const [date, time] = dateAndTime(seconds, true)
  return `${date} ${time}.${String(nanoseconds).padStart(9, '0')} UTC`
}
