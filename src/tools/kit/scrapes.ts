/** Metrics over HTTP for Prometheus, read at each request: GET /metrics. */
import { metricsType } from '../../counters/index.ts'
import { Guard } from '../../web/index.ts'
import type { App, Served } from '../../web/serve/index.ts'
import { isLoopback, type Listening } from './listening.ts'
import { UsageError } from './usage.ts'

export interface ScrapesOptions extends Listening {
  /** Option that an error names. */
  flag: string
  /**
   * Token that a request must have (`Authorization: Bearer …`); null: any client that reaches the address is served, on loopback except
   * pages of another site.
   */
  token: string | null
  text(): string | Promise<string>
}

/** Serves the metrics; the returned `url` is theirs. Throws UsageError if it cannot listen there. */
export async function serveScrapes({ flag, host, port, token, text }: ScrapesOptions): Promise<Served> {
  const { serve } = await import('../../web/serve/index.ts')
  const guard = token === null && !isLoopback(host) ? null : new Guard(token)
  const routes = (app: App): void => {
    app.notFound((c) => c.body(null, ['GET', 'HEAD'].includes(c.req.method) ? 404 : 405))
    app.get('/', (c) => c.body('<a href="/metrics">metrics</a>\n', 200, { 'Content-Type': 'text/html' }))
    app.get('/metrics', async (c) => c.body(await text(), 200, { 'Content-Type': metricsType }))
  }
  try {
    const served = await serve({ host, port, guard, routes, errors: 'text' })
    return { ...served, url: `${served.url}/metrics` }
  } catch (error) {
    throw new UsageError(flag, (error as Error).message)
  }
}
