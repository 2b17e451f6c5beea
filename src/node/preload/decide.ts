/** Decision about a connection: the rule that applies to it. */
import { type BlockList, isIP, isIPv4 } from 'node:net'
import { isOwnAddress } from '../../memory/index.ts'
import type { Role, Rule } from './rules.ts'

/** Last answer of each list: a program connects to one address again and again. */
const lastAnswers = new WeakMap<BlockList, { address: string; fits: boolean }>()

function isIn(addresses: BlockList, address: string): boolean {
  const last = lastAnswers.get(addresses)
  if (last?.address === address) return last.fits
  const fits = addresses.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  lastAnswers.set(addresses, { address, fits })
  return fits
}

function fitsAddress(rule: Rule, address: string | null): boolean {
  const { addresses } = rule
  if (addresses === undefined) return true
  // Listening on all addresses includes those of the rule; a rule that keeps some on TCP does not keep the others there.
  if (address === null || address === '::' || address === '0.0.0.0') return rule.transport !== 'tcp'
  const plain = address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '').replace(/%.*/, '')
  if (addresses === 'local') return isOwnAddress(plain)
  return isIn(addresses, plain)
}

/** Returns the first rule that fits; undefined: TCP. `address` null means all addresses, `port` 0 one that is still to be found. */
export function decide(rules: readonly Rule[], role: Role, address: string | null, port: number): Rule | undefined {
  return rules.find(
    (rule) =>
      (rule.role === undefined || rule.role === role) &&
      (port === 0 ? rule.fromPort === 0 : port >= rule.fromPort && port <= rule.toPort) &&
      fitsAddress(rule, address),
  )
}

/** True if a connection with these options, as `connect` reads them, could go over RDMA. Names are not looked up. */
export function mayConnect(rules: readonly Rule[], options: Readonly<Record<string, unknown>>): boolean {
  const { port, path, host } = options
  if (path || port === undefined || port === null) return false
  if (!mayUseRdma(rules, 'connect', Number(port))) return false
  const address = (host as string) || 'localhost'
  if (isIP(address) === 0) return true
  const rule = decide(rules, 'connect', address, Number(port))
  return rule !== undefined && rule.transport !== 'tcp'
}

/** True if any address with this port could go over RDMA. */
export function mayUseRdma(rules: readonly Rule[], role: Role, port: number): boolean {
  return rules.some(
    (rule) =>
      rule.transport !== 'tcp' &&
      (rule.role === undefined || rule.role === role) &&
      port >= rule.fromPort &&
      port <= rule.toPort,
  )
}
