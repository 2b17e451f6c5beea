/** The table of states itself: it is complete, it says one thing for each case, and the documentation shows it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type CmFigure, cmDiagram, cmStates, cmTransitions, cmTriggers, dropReasons } from '../../src/cm/ib/index.ts'

const rowsFor = (state: string, trigger: string): typeof cmTransitions =>
  cmTransitions.filter(({ from, on }) => on === trigger && (from as readonly string[]).includes(state))

test('what happens in every state on every call, message and deadline', () => {
  const lines = cmStates.flatMap((state) =>
    cmTriggers.flatMap((trigger) =>
      rowsFor(state, trigger).map(({ when, to, send, timer, event, duplicate }) => {
        const parts = [
          when && `if ${when}`,
          to === undefined ? 'stays' : `-> ${to}`,
          send && `send ${send}`,
          timer && `timer ${timer}`,
          event && `tell ${event}`,
          duplicate && 'duplicate',
        ]
        return `${state}, ${trigger}: ${parts.filter(Boolean).join('; ')}`
      }),
    ),
  )
  expect(lines.join('\n')).toMatchSnapshot()
})

test('conditions come before the row without one, and there is one such row at most', () => {
  for (const state of cmStates)
    for (const trigger of cmTriggers) {
      const conditions = rowsFor(state, trigger).map(({ when }) => when)
      expect(new Set(conditions).size, `${state}, ${trigger}`).toBe(conditions.length)
      if (conditions.includes(undefined)) expect(conditions.indexOf(undefined)).toBe(conditions.length - 1)
    }
})

test('every state can be reached, and every state but IDLE can be closed and left', () => {
  const reached = new Set<string>(['IDLE'])
  for (let before = 0; before < reached.size; ) {
    before = reached.size
    for (const { from, to } of cmTransitions) if (to && from.some((state) => reached.has(state))) reached.add(to)
  }
  expect([...reached].sort()).toEqual([...cmStates].sort())
  for (const state of cmStates.slice(1)) {
    expect(rowsFor(state, 'close'), state).not.toEqual([])
    expect(cmTransitions.some(({ from, to }) => from.includes(state) && to !== undefined)).toBe(true)
  }
})

test('where a timer runs, it is known what happens when it ends', () => {
  // Timers that a state is entered with, or that go on from the state before.
  const timed = new Set<string>()
  for (let before = -1; before < timed.size; ) {
    before = timed.size
    for (const { from, to, timer } of cmTransitions)
      for (const state of from) {
        const after = to ?? state
        const runs = timer === undefined ? timed.has(state) : timer !== 'stop'
        if (runs && after !== 'IDLE') timed.add(after)
      }
  }
  expect([...timed].sort()).toMatchInlineSnapshot(`
    [
      "ANSWERED",
      "DREQ_SENT",
      "LAP_SENT",
      "MRA_LAP_RCVD",
      "MRA_REP_RCVD",
      "MRA_REQ_RCVD",
      "MRA_REQ_SENT",
      "REP_SENT",
      "REQ_RCVD",
      "REQ_SENT",
      "SIDR_REQ_RCVD",
      "SIDR_REQ_SENT",
      "TIMEWAIT",
    ]
  `)
  for (const state of timed) {
    expect(rowsFor(state, 'expired'), state).not.toEqual([])
    const once = ['TIMEWAIT', 'ANSWERED', 'REQ_RCVD', 'MRA_REQ_SENT', 'SIDR_REQ_RCVD'].includes(state)
    expect(rowsFor(state, 'timeout').length, state).toBe(once ? 0 : 1)
  }
})

test('docs/internals/cm.md shows the diagrams of the table', () => {
  const path = join(import.meta.dirname, '../../docs/internals/cm.md')
  const before = readFileSync(path, 'utf8')
  const after = before.replace(/(<!-- figure: ([\w, ]+) -->\n```mermaid\n)[^`]*(```)/g, (_, head, figures, tail) => {
    const names = figures.split(', ') as CmFigure[]
    return `${head}${cmDiagram(names)}\n${tail}`
  })
  if (process.env.VERBENA_UPDATE_DOCS === '1') writeFileSync(path, after)
  const hint = 'write it anew with: VERBENA_UPDATE_DOCS=1 npx vitest run test/cm/states.test.ts'
  expect(process.env.VERBENA_UPDATE_DOCS === '1' ? after : before, hint).toBe(after)
  for (const figure of ['active', 'bothActive', 'passive', 'release', 'alternatePath', 'sidr'])
    expect(after).toMatch(new RegExp(`<!-- figure: [^>]*\\b${figure}\\b`))
})

test('docs/internals/cm.md has every reason for a dropped message', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/internals/cm.md'), 'utf8')
  for (const [reason, words] of Object.entries(dropReasons)) expect(text).toContain(`| \`${reason}\` | ${words} |`)
})
