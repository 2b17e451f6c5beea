/**
 * libconfig: `name = value;`, where `;` or `,` may be left out. A value is a number, `true` or `false`, strings (those that follow each
 * other are one), a group `{ … }`, a list `( … )` of anything, or an array `[ … ]` of numbers, booleans or strings.
 */
import type { Settings } from '../settings.ts'
import { type Include, LibconfigScanner, type TokenKind } from './libconfig-scanner.ts'
import { type Budget, limits, type Places, refuseText, type SourceText } from './places.ts'

/** Parses libconfig. Throws a `GatewayError` with file and line. */
export function parseLibconfig(source: SourceText, places: Places, include: Include, budget: Budget): Settings {
  return new Parser(new LibconfigScanner(source, include, budget), places).settings()
}

class Parser {
  readonly #scanner: LibconfigScanner
  readonly #places: Places
  #depth = 0

  constructor(scanner: LibconfigScanner, places: Places) {
    this.#scanner = scanner
    this.#places = places
  }

  settings(): Settings {
    return this.#group('end', this.#scanner)
  }

  /** Reads settings up to `end`, which is not consumed. `begin`: place of the group. */
  #group(end: 'end' | '}', begin: { source: string; line: number }): Settings {
    const scanner = this.#scanner
    const group: Settings = {}
    this.#places.set(group, undefined, begin.source, begin.line)
    while (scanner.kind !== end) {
      if (scanner.kind === 'end') refuseText(`${begin.source}:${begin.line}`, 'this group has no end: }')
      if (scanner.kind !== 'name')
        scanner.refuse(`expected the name of a setting${end === '}' ? " or '}'" : ''}, found ${this.#found()}`)
      const { text: name, source, line } = scanner
      if (Object.hasOwn(group, name)) scanner.refuse(`'${name}' is there twice; first: ${this.#places.of(group, name)}`)
      scanner.next()
      if (scanner.kind !== '=') scanner.refuse(`expected '=' or ':' behind '${name}', found ${this.#found()}`)
      scanner.next()
      group[name] = this.#value()
      this.#places.set(group, name, source, line)
      if (scanner.kind === ';' || scanner.kind === ',') scanner.next()
    }
    return group
  }

  #value(): unknown {
    const scanner = this.#scanner
    switch (scanner.kind) {
      case '{': {
        const { source, line } = scanner
        this.#down()
        const group = this.#group('}', { source, line })
        this.#up()
        return group
      }
      case '(':
        return this.#list(')')
      case '[':
        return this.#list(']')
      default:
        return this.#scalar()
    }
  }

  #scalar(): number | boolean | string {
    const scanner = this.#scanner
    const { kind, number, text } = scanner
    if (kind === 'number') {
      scanner.next()
      return number
    }
    if (kind === 'name' && /^(true|false)$/i.test(text)) {
      scanner.next()
      return text.toLowerCase() === 'true'
    }
    if (kind === 'name') scanner.refuse(`strings need quotes: "${text}"`)
    if (kind !== 'string') scanner.refuse(`expected a value, found ${this.#found()}`)
    let whole = ''
    for (; scanner.kind === 'string'; scanner.next()) whole += scanner.text
    return whole
  }

  #list(end: ')' | ']'): unknown[] {
    const scanner = this.#scanner
    const list: unknown[] = []
    const begin = scanner.place
    this.#places.set(list, undefined, scanner.source, scanner.line)
    this.#down()
    while (scanner.kind !== end) {
      if (scanner.kind === 'end') refuseText(begin, `this list has no end: ${end}`)
      this.#places.set(list, String(list.length), scanner.source, scanner.line)
      if (end === ']' && '{(['.includes(scanner.kind))
        scanner.refuse('an array [ ] has numbers, booleans or strings; a list of groups or lists is ( )')
      const value = this.#value()
      if (end === ']' && list.length > 0 && typeof value !== typeof list[0])
        refuseText(begin, 'the values of an array [ ] are of one type; a list of several is ( )')
      list.push(value)
      if (scanner.kind === ',') scanner.next()
      else if (!this.#is(end) && !this.#is('end')) scanner.refuse(`expected ',' or '${end}', found ${this.#found()}`)
    }
    this.#up()
    return list
  }

  #is(kind: TokenKind): boolean {
    return this.#scanner.kind === kind
  }

  /** Moves past the bracket that opens a group or list. */
  #down(): void {
    if (++this.#depth > limits.depth) this.#scanner.refuse(`groups and lists are nested more than ${limits.depth} deep`)
    this.#scanner.next()
  }

  /** Moves past the bracket that closes a group or list. */
  #up(): void {
    this.#depth--
    this.#scanner.next()
  }

  #found(): string {
    const { kind, text, number } = this.#scanner
    if (kind === 'end') return 'the end of the file'
    if (kind === 'name') return `'${text}'`
    if (kind === 'string') return `"${text}"`
    return kind === 'number' ? String(number) : `'${kind}'`
  }
}
