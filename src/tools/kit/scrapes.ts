/** Metrics over HTTP for Prometheus, read when they are asked for: GET /metrics. */
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { metricsType } from '../../counters/index.ts'
import { originOf, Token } from '../../web/index.ts'
import { integer } from './option.ts'
import { UsageError } from './usage.ts'

export interface Listening {
  host: string
  port: number
}

/** `9879`, `0.0.0.0:9879`, `[::1]:9879`; port 0 is any free one. */
export function listenAddress(flag: string, text: string): Listening {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]:|([^:]+):)?(\d+)$/.exec(text) ?? []
  const port = integer(0, 65_535)(digits)
  if (port === undefined)
    throw new UsageError(flag, `'${text}' is not valid. Expected a port, for example: ${flag} 9879`)
  return { host: bracketed ?? plain ?? '127.0.0.1', port }
}

export interface ScrapesOptions extends Listening {
  /** The option that an error names. */
  flag: string
  /** What whoever asks must know (`Authorization: Bearer …`); without it, anybody may ask. */
  token?: string
  text(): string | Promise<string>
}

export class Scrapes {
  readonly #host: string
  readonly #server: Server

  private constructor({ host, token, text }: ScrapesOptions) {
    this.#host = host
    const known = token === undefined ? null : new Token(token)
    this.#server = createServer((request, response) => {
      // Whatever was asked for: not all of it is an address.
      const [path] = (request.url ?? '/').split('?', 1)
      if (known?.isBearer(request.headers.authorization) === false)
        response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end('the token is missing or wrong\n')
      else if (request.method !== 'GET' && request.method !== 'HEAD') response.writeHead(405).end()
      else if (path === '/metrics') void answer(response, text)
      else if (path === '/')
        response.writeHead(200, { 'Content-Type': 'text/html' }).end('<a href="/metrics">metrics</a>\n')
      else response.writeHead(404).end()
    })
  }

  /** Throws UsageError if it cannot listen there. */
  static async start(options: ScrapesOptions): Promise<Scrapes> {
    const scrapes = new Scrapes(options)
    try {
      scrapes.#server.listen(options.port, options.host)
      await once(scrapes.#server, 'listening')
      return scrapes
    } catch (error) {
      throw new UsageError(options.flag, (error as Error).message)
    }
  }

  /** Of the metrics. */
  get url(): string {
    return `${originOf(this.#server, this.#host)}/metrics`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

async function answer(response: ServerResponse, text: ScrapesOptions['text']): Promise<void> {
  try {
    const metrics = await text()
    response.writeHead(200, { 'Content-Type': metricsType }).end(metrics)
  } catch (error) {
    response.writeHead(500).end(`${(error as Error).message}\n`)
  }
}
