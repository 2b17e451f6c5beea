/** Numbers as text. */

export function whole(count: number): string {
  return count.toLocaleString('en')
}

const units = ['B', 'kB', 'MB', 'GB', 'TB']

/** 1.25 MB */
export function byteText(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`
}
