/** Starts the ranks of rank.process.ts. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { startable } from '../entries.ts'
import { programMs } from '../patience.ts'

const { file, execArgv } = startable(new URL('./rank.process.ts', import.meta.url))

export interface Outcome {
  code: number | null
  out: string
  err: string
}

export async function start(size: number, mode: string): Promise<Outcome> {
  const child = spawn(process.execPath, [...execArgv, file, String(size), mode], { timeout: programMs })
  const texts = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.err += text
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...texts }
}

export const segments = (): string[] =>
  readdirSync('/dev/shm').filter((name) => name.startsWith('verbena-collectives-'))
