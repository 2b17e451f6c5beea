/** Width of text, without a browser: enough to lay out a chart, whatever font the reader has. */

/** Font family with the same metrics on every system, close to those that echarts assumes when it measures text without a browser. */
export const FONT = 'Helvetica, Arial, Liberation Sans, sans-serif'

/** Widths of DejaVu Sans, in thousandths of the font size: the widest font that a browser takes for FONT. */
const WIDTHS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    278: 'ijl',
    295: 'IJ',
    318: ' ,.',
    337: ':;/\\|',
    352: 'f',
    361: '-',
    392: 'rt()[]',
    550: 'c',
    579: 'kvxyzs',
    611: 'FLTYZ',
    635: 'abdeghnopqu0123456789ESKPX$_',
    698: 'ABCRV',
    770: 'DGHNOQU',
    838: 'w+=<>~#·×±≈−',
    974: 'mMW',
    950: '%…→',
  }).flatMap(([width, letters]) => [...letters].map((letter) => [letter, Number(width) / 1000] as const)),
)

/**
 * Returns the width of text in pixels, slightly generous: enough to lay out a chart without a browser, whatever font the reader's has. A
 * letter that is not in the table is as wide as it is high.
 */
export function textWidth(text: string, fontSize: number = 12): number {
  let ems = 0
  for (const letter of text) ems += WIDTHS.get(letter) ?? 1
  return ems * fontSize
}

/** Returns text that is cut off at its end where it is wider than `width` pixels. */
export function fitted(text: string, width: number, fontSize: number = 12): string {
  if (textWidth(text, fontSize) <= width) return text
  const letters = [...text]
  while (letters.length > 1 && textWidth(`${letters.join('')}…`, fontSize) > width) letters.pop()
  return `${letters.join('').trimEnd()}…`
}

/** Breaks text between words into lines of at most `width` pixels; a word that is longer is cut. */
export function wrapped(text: string, width: number, fontSize: number = 12): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && textWidth(longer, fontSize) > width) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return [...lines, line].map((part) => fitted(part, width, fontSize))
}
