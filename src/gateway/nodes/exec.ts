/**
 * A program: what is written goes to its standard input, what it prints is read. When it fails it is started again, after a while; when it
 * ends without an error, no more samples come.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Format, NodeContext, NodeType, RunningNode, SettingsReader, Source } from '../index.ts'
import { Backoff } from './kit/backoff.ts'
import { Counters } from './kit/counters.ts'
import { FramesOut } from './kit/frames-out.ts'
import { bytesReadBy } from './kit/group-reads.ts'
import { Inbox } from './kit/inbox.ts'
import { inboxNode } from './kit/inbox-node.ts'
import { formatSetting, noMoreSettings } from './kit/settings.ts'
import { StreamIn } from './kit/stream-in.ts'

interface ExecSettings {
  readonly format: Format
  readonly command: string
  readonly parameters: readonly string[]
  readonly folder: string | undefined
  readonly environment: Readonly<Record<string, string>>
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>

const frameLimit = 1 << 16
/** Bytes that the program may not have read yet; beyond that, samples for it are lost. */
const mostBehind = 1 << 20
/** Time for a program to end by itself, since it last took input, and again after SIGTERM. */
const endMs = 1000
/** Time for the same while it has not taken all that was written. */
const slowMs = 3000
/** Time between two looks at its progress in the end. */
const lookMs = 50
const longestLine = 1000

function execSettings(settings: SettingsReader): ExecSettings {
  const format = formatSetting(settings, 'villas.human')
  const exec = settings.strings('exec', [], 'tee log')
  const isLine = typeof settings.any('exec') === 'string'
  const shell = settings.boolean('shell', isLine)
  if (exec.length === 0 || exec[0] === '')
    settings.refuse('exec', 'a command, or the list of a program and its arguments', '["tee","log"]')
  if (shell && !isLine)
    settings.fail('exec: with shell = true it is a command in one string, for example "tee log"', 'exec')
  if (!shell && isLine)
    settings.fail(
      'exec: with shell = false it is a list of a program and its arguments, for example ["tee", "log"]',
      'exec',
    )
  // Every write goes to the program at once: it is a pipe.
  settings.boolean('flush', true)
  const folder = settings.has('working_directory') ? settings.string('working_directory', null, '/tmp') : undefined
  const group = settings.group('environment')
  const environment = Object.fromEntries(group.keys().map((key) => [key, group.string(key, null, 'VALUE')]))
  noMoreSettings(settings)
  const [command, parameters] = shell ? ['/bin/sh', ['-c', exec[0]!]] : [exec[0]!, exec.slice(1)]
  return { format, command, parameters, folder, environment }
}

class ExecNode implements RunningNode {
  readonly source: Source
  readonly destination: FramesOut
  state = 'started'
  readonly #context: NodeContext
  readonly #settings: ExecSettings
  readonly #counters: Counters
  readonly #inbox: ProgramInbox
  readonly #backoff: Backoff
  #child: Child | undefined
  #stopped = false
  /** Samples that the program's pipe has not taken yet. */
  #behind = 0
  /** True if it was written to. */
  #fed = false

  constructor(context: NodeContext, settings: ExecSettings) {
    const { format } = settings
    this.#context = context
    this.#settings = settings
    this.#counters = new Counters(context)
    this.#inbox = new ProgramInbox(context, format, this.#counters)
    this.source = this.#inbox
    const send = (frame: Uint8Array, count: number): boolean => this.#send(frame, count)
    this.destination = new FramesOut(context, format, this.#counters, { limit: frameLimit, send })
    this.#backoff = new Backoff(() => this.#start())
    this.#start()
  }

  counters(): Readonly<Record<string, number>> {
    return this.#counters.all
  }

  #start(): void {
    const { command, parameters, folder, environment } = this.#settings
    const began = performance.now()
    // A process group of its own, so that all that a shell has started can be ended.
    const child: Child = spawn(command, parameters, {
      cwd: folder,
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    this.#child = child
    this.#counters.add('starts')
    this.state = 'connected'
    // EPIPE: it has closed its input, or ended, which is reported below.
    child.stdin.on('error', () => {})
    new StreamIn(child.stdout, this.#inbox, () => this.#kill(child, 'SIGTERM'))
    this.#logLines(child.stderr)
    let why: string | undefined
    child.on('error', (error) => {
      why = error.message
    })
    child.on('close', (code, signal) => {
      if (this.#child === child) this.#child = undefined
      this.state = 'started'
      if (this.#stopped) return
      if (code === 0) {
        this.#context.log('info', `${command} has ended`)
        this.#inbox.finish()
        return
      }
      why ??= signal === null ? `exit code ${code}` : signal
      this.#counters.add('failures')
      this.#context.log('warn', `${command} has failed (${why}), and is started again`)
      if (performance.now() - began > 10_000) this.#backoff.reset()
      this.#backoff.schedule()
    })
  }

  #logLines(stream: Readable): void {
    let rest = ''
    stream.setEncoding('utf8')
    stream.on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!.slice(0, longestLine)
      for (const line of lines) this.#context.log('info', line.slice(0, longestLine))
    })
  }

  #send(frame: Uint8Array, count: number): boolean {
    const stdin = this.#child?.stdin
    if (!stdin?.writable) {
      this.#counters.warn('not_connected', 'the program does not run: samples are lost', count)
      return false
    }
    if (stdin.writableLength + frame.length > mostBehind) {
      this.#counters.warn('dropped', `the program is ${mostBehind >> 20} MiB behind: samples are lost`, count)
      return false
    }
    this.#fed = true
    this.#behind += count
    stdin.write(Uint8Array.from(frame), (error) => {
      this.#behind -= count
      if (error) this.#counters.warn('undelivered', 'the program ended before it had read all: samples are lost', count)
    })
    return true
  }

  /** Waits until it has ended, or has done nothing with its input for a while. */
  async #finishing(child: Child, isClosed: () => boolean): Promise<void> {
    let progress = Number.NaN
    let last = performance.now()
    while (!isClosed()) {
      const now = bytesReadBy(child.pid!) - child.stdin.writableLength
      if (now !== progress) last = performance.now()
      progress = now
      if (performance.now() - last > (this.#fed ? slowMs : endMs)) return
      await sleep(lookMs)
    }
  }

  #sayKilled(): void {
    const { command } = this.#settings
    const behind = this.#behind > 0 ? `${this.#behind} samples` : 'what is still in its pipe'
    this.#context.log(
      'warn',
      `${command} has read nothing for ${slowMs / 1000} s and is ended; ${behind} it has not taken`,
    )
  }

  #kill({ pid }: Child, signal: NodeJS.Signals): void {
    if (pid === undefined) return
    try {
      process.kill(-pid, signal)
    } catch {
      // It has just ended.
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#backoff.cancel()
    const child = this.#child
    if (child !== undefined) {
      let isClosed = false
      const closed = once(child, 'close').then(() => {
        isClosed = true
      })
      // Further output is discarded.
      child.stdout.removeAllListeners('data').resume()
      child.stdin.end()
      await this.#finishing(child, () => isClosed)
      if (!isClosed) {
        if (this.#fed) this.#sayKilled()
        this.#kill(child, 'SIGTERM')
        const timer = setTimeout(() => this.#kill(child, 'SIGKILL'), endMs)
        await closed
        clearTimeout(timer)
      }
      // Samples that it has not taken are counted.
      await nextTurn()
    }
    this.#inbox.stop()
    this.state = 'stopped'
  }
}

/** Ends when the program has, and all that it printed is read. */
class ProgramInbox extends Inbox {
  #finished = false

  finish(): void {
    this.#finished = true
    this.arrived()
  }

  get ended(): boolean {
    return this.#finished && this.isEmpty
  }
}

export const exec: NodeType = {
  name: 'exec',
  is: 'a program, by its standard input and output',
  parse(reader, common) {
    const settings = execSettings(reader)
    const { format } = settings
    return inboxNode(common, async (context) => new ExecNode(context, settings), { settings: reader, format })
  },
}
