/** What the parts of a line are, for a program that prints it in colours. */
export type LinePart = 'bad' | 'warning' | 'congestion' | 'connection' | 'title' | 'dim'

/** Gives a part of a line its colour. */
export type Paint = (part: LinePart, text: string) => string

/** Without colours. */
export function plain(_part: LinePart, text: string): string {
  return text
}
