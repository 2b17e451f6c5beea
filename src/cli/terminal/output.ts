/** Writing to the terminal: colour where it is wanted, and tables. */
import { styleText } from 'node:util'
import Table from 'cli-table3'

type Style = Parameters<typeof styleText>[0]

/** Colours for a terminal that has them; plain text elsewhere, and where NO_COLOR is set. */
export function wantsColour(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env.NO_COLOR && stream.hasColors()
}

export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return wantsColour(stream) ? styleText(style, text) : text
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** For the person, never for the program that reads stdout. */
export function note(text: string): void {
  process.stderr.write(`${paint('dim', text, process.stderr)}\n`)
}

export type Cell = string | number

/** A table without vertical lines; columns of numbers are aligned right. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const numeric = head.map(
    (_, column) => rows.length > 0 && rows.every((row) => /^[-\d,.]+( [kMG])?$|^–?$/.test(String(row[column] ?? ''))),
  )
  const drawn = new Table({
    head: head.map((text) => paint('bold', text)),
    colAligns: numeric.map((right) => (right ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    chars: {
      ...{
        top: '',
        'top-mid': '',
        'top-left': '',
        'top-right': '',
        bottom: '',
        'bottom-mid': '',
        'bottom-left': '',
        'bottom-right': '',
      },
      ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '' },
    },
  })
  drawn.push(...rows.map((row) => row.map(String)))
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}

export function terminalWidth(): number {
  return Math.max(60, Math.min(120, process.stdout.columns ?? 80))
}
