/** Texts from elsewhere: names of agents, and what a peer answers. They go to terminals, so they may hold nothing that a terminal obeys. */

const unseen = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u
const allUnseen = new RegExp(unseen, 'gu')
export const mostName = 256

/** Whether it is a name: of one line, not empty, not long, and without control characters. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= mostName && !unseen.test(value)
}

/** A text as one that can be a name, unless it is empty: at most so long, and � for what cannot be seen. */
export function plainText(text: string, most: number = mostName): string {
  return text.slice(0, most).replaceAll(allUnseen, '\ufffd')
}
