/**
 * The language of --filter: fields of a packet, compared and combined.
 *
 *     expression   term { ("or" | "||") term }
 *     term         factor { ("and" | "&&") factor }
 *     factor       [ "not" | "!" ] ( "(" expression ")" | FIELD [ OPERATOR VALUE ] )
 *     OPERATOR     ==  !=  <  <=  >  >=  ~ (contains, in any case)
 *
 * A comparison with a field that the packet does not have is false, with != too.
 */
import { isBad, operationText } from './describe.ts'
import type { Row } from './row.ts'

export class FilterError extends Error {
  override readonly name = 'UsageError'
}

export type Filter = (row: Row) => boolean

type Value = string | number | boolean | undefined
interface FilterField {
  text: string
  /** Of several values, one has to fit. */
  get(row: Row): Value | readonly Value[]
}

/** All fields, in the order of the help. */
export const filterFields: Readonly<Record<string, FilterField>> = {
  number: { text: 'packet number, from 1', get: (row) => row.number },
  time: { text: 'seconds since the first packet', get: (row) => row.time },
  length: { text: 'bytes on the wire', get: (row) => row.length },
  src: { text: 'source address', get: (row) => row.source },
  dst: { text: 'destination address', get: (row) => row.destination },
  addr: { text: 'either address', get: (row) => [row.source, row.destination] },
  conv: { text: 'number of the conversation', get: (row) => row.conversation },
  srcqp: { text: 'sending QP, where known', get: (row) => row.srcQp },
  dstqp: { text: 'destination QP', get: (row) => row.destQp },
  qp: { text: 'either QP', get: (row) => [row.srcQp, row.destQp] },
  service: { text: 'RC, UC, RD, UD, XRC, CNP', get: (row) => row.service },
  opcode: { text: 'the BTH opcode as a number', get: (row) => row.opcode },
  op: {
    text: 'the operation as shown, such as "SEND Last"',
    get: (row) => row.destQp !== undefined && operationText(row),
  },
  psn: { text: 'packet sequence number', get: (row) => row.psn },
  payload: { text: 'payload bytes', get: (row) => row.payload },
  ackreq: { text: 'asks for an ACK', get: (row) => row.ackReq },
  solicited: { text: 'solicited event', get: (row) => row.solicited },
  va: {
    text: 'address in RETH or AtomicETH',
    get: (row) => number(row.headers?.reth?.va ?? row.headers?.atomicEth?.va),
  },
  rkey: {
    text: 'key in RETH, AtomicETH or IETH',
    get: (row) => row.headers?.reth?.rkey ?? row.headers?.atomicEth?.rkey ?? row.headers?.ieth?.rkey,
  },
  dmalen: { text: 'length in the RETH', get: (row) => row.headers?.reth?.dmaLength },
  imm: { text: 'immediate data', get: (row) => row.headers?.immDt?.data },
  qkey: { text: 'Q_Key of a datagram', get: (row) => row.headers?.deth?.qkey },
  msn: { text: 'message sequence number of an answer', get: (row) => row.headers?.aeth?.msn },
  syndrome: { text: 'syndrome of an answer', get: (row) => row.headers?.aeth?.syndrome },
  latency: { text: 'from request to answer; units ns, us, ms, s', get: (row) => row.latencyNs },
  refers: { text: 'number of the packet it repeats or answers', get: (row) => row.refersTo },
  request: { text: 'is a request', get: (row) => row.operation !== undefined && row.answer === undefined && !row.cnp },
  response: { text: 'is an answer', get: (row) => row.answer !== undefined },
  retransmission: { text: 'sent again', get: (row) => row.retransmission },
  duplicate: { text: 'sent again although acknowledged', get: (row) => row.duplicate },
  repeat: { text: 'an answer given before', get: (row) => row.repeat },
  gap: { text: 'PSNs are missing before it', get: (row) => row.missing !== undefined },
  late: { text: 'fills a gap', get: (row) => row.late },
  nak: { text: 'a NAK that is no RNR NAK', get: (row) => row.nak },
  rnr: { text: 'an RNR NAK', get: (row) => row.rnr },
  cnp: { text: 'a congestion notification', get: (row) => row.cnp },
  ecn: { text: 'marked "congestion experienced"', get: (row) => row.marked },
  cm: { text: 'a connection message; cm == REQ, REP, …', get: (row) => row.cm?.type },
  icrc: { text: 'valid, invalid, unknown', get: (row) => row.icrc },
  malformed: { text: 'breaks a rule; malformed ~ NAME', get: (row) => row.malformed },
  bad: { text: 'ICRC wrong or malformed', get: isBad },
  cut: { text: 'cut by the capture', get: (row) => row.cut },
  roce: { text: 'is RDMA at all', get: (row) => row.kind !== 'other' },
}

function number(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
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
    const field = filterFields[name.text.toLowerCase()]
    if (field === undefined || name.quoted)
      return fail(`there is no field "${name.text}"; the fields are ${Object.keys(filterFields).join(', ')}`, name.at)
    const operator = peek()
    if (operator === undefined || !(operator.text in operators)) return (row) => any(field.get(row), Boolean)
    at++
    const value = tokens[at++] ?? fail('here a value is missing', text.length)
    const compare = operators[operator.text]!
    const wanted = literal(value)
    return (row) => any(field.get(row), (have) => have !== undefined && compare(have, wanted))
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

interface Token {
  text: string
  at: number
  quoted: boolean
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  const pattern = /\s+|"([^"]*)"|'([^']*)'|[()]|&&|\|\||[=!<>]=|[<>!~]|[^\s()"'=!<>~&|]+|./gy
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (/^\s/.test(match[0])) continue
    const quoted = match[1] ?? match[2]
    tokens.push({ text: quoted ?? match[0], at: match.index, quoted: quoted !== undefined })
  }
  return tokens
}

interface Literal {
  text: string
  /** NaN if it is no number. */
  number: number
}

const unitsNs: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 }

function literal({ text, quoted }: Token): Literal {
  const withUnit = /^([\d.]+)(ns|us|µs|ms|s)$/.exec(text)
  const value = withUnit ? Number(withUnit[1]) * unitsNs[withUnit[2]!]! : Number(text)
  return { text: text.toLowerCase(), number: quoted || text === '' ? Number.NaN : value }
}

function equal(have: Value, wanted: Literal): boolean {
  if (typeof have === 'number') return have === wanted.number
  return String(have).toLowerCase() === wanted.text
}

const operators: Record<string, (have: Value, wanted: Literal) => boolean> = {
  '==': equal,
  '!=': (have, wanted) => !equal(have, wanted),
  '<': (have, wanted) => typeof have === 'number' && have < wanted.number,
  '<=': (have, wanted) => typeof have === 'number' && have <= wanted.number,
  '>': (have, wanted) => typeof have === 'number' && have > wanted.number,
  '>=': (have, wanted) => typeof have === 'number' && have >= wanted.number,
  '~': (have, wanted) => String(have).toLowerCase().includes(wanted.text),
}
