/** examples/services: systemd finds nothing wrong with the units, and verbena has the commands and options that they run. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { verbena } from '../cli/in-process.ts'

const folder = fileURLToPath(new URL('../../examples/services/', import.meta.url))
const units = readdirSync(folder).filter((name) => name.endsWith('.service'))
const scratch = mkdtempSync(join(tmpdir(), 'verbena-units-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const noSystemd = spawnSync('systemd-analyze', ['--version']).status !== 0

describe.each(units)('%s', (name) => {
  const text = readFileSync(join(folder, name), 'utf8')

  it('runs a command that there is, with options that it has', async () => {
    const [, command] = /^ExecStart=verbena (.*)$/m.exec(text)!
    const words = command!.split(' ')
    const options = words.filter((word) => word.startsWith('--'))
    const path = words.slice(0, words.indexOf(options[0]!))
    const { code, stdout } = await verbena(...path, '--help')
    expect(code).toBe(0)
    for (const option of options) expect(stdout).toMatch(new RegExp(`${option}\\b`))
  })

  it.skipIf(noSystemd)('is a unit that systemd accepts', () => {
    // It looks for the program, which is not installed here.
    const unit = join(scratch, name.replace('@.', '@10.0.0.2.'))
    writeFileSync(unit, text.replace('ExecStart=verbena', `ExecStart=${process.execPath}`))
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
  })
})

it('has units', () => expect(units.length).toBe(3))
