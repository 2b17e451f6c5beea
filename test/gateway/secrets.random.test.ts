/** Secrets of a configuration: what is shown does not have them, and what is shown can be put back. */
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Secrets, type Settings } from '../../src/gateway/index.ts'
import { secretSettings } from '../../src/gateway/nodes/index.ts'
import { holds } from '../property.ts'

const secrets = new Secrets(secretSettings)

const whole: Settings = {
  http: { port: 8080, token: 'S-token-of-the-api' },
  nodes: {
    amqp: { type: 'amqp', uri: 'amqp://joe:S-uri@host/v', exchange: 'e' },
    redis: { type: 'redis', uri: 'tcp://S-only@host:6379/0' },
    parts: { type: 'mqtt', username: 'me', password: 'S-password', in: { subscribe: 'x' } },
    kafka: { type: 'kafka', sasl: { username: 'me', password: 'S-sasl' } },
    zeromq: { type: 'zeromq', curve: { public_key: 'public', secret_key: 'S-curve' } },
    exec: { type: 'exec', exec: 'curl http://me:S-line@host/', environment: { LANG: 'S-lang', PIN: 1234 } },
    web: { type: 'websocket', destinations: ['ws://host/n?token=S-query', 'ws://a/n', 'ws://me:S-p@ss/w:rd@host/n'] },
    unknown: { type: 'nothing-known', enabled: false, key: 'S-unknown', deep: [{ more: 'S-deep' }] },
  },
  paths: [{ in: 'web', hooks: [{ type: 'print', uri: 'http://me:S-hook@host' }] }],
}

describe('what is shown', () => {
  it('has no secrets, and the rest as it was', () => {
    const shown = secrets.shown(whole) as { nodes: Record<string, Settings> }
    expect(JSON.stringify(shown)).not.toMatch(/S-|1234/)
    const { amqp, redis, exec, web } = shown.nodes
    expect(amqp).toEqual({ type: 'amqp', uri: 'amqp://***@host/v', exchange: 'e' })
    expect(redis!.uri).toBe('tcp://***@host:6379/0')
    expect(exec).toMatchObject({ exec: 'curl http://***@host/', environment: { LANG: '***', PIN: '***' } })
    expect(web!.destinations).toEqual(['ws://host/n?token=***', 'ws://a/n', 'ws://***@host/n'])
  })

  it('is what it was when it is put back', () => {
    expect(secrets.restored(secrets.shown(whole) as Settings, whole)).toEqual(whole)
  })

  it('can be put back in part, in another order, and beside what is new', () => {
    const { nodes, paths } = secrets.shown(whole) as { nodes: Record<string, Settings>; paths: Settings[] }
    const { parts, web } = nodes
    const [query, , user] = web!.destinations as string[]
    const given = { nodes: { parts, web: { ...web, destinations: [user, query] }, fresh: { type: 'loopback' } }, paths }
    const { nodes: all } = whole as { nodes: Record<string, Settings> }
    const destinations = ['ws://me:S-p@ss/w:rd@host/n', 'ws://host/n?token=S-query']
    expect(secrets.restored(given, whole)).toEqual({
      nodes: { parts: all.parts, web: { ...all.web, destinations }, fresh: { type: 'loopback' } },
      paths: whole.paths,
    })
  })

  const refused: [string, Settings, unknown][] = [
    ['new', { type: 'mqtt', password: '***' }, undefined],
    ['of another type', { type: 'redis', password: '***' }, { type: 'mqtt', password: 'hush' }],
    ['an address of another host', { type: 'amqp', uri: 'amqp://***@b/' }, { type: 'amqp', uri: 'amqp://u:p@a/' }],
    ['one that had none', { type: 'mqtt', password: '***' }, { type: 'mqtt' }],
    ['one that was a group', { type: 'mqtt', password: '***' }, { type: 'mqtt', password: { a: 'b' } }],
    [
      'one of several that look the same',
      { type: 'websocket', destinations: ['ws://***@a/n'] },
      { type: 'websocket', destinations: ['ws://u:1@a/n', 'ws://u:2@a/n'] },
    ],
  ]
  it.each(refused)('is not a secret itself: %s', (_, node, before) => {
    expect(() => secrets.restoredNode(node, before)).toThrow(/the node\.\w+(\[0\])?: there is no secret that \*\*\*/)
  })

  it('may be what a setting is that is no secret', () => {
    const node = { type: 'file', uri: '***' }
    expect(secrets.restoredNode(node, undefined)).toEqual(node)
  })

  it('of any settings can be put back', async () => {
    const text = fc.constantFrom('a', '***', 'ws://u:p@h/n', 'ws://***@h/n', 'x?token=abc', 'http://h/', 'u@h')
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        text,
        fc.integer(),
        fc.constant(null),
        fc.array(tie('any')),
        fc.dictionary(fc.constantFrom('a', 'b'), tie('any')),
      ),
    })).any
    const type = fc.constantFrom('mqtt', 'exec', 'kafka', 'websocket', 'none')
    const node = fc.record({
      type,
      password: value,
      environment: value,
      sasl: fc.record({ password: value }),
      destinations: fc.array(text),
    })
    holds(
      fc.property(node, (settings) => {
        const shown = secrets.shownNode(settings) as Settings
        expect(JSON.stringify(shown)).not.toMatch(/u:p@|token=abc/)
        let back: unknown
        try {
          back = secrets.restoredNode(shown, settings)
        } catch {
          // In a list, what looks the same cannot always be told apart.
          return
        }
        expect(back).toEqual(settings)
      }),
      200,
    )
  })
})

it('texts of nodes are without them, however they are written', () => {
  const scrub = secrets.scrubber(whole)
  const texts = [
    'connect S-password',
    'to amqp://joe:S-uri@host failed',
    'user me:S-sasl',
    'password S-only',
    'ws://new:pass@host',
  ]
  expect(texts.map(scrub)).toEqual([
    'connect ***',
    'to amqp://***@host failed',
    'user me:***',
    'password ***',
    'ws://***@host',
  ])
})

it('takes time linear in the length of a text', () => {
  const long = { type: 'file', uri: 'a://'.repeat(250_000), other: `${'a'.repeat(1e6)}?token=` }
  const started = process.cpuUsage().user
  secrets.shownNode(long)
  secrets.scrubber({ nodes: { long } })('nothing')
  expect(process.cpuUsage().user - started).toBeLessThan(2e6)
})

it('every type of node says which of its settings are secret', () => {
  const folder = new URL('../../src/gateway/nodes/', import.meta.url)
  // Names of settings in the sources, which would be those of secrets.
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    if (!name.endsWith('.ts') || name === 'registry.ts') continue
    const text = readFileSync(new URL(name, folder), 'utf8')
    const type = name.split(/[/.]/)[0]!.replaceAll('-', '_')
    for (const [, key] of text.matchAll(/'((?:\w*_)?(?:password|passwd|token|private_key|secret_key))'/g))
      expect(
        secretSettings[type]?.some((path) => path.split('.').includes(key!)),
        `${name}: ${key}`,
      ).toBe(true)
  }
})
