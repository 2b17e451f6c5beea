/** Settings of the node-type redis, and the fields of its hashes. What it does with a server: test/interop/gateway/redis.test.ts. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Samples, type Settings, signalsOf } from '../../../src/gateway/index.ts'
import { readField, writeField } from '../../../src/gateway/nodes/redis/fields.ts'
import { holds } from '../../property.ts'
import { wrongWith } from './running.ts'

it.each([
  [{ mode: 'list' }, 'node: mode: "list" is not valid. Expected one of "key", "set-get", "hash"'],
  [{ uri: 'http://x' }, 'node: uri: "http://x" is not valid. Expected tcp://[[USER:]PASSWORD@]HOST[:PORT][/DB]'],
  [{ uri: 'unix://x' }, 'node: uri: "unix://x" is not valid'],
  [{ host: 'a', path: '/b' }, 'host and path exclude each other'],
  [{ uri: 'tcp://a', path: '/b' }, 'host and path exclude each other'],
  [{ timeout: { read: 1 } }, "node.timeout has no setting 'read'"],
  [{ ssl: { ca: 'x' } }, "node.ssl has no setting 'ca'"],
  [{ ssl: { cacert: '/nowhere' } }, 'ENOENT'],
  [{ rate: 0 }, 'node: rate: 0 is not valid'],
  [
    {
      uri: 'redis://u:p@[::1]:1/2',
      mode: 'hset-hget',
      timeout: { connect: 1, socket: 2.5 },
      keepalive: true,
      notify: false,
      rate: 5,
    },
    '',
  ],
] as [Settings, string][])('%j', async (settings, message) => {
  const wrong = await wrongWith({ type: 'redis', ...settings })
  if (message === '') expect(wrong).toBe('')
  else expect(wrong).toContain(message)
})

describe('fields', () => {
  const samples = new Samples(1, 4)
  const [float, integer, boolean, complex] = signalsOf('fibc').map(({ type }) => type)

  it('read floats and complex numbers as they were written', () =>
    holds(
      fc.property(
        fc.double(),
        fc.float({ noNaN: true, noDefaultInfinity: true }),
        fc.float({ noNaN: true, noDefaultInfinity: true }),
        (value, real, imaginary) => {
          samples.f64[0] = value
          const text = writeField(samples, 0, float!)
          samples.f64[0] = 1
          expect(readField(samples, 0, float!, text)).toBe(true)
          expect(samples.f64[0]! + 0).toBe(value + 0)
          samples.f32.set([real, imaginary])
          const pair = writeField(samples, 0, complex!)
          samples.f32.set([1, 1])
          expect(readField(samples, 0, complex!, pair)).toBe(true)
          expect([...samples.f32.subarray(0, 2)].map((part) => part + 0)).toEqual([real + 0, imaginary + 0])
        },
      ),
    ))

  it.each([
    [integer, '9223372036854775807', '9223372036854775807'],
    [integer, ' -9223372036854775808 ', '-9223372036854775808'],
    [integer, '+5', '5'],
    [float, '-inf', '-Infinity'],
    [float, '.5e1', '5'],
    [boolean, 'true', '1'],
    [boolean, '0', '0'],
    [complex, '1.5-2i', '1.5-2i'],
    [complex, '2j', '0+2i'],
    [complex, ' 1.25i ', '0+1.25i'],
    [complex, '-12.5e1j', '0-125i'],
    [complex, '-3', '-3+0i'],
  ])('type %i: %s', (type, text, again) => {
    expect(readField(samples, 0, type!, text)).toBe(true)
    expect(writeField(samples, 0, type!)).toBe(again)
  })

  it.each([
    [float, ''],
    [float, '1x'],
    [float, '0x10'],
    [integer, '1.5'],
    [integer, ''],
    [boolean, '2'],
    [complex, ''],
    [complex, '1+i2'],
  ])('type %i is not %j', (type, text) => expect(readField(samples, 0, type!, text)).toBe(false))
})
