/** Counters for Prometheus over HTTP: read when they are asked for. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { endWith, exitCodes, interruptible, note } from '../../cli/terminal/index.ts'
import { type HostOptions, prometheusText, readHost } from '../../collect/index.ts'
import { metricsType } from '../../counters/index.ts'
import { integer, UsageError } from '../kit/index.ts'

export interface Listening {
  host: string
  port: number
}

/** `9879`, `0.0.0.0:9879`, `[::1]:9879`; port 0 is any free one. */
export function listenOption(text: string): Listening {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]:|([^:]+):)?(\d+)$/.exec(text) ?? []
  const port = integer(0, 65_535)(digits)
  if (port === undefined)
    throw new UsageError('--listen', `'${text}' is not valid. Expected a port, for example: --listen 9879`)
  return { host: bracketed ?? plain ?? '127.0.0.1', port }
}

/** Serves until it is interrupted. */
export async function listenForScrapes({ host, port }: Listening, options: HostOptions): Promise<void> {
  const stop = interruptible('')
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    if (request.method !== 'GET' && request.method !== 'HEAD') response.writeHead(405).end()
    else if (pathname === '/metrics')
      response.writeHead(200, { 'Content-Type': metricsType }).end(prometheusText(await readHost(options)))
    else if (pathname === '/')
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<a href="/metrics">metrics</a>\n')
    else response.writeHead(404).end()
  })
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    stop.dispose()
    throw new UsageError('--listen', (error as Error).message)
  }
  const { port: bound } = server.address() as AddressInfo
  note(`Serving counters at http://${host.includes(':') ? `[${host}]` : host}:${bound}/metrics; Ctrl-C ends it.`)
  if (!stop.signal.aborted) await once(stop.signal, 'abort')
  server.close()
  server.closeAllConnections()
  stop.dispose()
  endWith(stop.exitCode() ?? exitCodes.done)
}
