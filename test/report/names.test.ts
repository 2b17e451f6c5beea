/** What lines, panels and sets are called: what tells them apart, and nothing else. */
import { describe, expect, it } from 'vitest'
import type { LatencySet } from '../../src/report/index.ts'
import type { Entry } from '../../src/report/settings.ts'
import { namesOf, settingNames, sharedLabel } from '../../src/report/settings.ts'

const usual = { service: 'RC', op: 'send', poll: 'busy', inline: false, stamp: 'submit', pause: 2000, engine: 'poster' }

function entries(...changes: object[]): Entry<LatencySet>[] {
  return changes.map(
    (change) => ({ run: { label: 'run' }, set: { settings: { ...usual, ...change } } }) as unknown as Entry<LatencySet>,
  )
}

function named(of: Entry<LatencySet>[]): { names: string[]; usual: string } {
  const names = namesOf(of, settingNames(of).varying)
  return { names: of.map((entry) => names.of(entry)), usual: names.usual }
}

describe('a name', () => {
  it('leaves out what follows from the rest, and what most have', () => {
    const slow = { engine: 'thread', pause: 300_000 }
    const of = entries({}, { service: 'UC' }, { service: 'UD' }, { poll: 'event' }, slow, { ...slow, stamp: 'send' })
    expect(named(of)).toEqual({
      names: ['RC', 'UC', 'UD', 'RC, poll event', 'RC, engine thread', 'RC, stamp send, engine thread'],
      usual: 'poll busy, stamp submit, engine poster',
    })
    expect(sharedLabel(of)).toBe('send')
  })

  it('says all where none is usual, and the usual where there is nothing else to say', () => {
    expect(named(entries({ stamp: 'send' }, {}))).toEqual({ names: ['stamp send', 'stamp submit'], usual: '' })
    expect(named(entries({ stamp: 'send' }, { inline: true }, {}))).toEqual({
      names: ['stamp send', 'inline', 'no inline, stamp submit'],
      usual: 'no inline, stamp submit',
    })
  })

  it('has sizes always, and pauses with their unit', () => {
    expect(named(entries({ size: 8 }, { size: 8, pause: 300_000 }, { size: 64 }))).toEqual({
      names: ['size 8', 'size 8, pause 300 µs', 'size 64'],
      usual: 'pause 2 µs',
    })
  })

  it('is different for different settings', () => {
    const values = ['poll', 'inline', 'stamp', 'engine', 'service']
    const of = Array.from(
      { length: 32 },
      (_, bits) => entries(Object.fromEntries(values.map((key, i) => [key, (bits >> i) & 1 ? 'a' : 'b'])))[0]!,
    )
    for (const some of [of, of.slice(0, 11), of.filter((_, i) => i % 5 !== 0)])
      expect(new Set(named(some).names).size).toBe(some.length)
  })
})
