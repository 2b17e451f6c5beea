/** Metrics over HTTP for Prometheus, read when they are asked for: GET /metrics. */
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { metricsType } from '../../counters/index.ts'
import { Connections, Guard, originOf, serverLimits } from '../../web/index.ts'
import { isLoopback, type Listening } from './listening.ts'
import { UsageError } from './usage.ts'

export interface ScrapesOptions extends Listening {
  /** The option that an error names. */
  flag: string
  /** What whoever asks must know (`Authorization: Bearer …`); null: everybody may ask who reaches the address, on loopback no page of another site. */
  token: string | null
  text(): string | Promise<string>
}

export class Scrapes {
  readonly #host: string
  readonly #server: Server
  readonly #connections: Connections

  private constructor({ host, token, text }: ScrapesOptions) {
    this.#host = host
    const guard = token === null && !isLoopback(host) ? null : new Guard(token)
    this.#server = createServer(serverLimits, (request, response) => {
      // Whatever was asked for: not all of it is an address.
      const [path] = (request.url ?? '/').split('?', 1)
      const { host, origin, authorization } = request.headers
      const rejection = guard?.check({ host, origin, authorization, token: undefined }) ?? null
      if (rejection !== null)
        response
          .writeHead(rejection.status, rejection.status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {})
          .end(`${rejection.message}\n`)
      else if (request.method !== 'GET' && request.method !== 'HEAD') response.writeHead(405).end()
      else if (path === '/metrics') void answer(response, text)
      else if (path === '/')
        response.writeHead(200, { 'Content-Type': 'text/html' }).end('<a href="/metrics">metrics</a>\n')
      else response.writeHead(404).end()
    })
    this.#connections = new Connections(this.#server)
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

  async close(): Promise<void> {
    await this.#connections.close()
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
