/**
 * The language of --filter: fields of a packet, compared and combined.
 *
 *     expression   term { ("or" | "||") term }
 *     term         factor { ("and" | "&&") factor }
 *     factor       [ "not" | "!" ] ( "(" expression ")" | FIELD [ OPERATOR VALUE | "in" SET ] )
 *     OPERATOR     ==  !=  <  <=  >  >=  ~ (contains, in any case)
 *     SET          "{" ( VALUE | FROM..TO ) { [ "," ] ( VALUE | FROM..TO ) } "}"
 *
 * A comparison with a field that the packet does not have is false, with != too.
 */
import { isBad, operationText } from './describe.ts'
import {
  address,
  brokenRule,
  cmType,
  duration,
  flag,
  icrcState,
  operation,
  service,
  tunnel,
  type Value,
  type ValueKind,
  whole,
} from './filter-values.ts'
import type { Row } from './row.ts'

export class FilterError extends Error {
  override readonly name = 'UsageError'
}

export type Filter = (row: Row) => boolean

interface FilterField {
  text: string
  kind: ValueKind
  /** Of several values, one has to fit. */
  get(row: Row): Value | readonly Value[]
}

const bits = (count: number): ValueKind => whole(2 ** count - 1)
const mark = (text: string, get: (row: Row) => boolean | undefined): FilterField => ({
  text,
  kind: flag,
  get: (row) => get(row) === true,
})

/** All fields, in the order of the help. */
export const filterFields: Readonly<Record<string, FilterField>> = {
  number: { text: 'packet number, from 1', kind: whole(), get: (row) => row.number },
  time: { text: 'since the first packet; in s, or units ns, us, ms', kind: duration('s'), get: (row) => row.time },
  length: { text: 'bytes on the wire', kind: whole(), get: (row) => row.length },
  src: { text: 'source address, or its network', kind: address, get: (row) => row.source },
  dst: { text: 'destination address, or its network', kind: address, get: (row) => row.destination },
  addr: { text: 'either address, or its network', kind: address, get: (row) => [row.source, row.destination] },
  conv: { text: 'number of the conversation', kind: whole(), get: (row) => row.conversation },
  srcqp: { text: 'sending QP, where known', kind: bits(24), get: (row) => row.srcQp },
  dstqp: { text: 'destination QP', kind: bits(24), get: (row) => row.destQp },
  qp: { text: 'either QP', kind: bits(24), get: (row) => [row.srcQp, row.destQp] },
  service: { text: 'RC, UC, RD, UD, XRC, CNP', kind: service, get: (row) => row.service },
  opcode: { text: 'the BTH opcode as a number', kind: bits(8), get: (row) => row.opcode },
  op: {
    text: 'the operation as shown, such as "SEND Last"',
    kind: operation,
    get: (row) => (row.destQp === undefined ? undefined : operationText(row)),
  },
  psn: { text: 'packet sequence number', kind: bits(24), get: (row) => row.psn },
  payload: { text: 'payload bytes', kind: whole(), get: (row) => row.payload },
  ackreq: mark('asks for an ACK', (row) => row.ackReq),
  solicited: mark('solicited event', (row) => row.solicited),
  va: {
    text: 'address in RETH or AtomicETH',
    kind: whole(2n ** 64n - 1n),
    get: (row) => row.headers?.reth?.va ?? row.headers?.atomicEth?.va,
  },
  rkey: {
    text: 'key in RETH, AtomicETH or IETH',
    kind: bits(32),
    get: (row) => row.headers?.reth?.rkey ?? row.headers?.atomicEth?.rkey ?? row.headers?.ieth?.rkey,
  },
  dmalen: { text: 'length in the RETH', kind: bits(32), get: (row) => row.headers?.reth?.dmaLength },
  imm: { text: 'immediate data', kind: bits(32), get: (row) => row.headers?.immDt?.data },
  qkey: { text: 'Q_Key of a datagram', kind: bits(32), get: (row) => row.headers?.deth?.qkey },
  msn: { text: 'message sequence number of an answer', kind: bits(24), get: (row) => row.headers?.aeth?.msn },
  syndrome: { text: 'syndrome of an answer', kind: bits(8), get: (row) => row.headers?.aeth?.syndrome },
  latency: {
    text: 'from request to answer; in ns, or units us, ms, s',
    kind: duration('ns'),
    get: (row) => row.latencyNs,
  },
  refers: { text: 'number of the packet it repeats or answers', kind: whole(), get: (row) => row.refersTo },
  request: mark('is a request', (row) => row.operation !== undefined && row.answer === undefined && !row.cnp),
  response: mark('is an answer', (row) => row.answer !== undefined),
  retransmission: mark('sent again', (row) => row.retransmission),
  duplicate: mark('sent again although acknowledged', (row) => row.duplicate),
  repeat: mark('an answer given before', (row) => row.repeat),
  gap: mark('PSNs are missing before it', (row) => row.missing !== undefined),
  late: mark('fills a gap', (row) => row.late),
  nak: mark('a NAK that is no RNR NAK', (row) => row.nak),
  rnr: mark('an RNR NAK', (row) => row.rnr),
  cnp: mark('a congestion notification', (row) => row.cnp),
  ecn: mark('marked "congestion experienced"', (row) => row.marked),
  cm: { text: 'a connection message; cm == REQ, REP, …', kind: cmType, get: (row) => row.cm?.type },
  icrc: { text: 'valid, invalid, unknown', kind: icrcState, get: (row) => row.icrc },
  malformed: { text: 'breaks a rule; malformed ~ NAME', kind: brokenRule, get: (row) => row.malformed },
  bad: mark('ICRC wrong or malformed', isBad),
  tunnel: { text: 'VXLAN, Geneve, GRE, ERSPAN, IP, MPLS around it', kind: tunnel, get: (row) => row.tunnel },
  cut: mark('cut by the capture', (row) => row.cut),
  roce: mark('is RDMA at all', (row) => row.kind !== 'other'),
}

/** Throws a FilterError that points at the place. */
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
    const known = name.text.toLowerCase()
    const field = Object.hasOwn(filterFields, known) ? filterFields[known] : undefined
    if (field === undefined || name.quoted)
      return fail(`there is no field "${name.text}"; the fields are ${Object.keys(filterFields).join(', ')}`, name.at)
    const operator = peek()
    if (operator === undefined || operator.quoted) return (row) => any(field.get(row), Boolean)
    let test: Test
    if (accept('in')) test = set(name.text, field.kind)
    else if (operators.has(operator.text)) {
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
      if (kind.mayContain === undefined)
        return fail(`${field} is no text to look into with ~: ${kind.wants} is wanted`, operator.at)
      if (!kind.mayContain(wanted.text))
        return fail(`no ${field} contains "${wanted.text}": ${kind.wants} is wanted, or a part`, wanted.at)
      const part = wanted.text.toLowerCase()
      return (have) => String(have).toLowerCase().includes(part)
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

type Test = (have: Value) => boolean

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
