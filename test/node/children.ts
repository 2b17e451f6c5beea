/** Starts the programs of `apps/` and collects what they print. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startable } from '../entries.ts'
import { programMs } from '../patience.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))

export interface How {
  /** Options of Node itself. */
  node?: string[]
  env?: Record<string, string>
}

/** The preload from the sources, over the fake transport. */
const { file, execArgv } = startable(new URL('./fake-preload.ts', import.meta.url))
export const overFake: How = { node: [...execArgv, '--import', file] }

/** The preload as users start it, over a device. A slow machine is no reason to fall back. */
export function overDevice(device: string, rules: string): How {
  const env = { VERBENA_DEVICE: device, VERBENA_PRELOAD: rules, VERBENA_PRELOAD_TIMEOUT_MS: '40000' }
  return { node: ['--import', 'verbena/preload'], env }
}

/** A server of `apps/` in a process of its own: its port, and how to end it. */
export async function serve(
  app: string,
  host: string,
  how: How,
): Promise<{ port: string; stop: () => Promise<Ran>; child: ChildProcess }> {
  const child = start([app, 'serve', host], how)
  const ended = finished(child)
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout!.on('data', (text: string) => {
      const match = /^port (\d+)$/m.exec(text)
      if (match) resolve(match[1]!)
    })
    void ended.then(({ err }) => reject(new Error(`the server ended: ${err.join(' ')}`)))
  })
  const stop = (): Promise<Ran> => {
    child.stdin!.end()
    return ended
  }
  return { port, stop, child }
}

export interface Ran {
  out: string[]
  err: string[]
  code: number | null
}

export function start([app, ...args]: string[], how: How = {}): ChildProcess {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VERBENA_')))
  const log = how.node ? { VERBENA_PRELOAD_LOG: '1' } : {}
  return spawn(process.execPath, [...(how.node ?? []), `${here}apps/${app}`, ...args], {
    cwd: root,
    env: { ...inherited, ...log, ...how.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

/** What a child prints, when it has ended; it is killed if it has not in time. */
export async function finished(child: ChildProcess): Promise<Ran> {
  let out = ''
  let err = ''
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), programMs)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  return { out: lines(out), err: lines(err), code }
}

export function run(command: string[], how: How = {}): Promise<Ran> {
  return finished(start(command, how))
}

const plainRuns = new Map<string, Promise<string[]>>()

/** What a program of `apps/` prints as it is, over TCP. It prints the same every time, so it runs once. */
export function plainOutput(app: string): Promise<string[]> {
  const known = plainRuns.get(app)
  if (known) return known
  const running = run([app]).then(({ out, err, code }) => {
    if (code !== 0) throw new Error(`${app} alone ended with ${code}: ${err.join(' ')}`)
    return out
  })
  plainRuns.set(app, running)
  return running
}
