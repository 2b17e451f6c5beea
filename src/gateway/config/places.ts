/** Places of settings: file and line of each group and of each of its keys. */
import { GatewayError } from '../errors.ts'
import type { PlaceOf } from '../settings.ts'

/** Text to read, and its name in messages: its path. */
export interface SourceText {
  readonly name: string
  readonly text: string
}

export class Places {
  readonly #of = new WeakMap<object, Map<string | undefined, string>>()

  /** Sets a place. `group`: also a list, whose keys are indices. Without `key`: the place of the group itself. */
  set(group: object, key: string | undefined, source: string, line: number): void {
    const places = this.#of.get(group) ?? new Map<string | undefined, string>()
    this.#of.set(group, places)
    places.set(key, `${source}:${line}`)
  }

  /** Returns the place of a key; of the group where it has no such key. */
  readonly of: PlaceOf = (group, key) => {
    const places = this.#of.get(group)
    return places?.get(key) ?? places?.get(undefined)
  }
}

/** Limits of a configuration, far above the size of any that is written by hand. */
export const limits = { depth: 64, files: 256, characters: 16_777_216 } as const

/** Counts what is read, so that files that include themselves end. */
export class Budget {
  #files = 0
  #characters = 0

  take(source: SourceText, place: string): void {
    this.#files++
    this.#characters += source.text.length
    if (this.#files > limits.files)
      refuseText(place, `a configuration has at most ${limits.files} files; does one include itself?`)
    if (this.#characters > limits.characters)
      refuseText(place, `a configuration has at most ${limits.characters} characters, with all that it includes`)
  }
}

/** Throws an error that gives the place, and what cannot be read there. */
export function refuseText(place: string, what: string): never {
  throw new GatewayError('ERR_GATEWAY_CONFIGURATION', `${place}: ${what}`)
}
