/**
 * Rules that select the connections for RDMA. A rule is a few words, of which only the address is required:
 *
 *     [program=NAME] [listen|connect] ADDRESS[/BITS][:PORTS] [rdma|rdma-only|tcp] [device=NAME] [timeout=MS]
 *     !ADDRESS…                                               the same as … tcp
 *
 *     10.0.0.0/8:*                      [fd00::]/8:443            *:5000-5099
 *     listen *:8080 rdma-only           !10.0.0.9                 program=redis* local:6379 device=shm:lab
 *
 * Rules are tried in order and the first that fits decides; where none fits it is TCP.
 */
import { BlockList, isIP } from 'node:net'
import { basename } from 'node:path'

/** Transport of a rule. `rdma`: with TCP for peers that have no RDMA. `rdma-only`: without. */
export type Transport = 'rdma' | 'rdma-only' | 'tcp'
export type Role = 'listen' | 'connect'

export interface Rule {
  /** Text as it was written. */
  text: string
  role: Role | undefined
  /** Addresses; undefined: every address. */
  addresses: BlockList | 'local' | undefined
  fromPort: number
  toPort: number
  transport: Transport
  device: string | undefined
  timeoutMs: number | undefined
  /** Pattern for the program's file name, with `*`. */
  program: string | undefined
}

const roles = new Set(['listen', 'connect'])
const transports = new Set(['rdma', 'rdma-only', 'tcp'])

/** Error in a rule, with the correction. */
class RuleError extends Error {
  constructor(rule: string, why: string) {
    super(`the rule "${rule}" ${why}`)
  }
}

/** Parses rules that are separated by commas, semicolons or line ends; a `#` begins a comment. Throws a RuleError. */
export function parseRules(text: string): Rule[] {
  return text
    .split('\n')
    .flatMap((line) => line.replace(/#.*/, '').split(/[,;]/))
    .map((rule) => rule.trim())
    .filter((rule) => rule !== '')
    .map(parseRule)
}

export function parseRule(text: string): Rule {
  const rule: Rule = {
    text,
    role: undefined,
    addresses: undefined,
    fromPort: 0,
    toPort: 65_535,
    transport: 'rdma',
    device: undefined,
    timeoutMs: undefined,
    program: undefined,
  }
  let pattern: string | undefined
  for (const word of text.split(/\s+/)) {
    const option = /^(program|device|timeout)=(.*)$/.exec(word)
    if (option) setOption(rule, option[1]!, option[2]!)
    else if (roles.has(word)) rule.role = word as Role
    else if (transports.has(word)) rule.transport = word as Transport
    else if (pattern === undefined) pattern = word
    else
      throw new RuleError(
        text,
        `has an unknown word "${word}". A rule is [listen|connect] ADDRESS[/BITS][:PORTS] [rdma|rdma-only|tcp], with program=, device= and timeout=`,
      )
  }
  if (pattern === undefined) throw new RuleError(text, 'names no address: write one, as 10.0.0.0/8, or * for all')
  if (pattern.startsWith('!')) {
    pattern = pattern.slice(1)
    rule.transport = 'tcp'
  }
  setPattern(rule, pattern)
  return rule
}

function setOption(rule: Rule, name: string, value: string): void {
  if (value === '') throw new RuleError(rule.text, `gives no value for ${name}=`)
  if (name === 'program') rule.program = value
  else if (name === 'device') rule.device = value
  else rule.timeoutMs = readTimeout(value, (why) => new RuleError(rule.text, why))
}

/** Parses milliseconds, 1 or more. */
export function readTimeout(value: string, fail: (why: string) => Error): number {
  const ms = Number(value)
  if (!Number.isInteger(ms) || ms < 1 || ms > 3_600_000)
    throw fail(`wants a timeout of "${value}": give milliseconds, 1 to 3600000`)
  return ms
}

function setPattern(rule: Rule, pattern: string): void {
  // An IPv6 address has colons itself: with ports it stands in brackets.
  const bracketed = /^\[([^\]]*)\](\/\d+)?(?::(.*))?$/.exec(pattern)
  let address: string
  let ports: string | undefined
  if (bracketed) {
    address = `${bracketed[1]}${bracketed[2] ?? ''}`
    ports = bracketed[3]
  } else if (pattern.split(':').length > 2) address = pattern
  else [address = '', ports] = pattern.split(':') as [string, string | undefined]
  setPorts(rule, ports)
  if (address === '*' || address === '') return
  if (address === 'local') {
    rule.addresses = 'local'
    return
  }
  const [ip = '', bits] = address.split('/') as [string, string | undefined]
  const family = isIP(ip)
  if (family === 0)
    throw new RuleError(
      rule.text,
      `has no address in "${address}": give an IP address, a network as 10.0.0.0/8 or [fd00::]/8, local, or *. Rules are about addresses, not host names`,
    )
  const most = family === 4 ? 32 : 128
  const prefix = bits === undefined ? most : Number(bits)
  if (bits === '' || !Number.isInteger(prefix) || prefix < 0 || prefix > most)
    throw new RuleError(rule.text, `has a prefix of "/${bits}": give 0 to ${most} bits`)
  const list = new BlockList()
  if (prefix > 0) list.addSubnet(ip, prefix, family === 4 ? 'ipv4' : 'ipv6')
  else if (family === 4) list.addRange('0.0.0.0', '255.255.255.255', 'ipv4')
  else list.addRange('::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'ipv6')
  rule.addresses = list
}

function setPorts(rule: Rule, ports: string | undefined): void {
  if (ports === undefined || ports === '*') return
  const match = /^(\d+)(?:-(\d+))?$/.exec(ports)
  const from = Number(match?.[1])
  const to = Number(match?.[2] ?? match?.[1])
  if (!match || to > 65_535 || from > to)
    throw new RuleError(rule.text, `has ports of "${ports}": give a port, a range as 5000-5099, or *`)
  rule.fromPort = from
  rule.toPort = to
}

/** True if the rule applies to the program of this name; `*` in the rule stands for any text. */
export function fitsProgram(rule: Rule, program: string): boolean {
  if (rule.program === undefined) return true
  const parts = rule.program.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(basename(program))
}
