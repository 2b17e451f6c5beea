/** Texts of other processes: names of agents, and answers of peers. They go to terminals, so they must not contain control sequences. */

const unseen = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u
const allUnseen = new RegExp(unseen, 'gu')
export const mostName = 256

/** True if the value is a name: one line, not empty, not long, and without control characters. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= mostName && !unseen.test(value)
}

/** Returns a text that can be a name, unless it is empty: at most `most` characters, and � for invisible ones. */
export function plainText(text: string, most: number = mostName): string {
  return text.slice(0, most).replaceAll(allUnseen, '\ufffd')
}
