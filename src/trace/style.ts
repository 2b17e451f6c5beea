/** Parts of a line, for a program that prints it in colours. */
export type LinePart = 'bad' | 'warning' | 'congestion' | 'connection' | 'title' | 'dim'

/** Returns a part of a line with its colour. */
export type Paint = (part: LinePart, text: string) => string

/** Returns the text without colours. */
export function plain(_part: LinePart, text: string): string {
  return text
}
