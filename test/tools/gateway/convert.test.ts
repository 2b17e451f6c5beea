/** `verbena gateway convert` as a process: standard input to standard output, and how it ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { command } from '../../built.ts'
import { verbena } from '../../cli/in-process.ts'

const sound = '1.2(3)\t4\n'

function start(...args: string[]) {
  const child = spawn(process.execPath, [command, 'gateway', 'convert', ...args], {
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  const seen = { stdout: '', stderr: '' }
  child.stdout.setEncoding('latin1').on('data', (text: string) => (seen.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (seen.stderr += text))
  // A child that has ended reads no more.
  child.stdin.on('error', () => {})
  const ended = once(child, 'close').then(([code]) => ({ code, ...seen }))
  return { child, ended }
}

it('converts, says what it could not read and where, and fails for it', async () => {
  const { child, ended } = start('-o', '{"type":"csv","real_precision":1}', '-t', 'f')
  child.stdin.end(`${sound}nonsense\n2.0(4)\t5\t6\n`)
  expect(await ended).toEqual({
    code: 1,
    stdout: '# secs,nsecs,offset,sequence,signal0\n1,000000002,nan,3,4.0\n2,000000000,nan,4,5.0\n',
    stderr:
      'The input is malformed in one place:\n  line 2 (byte 9): it does not begin with seconds\n' +
      'One sample has more than 1 values; the others were dropped. See --types.\n',
  })
})

it('writes what came so far while the input is open; Ctrl-C ends it', async () => {
  const { child, ended } = start('-o', 'value', '-t', 'f')
  child.stdin.write(sound)
  await once(child.stdout, 'data')
  child.kill('SIGINT')
  expect(await ended).toEqual({ code: 130, stdout: '4.00000000000000000\n', stderr: '' })
})

it('a reader that goes away is no failure; one that is slow slows it down', async () => {
  const { child, ended } = start('-t', 'f')
  child.stdout.pause()
  const feed = (): void => {
    while (child.stdin.write(sound.repeat(10_000)));
  }
  child.stdin.on('drain', feed)
  feed()
  await once(child.stdout, 'readable')
  child.stdout.destroy()
  const { code, stderr } = await ended
  expect([code, stderr]).toEqual([0, ''])
})

it.each([
  [['-i', 'cvs'], "--input-format: 'cvs' is not known. Did you mean 'csv'?"],
  [['-o', '{"type":"csv"'], '--output-format: the settings are no JSON'],
  [['-o', '{"type":"csv","headr":true}'], "--output-format: csv has no setting 'headr'. Did you mean 'header'?"],
  [['-t', '8x'], "--types: '8x' does not describe signals"],
  [['-o', 'villas.web', '-t', 'c'], '--output-format: villas.web carries floats and integers only'],
])('%j is a usage error', async (args, expected) => {
  const { code, stderr } = await verbena('gateway', 'convert', ...args)
  expect([code, stderr]).toEqual([2, expect.stringContaining(expected)])
})
