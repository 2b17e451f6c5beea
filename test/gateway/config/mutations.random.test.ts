/** Mutated configurations are read, or refused by a `GatewayError` that names a file; nothing else is thrown, and reading ends. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { GatewayError } from '../../../src/gateway/index.ts'
import { loadText } from '../../../src/gateway/load/index.ts'
import { holds } from '../../property.ts'

const folder = fileURLToPath(new URL('examples/', import.meta.url))
const texts = readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
  entry.isFile() ? [[entry.name, readFileSync(join(folder, entry.name), 'utf8')] as const] : [],
)
const environment = { BROKER_HOST: 'broker', BROKER_PASSWORD: 'secret' }

/** What a mistake, or malice, puts into a file. */
const pieces = fc.oneof(
  fc.constantFrom(
    ...[
      '{',
      '}',
      '(',
      ')',
      '[',
      ']',
      '"',
      '=',
      ':',
      ';',
      ',',
      '\\',
      '\n',
      '#',
      '/*',
      '*/',
      '//',
      '${',
      '}',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the environment
      '${BROKER_HOST}',
    ],
    ...[
      '@include "common.conf"',
      '@include "*.conf"',
      '@include broker.json',
      '0x',
      '-',
      '1e999',
      '9007199254740993',
      'L',
      '.',
    ],
    ...[
      'true',
      'null',
      '__proto__',
      'constructor',
      'type',
      'nodes',
      'paths',
      'in',
      'signals = ',
      '"signals":',
      '\t',
      '- ',
      '&a *a',
    ],
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
)

/** Where, how much is taken away, what comes there, and from where something is copied. */
const mutation = fc.record({ at: fc.nat(), gone: fc.nat({ max: 40 }), piece: pieces, copy: fc.option(fc.nat()) })

function mutate(
  text: string,
  { at, gone, piece, copy }: typeof mutation extends fc.Arbitrary<infer T> ? T : never,
): string {
  const from = at % (text.length + 1)
  const put = copy === null ? piece : text.slice(copy % text.length, (copy % text.length) + gone)
  return text.slice(0, from) + put + text.slice(from + (copy === null ? gone : 0))
}

it('a configuration with mistakes is read, or refused with its place', () => {
  const found = { read: 0, refused: 0, wrong: 0 }
  holds(
    fc.property(
      fc.constantFrom(...texts),
      fc.array(mutation, { minLength: 1, maxLength: 6 }),
      ([name, text], mutations) => {
        const source = { name: join(folder, name), text: mutations.reduce(mutate, text) }
        try {
          const { config, errors } = loadText(source, environment)
          expect(structuredClone(config)).toBeTypeOf('object')
          for (const error of errors) {
            expect(error).toBeInstanceOf(GatewayError)
            expect(error.message).toMatch(/^\/.*:\d+: /)
          }
          found[errors.length === 0 ? 'read' : 'wrong']++
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error
          expect(error.message).toContain(folder)
          found.refused++
        }
      },
    ),
    1500,
  )
  // All three happen; otherwise the mutations would be too wild, or too tame.
  expect(Math.min(found.read, found.refused, found.wrong), JSON.stringify(found)).toBeGreaterThan(0)
})
