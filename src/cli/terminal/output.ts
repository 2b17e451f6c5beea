/** Output of a command: results on stdout, words for the person on stderr. Colour where it is wanted. */
import { stripVTControlCharacters, styleText } from 'node:util'
import { currentRun, type OutputStream } from './io.ts'

type Style = Parameters<typeof styleText>[0]

/**
 * True if a person looks at the stream itself. It is false for a rank of Open MPI: mpirun gives it a terminal, and passes on what is
 * written, also to a file.
 */
export function isTerminal(stream: { isTTY?: boolean | undefined }): boolean {
  return stream.isTTY === true && process.env.OMPI_COMM_WORLD_RANK === undefined
}

/** True for a terminal that has colours; plain text is written elsewhere, and where NO_COLOR is set. */
export function wantsColour(stream: OutputStream = currentRun().io.stdout): boolean {
  return isTerminal(stream) && !process.env.NO_COLOR && stream.hasColors?.() === true
}

export function paint(style: Style, text: string, stream?: OutputStream): string {
  return wantsColour(stream) ? styleText(style, text) : text
}

export function print(text: string): void {
  printPart(`${text}\n`)
}

/** Prints without an end of line: more follows on it. */
export function printPart(text: string): void {
  currentRun().io.stdout.write(text)
}

/** Prints the one document of `--json`. */
export function printJson(document: unknown, replacer?: (key: string, value: unknown) => unknown): void {
  print(JSON.stringify(document, replacer))
}

/** Prints for the person, never for the program that reads stdout. */
export function note(text: string): void {
  const { stderr } = currentRun().io
  stderr.write(`${paint('dim', text, stderr)}\n`)
}

/** Prints the reason why the command fails, or what is wrong with its result. */
export function printFailure(text: string): void {
  currentRun().io.stderr.write(`verbena: ${text}\n`)
}

export type Cell = string | number

const columnGap = 2

/** Returns a table without lines; columns of numbers are aligned right. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((row) => row.map(String))
  const numeric = head.map(
    (_, column) => texts.length > 0 && texts.every((row) => /^[-\d,.]+( [kMG])?$|^–?$/.test(row[column] ?? '')),
  )
  const lines = [head.map((text) => paint('bold', text)), ...texts]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))))
  return lines
    .map((line) =>
      widths
        .map((width, column) => aligned(line[column] ?? '', width, numeric[column]!))
        .join(' '.repeat(columnGap))
        .trimEnd(),
    )
    .join('\n')
}

function aligned(text: string, width: number, right: boolean): string {
  const padding = ' '.repeat(width - widthOf(text))
  return right ? padding + text : text + padding
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length
}

export function terminalWidth(): number {
  return Math.max(60, Math.min(120, currentRun().io.stdout.columns ?? 80))
}
