/**
 * Shape of a configuration file, for errors and for editors (`docs/reference/traffic`). Quantities stay as they were written; `read.ts`
 * makes a `TrafficConfig` of them.
 */
import { z } from 'zod'
import { collectives, interpolations, qpTypes, verbs } from '../index.ts'
import type { Settings } from './settings.ts'

const quantity = (description: string, examples: readonly (string | number)[]) =>
  z.union([z.number().nonnegative(), z.string()]).meta({ description, examples: [...examples] })

const time = (description: string) => quantity(`${description}; a number is seconds`, ['10us', '1.5ms', '2s'])
const bytes = (description: string) => quantity(description, [4096, '64KiB', '1MB'])
const weight = z.number().nonnegative()
const share = z.number().min(0).max(1)
const fromZeroToOne = 'shares are from 0 to 1; per cent is possible in a file'
const pointShare = z.number().min(0, fromZeroToOne).max(1, fromZeroToOne)
const weights = (description: string, examples: readonly Record<string, number>[]) =>
  z.record(z.string(), weight).meta({ description, examples: [...examples] })

const interpolation = z.enum(interpolations).meta({ description: 'how a distribution goes on between its rows' })
const size = z
  .union([
    z.number().int().nonnegative(),
    z.string(),
    z.strictObject({
      cdf: z.string().meta({ description: 'a preset, or a file of rows `bytes share`' }),
      interpolation: interpolation.optional(),
      unit: bytes('bytes that 1 in its column of sizes stands for, where it counts packets; 1').optional(),
    }),
    z.strictObject({
      points: z.array(z.tuple([z.number().nonnegative(), pointShare])).min(1),
      interpolation: interpolation.optional(),
    }),
    z.record(z.string(), weight),
  ])
  .meta({
    description:
      'bytes of a request: one size, a preset (`verbena traffic cdf`), a file with a cumulative distribution, its points, or sizes and presets by weight',
    examples: ['64KiB', 'WebSearch', { cdf: 'sizes.txt', interpolation: 'log' }, { '4KiB': 70, '1MiB': 30 }],
  })

const rate = z
  .union([quantity('bits per second', ['10Gbps']), weights('by weight', [{ '500Mbps': 30, '1Gbps': 70 }])])
  .meta({ description: 'bits per second of each flow, one value or several by weight; 0 is as fast as it goes' })

const verb = z.enum(verbs)
const verbShares = z
  .union([
    verb,
    z.partialRecord(verb, z.union([weight, z.strictObject({ weight, rate: rate.optional(), size: size.optional() })])),
  ])
  .meta({
    description: 'verbs by weight; each may have rates and sizes of its own',
    examples: [
      { send: 40, write: 40, read: 20 },
      { send: 50, read: { weight: 50, rate: '1Gbps' } },
    ],
  })

const type = z.enum(qpTypes)
const types = z
  .union([type, z.partialRecord(type, weight)])
  .meta({ description: 'types of queue pairs by weight', examples: [{ RC: 80, UC: 10, UD: 10 }] })

const integers = (what: string, min: number, max: number) =>
  z
    .union([z.number().int().min(min).max(max), z.record(z.string(), weight)])
    .meta({ description: `${what}, one value or several by weight`, examples: [min, { [min]: 75, [max]: 25 }] })

const arrival = z
  .union([
    z.enum(['poisson', 'fixed', 'uniform']),
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('poisson') }),
      z.strictObject({ type: z.literal('fixed') }),
      z.strictObject({ type: z.literal('uniform') }),
      z.strictObject({
        type: z.literal('lognormal'),
        sigma: z.number().min(0).max(10).optional().meta({ description: 'deviation of the logarithm of gaps; 1' }),
      }),
      z.strictObject({
        type: z.literal('onoff'),
        on: time('mean length of a burst'),
        off: time('mean length of a pause'),
      }),
      z.strictObject({
        type: z.literal('closed'),
        depth: z.number().int().min(1).max(65536).optional().meta({ description: 'requests outstanding; 1' }),
        think: time('pause before the next request').optional(),
      }),
    ]),
  ])
  .meta({ description: 'when requests come', examples: ['poisson', { type: 'onoff', on: '1ms', off: '4ms' }] })

const destinations = z
  .union([
    z.enum(['uniform', 'permutation']),
    z.strictObject({ incast: z.number().int().min(1).max(65536).meta({ description: 'servers of each request' }) }),
    z.strictObject({
      hotspot: z.string().meta({ description: 'one of the servers' }),
      share: share.meta({ description: 'of all requests' }),
    }),
    z.strictObject({
      rack: z.string().meta({ description: 'the rack of servers that are near' }),
      share: share.meta({ description: 'of the requests that stay in it' }),
    }),
  ])
  .meta({ description: 'to which servers requests go', examples: ['uniform', { incast: 8 }] })

const collective = z
  .strictObject({
    name: z.enum(collectives),
    size: bytes('the whole buffer'),
    rank: z.number().int().nonnegative().optional().meta({ description: 'of this client; `client`' }),
    channels: z.number().int().min(1).max(64).optional().meta({ description: 'messages of a step; 1' }),
    iterations: z.number().int().min(1).optional().meta({ description: '1' }),
    compute: time('pause between iterations').optional(),
    skew: z.number().min(0).max(10).optional().meta({ description: 'moe: exponent of the Zipf law; 1' }),
  })
  .meta({ description: 'a collective operation as traffic, in the place of random requests' })

const phaseKeys = {
  size: size.optional(),
  load: z.number().min(0).max(100).optional().meta({ description: 'share of the bandwidth; 0.1' }),
  requests: quantity('requests per second, in the place of a load', ['100k/s']).optional(),
  verbs: verbShares.optional(),
  types: types.optional(),
  rate: rate.optional(),
  dscp: integers('DSCP of the packets', 0, 63).optional(),
  sl: integers('service level', 0, 15).optional(),
  fanout: integers('servers that one request goes to at once', 1, 65536).optional(),
  fanoutSize: z.enum(['split', 'each']).optional().meta({
    description: 'whether the flows of a fan-out share its size (split, as TrafficGenerator) or have it each',
  }),
  arrival: arrival.optional(),
  destinations: destinations.optional(),
  collective: collective.optional(),
}

const port = z.number().int().min(1).max(65535)
const server = z.union([
  z.string().meta({ description: 'host:port', examples: ['10.0.0.2:18515'] }),
  z.strictObject({
    host: z.string().min(1),
    port: port.optional(),
    rack: z.string().optional(),
    weight: weight.optional(),
  }),
])

const faults = z
  .strictObject({
    loss: share.optional(),
    duplication: share.optional(),
    corruption: share.optional(),
    reordering: share.optional(),
    marking: share.optional().meta({ description: 'congestion marks; in captures (--pcap) only' }),
    delay: time('delay of every packet').optional(),
    jitter: time('largest additional delay').optional(),
  })
  .meta({ description: 'what happens to packets, as probabilities' })

export const configurationSchema: z.ZodType<Settings> = z
  .strictObject({
    $schema: z.string().optional(),
    seed: z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER).optional().meta({ description: '1' }),
    servers: z.array(server).min(1).max(65536).meta({ description: 'the servers that requests go to' }),
    client: z.number().int().nonnegative().optional().meta({ description: 'which client this is; 0' }),
    clients: z.number().int().min(1).optional().meta({ description: 'how many clients there are; 1' }),
    count: z.number().int().nonnegative().optional().meta({ description: 'end after so many requests' }),
    duration: time('end after this time').optional(),
    bandwidth: quantity('bits per second of a load of 1; 10Gbps', ['25Gbps']).optional(),
    flow: z.enum(['reply', 'push']).optional().meta({
      description: 'reply: the server sends the flow that was asked for; push: the client sends it',
    }),
    ...phaseKeys,
    phases: z
      .array(
        z.strictObject({
          name: z.string().optional(),
          duration: time('how long it lasts; the last one may go on').optional(),
          ...phaseKeys,
        }),
      )
      .min(1)
      .optional()
      .meta({ description: 'one after the other; each has the settings above where it has none of its own' }),
    qps: z
      .number()
      .int()
      .min(1)
      .max(1024)
      .optional()
      .meta({ description: 'queue pairs of each type to each server; 1' }),
    mtu: z.union([z.literal(256), z.literal(512), z.literal(1024), z.literal(2048), z.literal(4096)]).optional(),
    depth: z
      .number()
      .int()
      .min(1)
      .max(8192)
      .optional()
      .meta({ description: 'outstanding requests of a queue pair; 128' }),
    timeout: z.number().int().min(0).max(31).optional().meta({ description: 'ACK timeout 4.096 µs · 2^n; 14' }),
    retries: z.number().int().min(0).max(7).optional().meta({ description: 'of a packet without ACK; 7' }),
    rnrRetries: z.number().int().min(0).max(7).optional().meta({ description: 'after an RNR NAK; 7 is without end' }),
    faults: faults.optional(),
  })
  .meta({ title: 'Verbena traffic', description: 'What `verbena traffic client` generates.' })
