/** Ports for addresses: two of them conflict when they have an address in common, as a model that lists the addresses says. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { servedBy, servedOverlap, servesAll, servesOne } from '../../../src/verbs/provider/index.ts'
import { parseIp } from '../../../src/wire/index.ts'
import { holds } from '../../property.ts'

/** All addresses of a small world. */
const ipv4 = ['127.0.0.1', '127.0.0.2', '10.0.0.1', '0.0.0.1']
const ipv6 = ['::1', 'fe80::1', 'fd00::1', '::127.0.0.1', '::fffe:7f00:1']

interface Bound {
  address: string
  afOnly: boolean
}

function addressesOf({ address, afOnly }: Bound): string[] {
  if (address === '0.0.0.0') return ipv4
  if (address === '::') return afOnly ? ipv6 : [...ipv4, ...ipv6]
  return [address]
}

const bound: fc.Arbitrary<Bound> = fc.record({
  address: fc.constantFrom('0.0.0.0', '::', ...ipv4, ...ipv6),
  afOnly: fc.boolean(),
})
const words = ({ address, afOnly }: Bound): Int32Array => servedBy(parseIp(address)!, afOnly)

it('two ports conflict if they have an address in common', () => {
  holds(
    fc.property(bound, bound, (a, b) => {
      const model = addressesOf(a).some((address) => addressesOf(b).includes(address))
      expect(servedOverlap(words(a), 0, words(b), 0)).toBe(model)
      // As they lie in records, one behind the other.
      const records = Int32Array.from([7, ...words(a), 7, ...words(b)])
      expect(servedOverlap(records, 7, records, 1)).toBe(model)
    }),
    300,
  )
})

it('a request goes to those that serve its address', () => {
  holds(
    fc.property(bound, fc.constantFrom(...ipv4, ...ipv6), (a, to) => {
      expect(servedOverlap(words(a), 0, servesOne(parseIp(to)!), 0)).toBe(addressesOf(a).includes(to))
    }),
  )
})

it('what nobody has narrowed serves all, and an address of zeros alone is one', () => {
  expect(servedOverlap(new Int32Array(5), 0, servesAll, 0)).toBe(true)
  expect(servedOverlap(servesOne(new Uint8Array(4)), 0, words({ address: '127.0.0.1', afOnly: false }), 0)).toBe(false)
})
