/** The scripts of dist/completion/ in the shells that are installed; bash always is where the tests run. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verbena } from '../cli/in-process.ts'
import { root, textOf } from './markdown.ts'

const installed = (program: string): boolean => spawnSync(program, ['--version']).status === 0

const folder = mkdtempSync(join(tmpdir(), 'verbena-completion-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(!installed('bash'))('bash', () => {
  /** What is typed, and what is offered for it. */
  const cases: Record<string, string[]> = {
    'verbena tr': ['trace', 'traffic'],
    'verbena trace ': ['check', 'show', 'info', 'page', 'convert'],
    'verbena perf send_l': ['send_lat'],
    'verbena rping --tim': ['--timeout'],
    'verbena perf send_bw -c ': ['RC', 'UC', 'UD'],
    'verbena perf write_bw -c U': ['UC'],
    'verbena perf send_lat -s 8 --de': ['--device'],
    'verbena bench latency --service RC,U': ['RC,UC', 'RC,UD'],
    'verbena trace convert --format pcapn': ['pcapng'],
    'verbena rc_pingpong -d shm': ['shm0', 'shm:lab'],
    'verbena rc_pingpong -d shm:': ['lab'],
    'verbena bench latency --ib-dev ro': ['roce'],
    'verbena ibv_rc_pingpong --ib-dev ro': ['roce'],
    'verbena rc_pingpong -d roce:127.0.0.1 --ch': ['--chk'],
    'verbena completion ': ['bash', 'zsh', 'fish'],
    'verbena trace show one': ['one.pcap'],
    'verbena nonsense ': [],
  }
  const offered = new Map<string, string[]>()

  beforeAll(() => {
    const stub = join(folder, 'verbena')
    writeFileSync(stub, '#!/bin/sh\nprintf "device  node GUID\\nshm0  1\\nshm:lab  2\\nroce  3\\n"\n')
    chmodSync(stub, 0o755)
    writeFileSync(join(folder, 'one.pcap'), '')
    const script = `source ${root}dist/completion/verbena.bash
      COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
      while IFS= read -r COMP_LINE; do
        COMP_POINT=\${#COMP_LINE} COMPREPLY=()
        _verbena
        printf '%s\\t' "\${COMPREPLY[@]}"; printf '\\n'
      done`
    const input = `${Object.keys(cases).join('\n')}\n`
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
    const text = execFileSync('bash', ['--norc', '-c', script], { input, env, cwd: folder, encoding: 'utf8' })
    text.split('\n').forEach((line, i) => {
      const typed = Object.keys(cases)[i]
      if (typed !== undefined) offered.set(typed, line.split('\t').filter(Boolean))
    })
  })

  it.each(Object.entries(cases))('%s', (typed, expected) => expect(offered.get(typed)).toEqual(expected))
})

it.each(['zsh', 'fish'].map((shell) => [shell, installed(shell)] as const))(
  'the script of %s is sound',
  (shell, there) => {
    const text = textOf(`dist/completion/verbena.${shell}`)
    for (const word of ['rc_pingpong', 'send_lat', '--gid-index', 'RC', 'verbena devices'])
      expect(text).toContain(word.replace(/^--/, ''))
    if (there) expect(spawnSync(shell, ['-n', `${root}dist/completion/verbena.${shell}`]).status).toBe(0)
  },
)

it.each(['bash', 'zsh', 'fish'])('verbena completion %s prints the script', async (shell) => {
  expect(await verbena('completion', shell)).toEqual({
    code: 0,
    stdout: textOf(`dist/completion/verbena.${shell}`),
    stderr: '',
  })
})

it('verbena completion says which shells there are', async () => {
  const { code, stderr } = await verbena('completion', 'tcsh')
  expect([code, stderr]).toEqual([2, expect.stringContaining("'tcsh' is not valid. Expected bash, zsh or fish")])
})
