/** Names of files with the time in them: `log_%Y-%m-%d.csv`, as strftime(3) writes it, in UTC. */

const two = (value: number): string => String(value).padStart(2, '0')
const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const conversions: Readonly<Record<string, (time: Date) => string>> = {
  Y: (time) => String(time.getUTCFullYear()),
  y: (time) => two(time.getUTCFullYear() % 100),
  m: (time) => two(time.getUTCMonth() + 1),
  d: (time) => two(time.getUTCDate()),
  H: (time) => two(time.getUTCHours()),
  M: (time) => two(time.getUTCMinutes()),
  S: (time) => two(time.getUTCSeconds()),
  F: (time) => time.toISOString().slice(0, 10),
  T: (time) => time.toISOString().slice(11, 19),
  j: (time) => String(dayOfYear(time)).padStart(3, '0'),
  s: (time) => String(Math.floor(time.getTime() / 1000)),
  a: (time) => days[time.getUTCDay()]!,
  b: (time) => months[time.getUTCMonth()]!,
  '%': () => '%',
}

function dayOfYear(time: Date): number {
  return 1 + Math.floor((time.getTime() - Date.UTC(time.getUTCFullYear(), 0, 1)) / 86_400_000)
}

/** Returns the first conversion in a name that is not a known one of the time: "%Q"; undefined if there is none. */
export function unknownConversion(template: string): string | undefined {
  return [...template.matchAll(/%(.?)/g)].find(([, letter]) => !Object.hasOwn(conversions, letter!))?.[0]
}

export const conversionNames: readonly string[] = Object.keys(conversions).map((letter) => `%${letter}`)

export function fileName(template: string, time: Date): string {
  return template.replace(/%(.)/g, (_, letter: string) => conversions[letter]!(time))
}
