/**
 * Language of --filter: fields of a packet, compared and combined.
 *
 *     expression   term { ("or" | "||") term }
 *     term         factor { ("and" | "&&") factor }
 *     factor       [ "not" | "!" ] ( "(" expression ")" | FIELD [ OPERATOR VALUE | "in" SET ] )
 *     OPERATOR     ==  !=  <  <=  >  >=  ~ (contains, in any case)
 *     SET          "{" ( VALUE | FROM..TO ) { [ "," ] ( VALUE | FROM..TO ) } "}"
 *
 * A comparison with a field that the packet does not have is false, with != too.
 */
import { didYouMean } from '../spelling/index.ts'
import { fieldNamed, filterFields } from './filter-fields.ts'
import type { Test, Value, ValueKind } from './filter-values.ts'
import type { Row } from './row.ts'

/** Error in a filter: the message has the text of the filter, and a mark below the position. */
export class FilterError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'ERR_TRACE_FILTER'
}

/** Predicate: true if the filter matches the packet. */
export type Filter = (row: Row) => boolean

/** Parses a filter. Throws a FilterError that points at the position. */
export function parseFilter(text: string): Filter {
  const tokens = tokenize(text)
  let at = 0
  const fail = (what: string, position: number): never => {
    throw new FilterError(`--filter: ${what}\n  ${text}\n  ${' '.repeat(position)}^`)
  }
  const peek = (): Token | undefined => tokens[at]
  const accept = (...words: string[]): boolean => {
    const token = peek()
    if (token === undefined || token.quoted || !words.includes(token.text.toLowerCase())) return false
    at++
    return true
  }
  const expression = (): Filter => {
    let left = term()
    while (accept('or', '||')) {
      const [a, b] = [left, term()]
      left = (row) => a(row) || b(row)
    }
    return left
  }
  const term = (): Filter => {
    let left = factor()
    while (accept('and', '&&')) {
      const [a, b] = [left, factor()]
      left = (row) => a(row) && b(row)
    }
    return left
  }
  const factor = (): Filter => {
    if (accept('not', '!')) {
      const inner = factor()
      return (row) => !inner(row)
    }
    if (accept('(')) {
      const inner = expression()
      if (!accept(')')) fail('here a ) is missing', peek()?.at ?? text.length)
      return inner
    }
    return comparison()
  }
  const comparison = (): Filter => {
    const name = tokens[at++] ?? fail('here the expression ends too early', text.length)
    const field = name.quoted ? undefined : fieldNamed(name.text)
    if (field === undefined) {
      const fields = Object.keys(filterFields)
      return fail(
        `there is no field "${name.text}"; the fields are ${fields.join(', ')}, and those of headers and connection messages, such as reth.va and cm.localQpn.${didYouMean(name.text, fields)}`,
        name.at,
      )
    }
    const operator = peek()
    let test: Test
    if (accept('in')) test = set(name.text, field.kind)
    else if (operator !== undefined && !operator.quoted && operators.has(operator.text)) {
      at++
      test = single(name.text, field.kind, operator)
    } else return (row) => any(field.get(row), Boolean)
    return (row) => any(field.get(row), (have) => have !== undefined && test(have))
  }
  const value = (field: string, kind: ValueKind, { text: wanted, at: position }: Token) =>
    kind.read(wanted) ?? fail(`${field} is compared with "${wanted}": ${kind.wants} is wanted`, position)
  const single = (field: string, kind: ValueKind, operator: Token): Test => {
    const wanted = tokens[at++] ?? fail('here a value is missing', text.length)
    if (operator.text === '~') {
      if (kind.contains === undefined)
        return fail(`${field} is no text to look into with ~: ${kind.wants} is wanted`, operator.at)
      return (
        kind.contains(wanted.text) ??
        fail(`no ${field} contains "${wanted.text}": ${kind.wants} is wanted, or a part`, wanted.at)
      )
    }
    if (!kind.ordered && operator.text !== '==' && operator.text !== '!=')
      return fail(`${field} has no order: ==, != or in is wanted`, operator.at)
    const { equals, compare } = value(field, kind, wanted)
    switch (operator.text) {
      case '==':
        return equals
      case '!=':
        return (have) => !equals(have)
      case '<':
        return (have) => compare!(have) < 0
      case '<=':
        return (have) => compare!(have) <= 0
      case '>':
        return (have) => compare!(have) > 0
      default:
        return (have) => compare!(have) >= 0
    }
  }
  const set = (field: string, kind: ValueKind): Test => {
    if (!accept('{')) fail('here a { is missing', peek()?.at ?? text.length)
    const tests: Test[] = []
    while (!accept('}')) {
      const token = tokens[at++] ?? fail('here a } is missing', text.length)
      const [from, to] = token.quoted ? [token.text] : token.text.split(/\.\.(.*)/)
      const first = value(field, kind, { ...token, text: from! })
      if (to === undefined) tests.push(first.equals)
      else {
        if (!kind.ordered) fail(`${field} has no order, and so no range`, token.at)
        const last = value(field, kind, { ...token, text: to, at: token.at + from!.length + 2 })
        tests.push((have) => first.compare!(have) >= 0 && last.compare!(have) <= 0)
      }
      accept(',')
    }
    if (tests.length === 0) fail('the set is empty', tokens[at - 1]!.at)
    return (have) => tests.some((test) => test(have))
  }
  if (tokens.length === 0) fail('the expression is empty', 0)
  const filter = expression()
  const rest = peek()
  if (rest !== undefined) fail(`"${rest.text}" is not expected here`, rest.at)
  return filter
}

function any(value: Value | readonly Value[], test: (value: Value) => boolean): boolean {
  return Array.isArray(value) ? value.some(test) : test(value as Value)
}

const operators: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', '~'])

interface Token {
  text: string
  at: number
  quoted: boolean
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  const pattern = /\s+|"([^"]*)"|'([^']*)'|[(){},]|&&|\|\||[=!<>]=|[<>!~]|[^\s()"'=!<>~&|{},]+|./gy
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (/^\s/.test(match[0])) continue
    const quoted = match[1] ?? match[2]
    tokens.push({ text: quoted ?? match[0], at: match.index, quoted: quoted !== undefined })
  }
  return tokens
}
