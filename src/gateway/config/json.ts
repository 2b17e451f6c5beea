/** JSON with the line of every setting, which `JSON.parse` does not report. */
import type { Settings } from '../settings.ts'
import { limits, type Places, refuseText, type SourceText } from './places.ts'

const blanks = /[ \t\r\n]+/y
const scalar = /"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/y
const word = /[^\s,:[\]{}"]+|./y

/** Parses JSON. Throws a `GatewayError` with file and line. */
export function parseJson(source: SourceText, places: Places): unknown {
  const parser = new Parser(source, places)
  return parser.whole()
}

class Parser {
  readonly #source: SourceText
  readonly #places: Places
  #at: number
  #line = 1
  #depth = 0

  constructor(source: SourceText, places: Places) {
    this.#source = source
    this.#places = places
    this.#at = source.text.startsWith('\ufeff') ? 1 : 0
  }

  whole(): unknown {
    const value = this.#value()
    if (this.#peek() !== undefined) this.#refuse('expected the end of the file')
    return value
  }

  #value(): unknown {
    const next = this.#peek()
    if (next === '{' || next === '[') {
      if (++this.#depth > limits.depth) this.#refuse(`objects and lists are nested more than ${limits.depth} deep`)
      const value = next === '{' ? this.#object() : this.#list()
      this.#depth--
      return value
    }
    return this.#scalar('a value')
  }

  #object(): Settings {
    const object: Settings = {}
    this.#places.set(object, undefined, this.#source.name, this.#line)
    this.#each('}', () => {
      if (this.#peek() !== '"') this.#refuse('expected a key in quotes')
      const line = this.#line
      const key = this.#scalar('a key') as string
      if (Object.hasOwn(object, key)) this.#refuse(`"${key}" is there twice; first: ${this.#places.of(object, key)}`)
      if (key === '__proto__') this.#refuse(`"${key}" is no name of a setting`)
      if (this.#peek() !== ':') this.#refuse(`expected ':' behind "${key}"`)
      this.#at++
      object[key] = this.#value()
      this.#places.set(object, key, this.#source.name, line)
    })
    return object
  }

  #list(): unknown[] {
    const list: unknown[] = []
    this.#places.set(list, undefined, this.#source.name, this.#line)
    this.#each(']', () => {
      this.#peek()
      this.#places.set(list, String(list.length), this.#source.name, this.#line)
      list.push(this.#value())
    })
    return list
  }

  /** Reads the items between the bracket here and `end`, which are separated by commas. */
  #each(end: '}' | ']', read: () => void): void {
    const begin = this.#line
    this.#at++
    for (let first = true; this.#peek() !== end; first = false) {
      if (this.#peek() === undefined) refuseText(`${this.#source.name}:${begin}`, `what begins here has no end: ${end}`)
      if (!first) {
        if (this.#peek() !== ',') this.#refuse(`expected ',' or '${end}'`)
        this.#at++
        if (this.#peek() === end) this.#refuse(`nothing follows the ',' before '${end}'`)
      }
      read()
    }
    this.#at++
  }

  #scalar(expected: string): string | number | boolean | null {
    scalar.lastIndex = this.#at
    const found = scalar.exec(this.#source.text)?.[0]
    if (found === undefined) this.#refuse(`expected ${expected}`)
    try {
      const value = JSON.parse(found) as string | number | boolean | null
      this.#at += found.length
      return value
    } catch {
      return this.#refuse(`${found.slice(0, 40)} is no JSON`)
    }
  }

  /** Returns the next character after blanks; undefined at the end. */
  #peek(): string | undefined {
    const { text } = this.#source
    blanks.lastIndex = this.#at
    const skipped = blanks.exec(text)?.[0] ?? ''
    this.#at += skipped.length
    for (let i = skipped.indexOf('\n'); i >= 0; i = skipped.indexOf('\n', i + 1)) this.#line++
    return text[this.#at]
  }

  #refuse(what: string): never {
    word.lastIndex = this.#at
    const found = word.exec(this.#source.text)?.[0]
    const here = found === undefined ? 'the end of the file' : `'${found.slice(0, 40)}'`
    refuseText(`${this.#source.name}:${this.#line}`, `${what}, found ${here}`)
  }
}
