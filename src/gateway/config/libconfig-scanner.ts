/**
 * Words of libconfig: names, numbers, strings, signs, without comments. `@include "FILE"` continues in the file and returns to the text
 * after it, wherever it stands, as in the library.
 */
import { type Budget, refuseText, type SourceText } from './places.ts'

/** Returns the files of an `@include`, whose pattern stands in the file `from`. Throws a `GatewayError` that begins with `place`. */
export type Include = (pattern: string, from: string, place: string) => readonly SourceText[]

export type TokenKind = 'name' | 'number' | 'string' | '=' | '{' | '}' | '(' | ')' | '[' | ']' | ',' | ';' | 'end'

/** Blanks, or a comment. */
const blanks = /\s+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\//y
const name = /[A-Za-z*][-A-Za-z0-9_*]*/y
const number = /[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)/y
/** String up to a backslash or its end. */
const plain = /[^"\\]*/y
const include = /@include[ \t]+"([^"\n]*)"/y
const signs = '={}()[],;'
const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '"': '"',
  '\\': '\\',
}

interface Position {
  readonly source: SourceText
  at: number
  line: number
}

export class LibconfigScanner {
  readonly #include: Include
  readonly #budget: Budget
  /** Files that are read, the innermost last. */
  readonly #open: Position[] = []
  kind: TokenKind = 'end'
  /** Name or contents of a string. */
  text: string = ''
  number: number = 0
  /** File and line of the word. */
  source: string
  line: number = 1

  constructor(source: SourceText, include: Include, budget: Budget) {
    this.#include = include
    this.#budget = budget
    this.source = source.name
    this.#enter(source)
    this.next()
  }

  get place(): string {
    return `${this.source}:${this.line}`
  }

  next(): void {
    for (;;) {
      const from = this.#open.at(-1)!
      const { text } = from.source
      while (this.#skip(from, blanks) !== null) {}
      this.source = from.source.name
      this.line = from.line
      const character = text[from.at]
      if (character === undefined) {
        if (this.#open.length === 1) {
          this.kind = 'end'
          return
        }
        this.#open.pop()
      } else if (character === '@') this.#includeAt(from)
      else {
        this.#word(from, character)
        return
      }
    }
  }

  /** Throws an error that describes what is wrong at the current word. */
  refuse(what: string): never {
    refuseText(this.place, what)
  }

  #word(from: Position, character: string): void {
    if (signs.includes(character) || character === ':') {
      from.at++
      this.kind = character === ':' ? '=' : (character as TokenKind)
    } else if (character === '"') {
      this.kind = 'string'
      this.text = this.#string(from)
    } else {
      const word = this.#skip(from, name)
      if (word === null) {
        this.#digits(from, character)
        return
      }
      this.kind = 'name'
      this.text = word[0]
    }
  }

  #string(from: Position): string {
    const { text } = from.source
    const parts: string[] = []
    from.at++
    for (;;) {
      parts.push(this.#skip(from, plain)![0])
      const end = text[from.at++]
      if (end === '"') return parts.join('')
      // A backslash, or the end of the file, which a backslash may stand before.
      if (from.at >= text.length) this.refuse('this string has no end: "')
      const hex = /^x([0-9a-fA-F]{2})/.exec(text.slice(from.at, from.at + 3))?.[1]
      const letter = text[from.at] ?? ''
      // As the library: a backslash before anything else stays.
      parts.push(hex === undefined ? (escapes[letter] ?? `\\${letter}`) : String.fromCharCode(Number.parseInt(hex, 16)))
      if (letter === '\n') from.line++
      from.at += hex === undefined ? 1 : 3
    }
  }

  #digits(from: Position, character: string): void {
    const { text } = from.source
    const digits = this.#skip(from, number)?.[0]
    if (digits === undefined) {
      if (text.startsWith('/*', from.at)) this.refuse('this comment has no end: */')
      this.refuse(`'${character}' means nothing here`)
    }
    const isWhole = !/[.eE]/.test(digits) || /^[-+]?0[xX]/.test(digits)
    // A number of more than 32 bits has an L, or two.
    if (isWhole) for (let i = 0; i < 2 && text[from.at] === 'L'; i++) from.at++
    if (/[\w.]/.test(text[from.at] ?? '')) {
      const rest = /^[-\w.+]*/.exec(text.slice(from.at, from.at + 40))![0]
      this.refuse(`'${digits}${rest}' is no number; strings need quotes: "${digits}${rest}"`)
    }
    this.kind = 'number'
    const sign = digits.startsWith('-') ? -1 : 1
    this.number = sign * Number(digits.replace(/^[-+]/, ''))
    if (isWhole && !Number.isSafeInteger(this.number))
      this.refuse(`${digits} is too large: whole numbers are exact up to ${Number.MAX_SAFE_INTEGER}`)
  }

  #includeAt(from: Position): void {
    const found = this.#skip(from, include)
    if (found === null) this.refuse('only @include begins with @, for example: @include "nodes.conf"')
    const [file] = found.slice(1)
    // libconfig's limit.
    if (this.#open.length > 10) this.refuse('more than ten files include each other; does one include itself?')
    for (const source of this.#include(file!, from.source.name, this.place).toReversed()) this.#enter(source)
  }

  #enter(source: SourceText): void {
    this.#budget.take(source, this.place)
    this.#open.push({ source, at: source.text.startsWith('\ufeff') ? 1 : 0, line: 1 })
  }

  /** Moves past the text that matches here; returns null if none does. */
  #skip(from: Position, pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = from.at
    const found = pattern.exec(from.source.text)
    if (found === null) return null
    from.at = pattern.lastIndex
    for (let i = found[0].indexOf('\n'); i >= 0; i = found[0].indexOf('\n', i + 1)) from.line++
    return found
  }
}
