/** `verbena traffic server`: sends the flows that clients request. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { Command } from 'commander'
import { endWith, exitCodes, interruptible, note, printFailure, printJson, version } from '../../cli/terminal/index.ts'
import { entryModule } from '../../memory/index.ts'
import { Control, type ServerCounts } from '../../traffic/run/index.ts'
import {
  addDeviceOption,
  addGidOption,
  apart,
  callThread,
  defaultPort,
  EndError,
  meetingPlace,
  Peer,
  parseGidIndex,
  parseInteger,
  UsageError,
  Wire,
} from '../kit/index.ts'
import type { EndOptions } from './end.ts'
import { expect, protocolVersion, say } from './protocol.ts'
import type { ServerOpen, ServerOpened, ServerResult } from './server-thread.ts'

const help = `
A server takes any number of clients and does not end by itself, unless --once is given. The client's configuration has all other
settings: types of queue pairs, sizes, rates. READs and atomics of clients access memory of the server without its program.

Exit codes: 0 with --once if the client has ended in order, else 1; Ctrl-C ends it with 130.

Examples:
  verbena traffic server -d shm:lab                     for \`verbena traffic client web.yaml -d shm:lab\`
  verbena traffic server -d roce:10.0.0.2 --port 18600
  verbena traffic server --once --json`

interface Options {
  device?: string
  ibPort?: string
  gidIndex?: string
  port?: string
  source?: string
  once?: boolean
  json?: boolean
}

export function configure(command: Command): void {
  addDeviceOption(command, { fallback: meetingPlace })
  addGidOption(command, '-x')
    .description('Respond to requests of traffic clients with flows of the requested size.')
    .option('-i, --ib-port <port>', 'port of the adapter (default: 1)')
    .option('-p, --port <port>', `TCP port (default: ${defaultPort})`)
    .option('--source <address>', 'own address to listen on (default: any)')
    .option('--once', 'end after one client')
    .option('--json', 'print one JSON document for each client that has ended, on a line')
    .addHelpText('after', help)
    .action(async (options: Options) => {
      const end: EndOptions = {
        ...(options.device ? { device: options.device } : {}),
        ibPort: parseInteger('-i', options.ibPort, 1, 1, 255),
        gidIndex: parseGidIndex('-x', options.gidIndex),
      }
      await new TrafficServer(end, options).listen(parseInteger('-p', options.port, defaultPort, 1, 65535))
    })
}

const callMs = 60_000
const answerMs = 30_000
const forever = Number.POSITIVE_INFINITY
/** Maximum number of sessions; each has a thread. */
const mostSessions = 256

class TrafficServer {
  readonly #end: EndOptions
  readonly #options: Options
  readonly #interruption = interruptible('', { isService: true })
  readonly #sessions = new Set<Promise<void>>()
  #failed = false

  constructor(end: EndOptions, options: Options) {
    this.#end = end
    this.#options = options
  }

  async listen(port: number): Promise<void> {
    const { source, once: single } = this.#options
    const { signal } = this.#interruption
    const server = createServer()
    const finished = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve())
      server.on('connection', (socket: Socket) => {
        if (single) server.close()
        const session = this.#serve(new Wire(socket)).finally(() => {
          this.#sessions.delete(session)
          if (single) resolve()
        })
        this.#sessions.add(session)
      })
    })
    try {
      server.listen({ port, ...(source === undefined ? {} : { host: source }) })
      await once(server, 'listening')
    } catch (error) {
      const { code = 'ELISTEN', message } = error as NodeJS.ErrnoException
      const why = code === 'EADDRINUSE' ? 'another server runs here; choose another port with -p' : message
      throw new EndError(code, `TCP port ${port}: ${why}`)
    }
    note(`listening on port ${port}`)
    if (signal.aborted) server.close()
    else await finished
    server.close()
    await Promise.all(this.#sessions)
    this.#interruption.dispose()
    endWith(this.#interruption.exitCode() ?? (this.#failed ? exitCodes.failed : exitCodes.done))
  }

  async #serve(wire: Wire): Promise<void> {
    const { peer } = wire
    try {
      if (this.#sessions.size >= mostSessions) throw new Error(`there are ${mostSessions} clients already`)
      const { counts, error } = await this.#session(wire)
      this.#ended(peer, counts, error)
      if (error === '' && !wire.ended) await say(wire, { type: 'done', counts })
    } catch (error) {
      this.#failed = true
      const { message } = error as Error
      printFailure(`${peer}: ${message}`)
      if (!wire.ended) await say(wire, { type: 'error', message: message.slice(0, 2000) }).catch(() => {})
    } finally {
      wire.close()
    }
  }

  async #session(wire: Wire): Promise<ServerResult> {
    const hello = await expect(wire, 'hello', answerMs)
    if (hello.protocol !== protocolVersion)
      throw new Error(`the client is of Verbena ${hello.verbena}, whose protocol this one, ${version}, does not speak`)
    const control = new Control(0)
    const thread = new Peer('traffic', entryModule(import.meta.url, './server-thread'), { control: control.buffer })
    const { signal } = this.#interruption
    const stop = (): void => control.stop()
    signal.addEventListener('abort', stop)
    try {
      const asked: ServerOpen = {
        end: this.#end,
        plan: hello.plan,
        client: hello.address,
        ...{ sameHost: wire.sameHost, rdmaCm: hello.rdmaCm },
      }
      const { address, mtu, end, cm } = await callThread<ServerOpened>(thread, 'open', asked, callMs)
      const why = apart(address.device, hello.address.device)
      if (why !== undefined) throw new UsageError('-d', why)
      await say(wire, { type: 'welcome', verbena: version, address, mtu, end, cm })
      const connect = await expect(wire, 'connect', answerMs)
      await callThread(thread, 'connect', connect.end, callMs)
      await say(wire, { type: 'ready' })
      const running = callThread<ServerResult>(thread, 'run', null, forever)
      // The client has ended, with a `bye` or without.
      let gone = ''
      const listening = expect(wire, 'bye', forever)
        .catch((error: Error) => {
          gone = error.message
        })
        .finally(stop)
      const result = await running
      if (result.error !== '') throw new Error(result.error)
      // If this server ends first, the client detects it by the end of the connection.
      if (!signal.aborted) await listening
      await callThread(thread, 'close', null, callMs)
      return gone === '' || signal.aborted ? result : { ...result, error: gone }
    } finally {
      signal.removeEventListener('abort', stop)
      await thread.terminate()
    }
  }

  #ended(peer: string, counts: ServerCounts, error: string): void {
    if (error !== '') this.#failed = true
    if (this.#options.json) printJson({ client: peer, ...counts, ...(error === '' ? {} : { error }) })
    else note(`${peer}: ${counts.requests} requests, ${counts.bytes} bytes${error === '' ? '' : `; ${error}`}`)
  }
}
