/** The server of the API: HTTP or HTTPS, WebSockets, the live page. */
import { readFileSync } from 'node:fs'
import { Guard, newToken, TlsError } from '../../web/index.ts'
import { type ServeOptions, serve } from '../../web/serve/index.ts'
import { GatewayError, type HttpConfig } from '../index.ts'
import type { SuperNode } from '../runtime/index.ts'
import { addRoutes } from './app.ts'
import { livePage } from './asset.ts'
import { GatewayControl } from './control.ts'
import { LiveData } from './live.ts'

export interface ApiOptions {
  readonly version: string
  /** Handles a request to shut the gateway down. */
  shutdown(): void
}

export interface Api {
  /** URL at which the server listens: "http://127.0.0.1:8080". */
  readonly url: string
  /** Token that callers must know: that of the configuration, or one that was generated now; null if the configuration requires none. */
  readonly token: string | null
  close(): Promise<void>
}

const mostBody = 1 << 20

/**
 * Listens for a gateway that is `watched`; until that has started, it can be looked at, not changed. Throws a `GatewayError` if it
 * cannot listen.
 */
export async function startApi(gateway: SuperNode, http: HttpConfig, { version, shutdown }: ApiOptions): Promise<Api> {
  const { host, port, open } = http
  const token = http.token ?? (open ? null : newToken())
  const control = new GatewayControl(gateway)
  const page = livePage()
  const tls = tlsOf(http)
  const live = new LiveData(gateway)
  try {
    const { url, close } = await serve({
      // The page has nothing of the gateway in it.
      ...{ host, port, ...(tls && { tls }), guard: new Guard(token), open: ['/'], mostBody },
      routes: (app) => addRoutes(app, { control, version, page, shutdown }),
      upgrade: (request, socket, head) => live.upgrade(request, socket, head),
    })
    return {
      url,
      token,
      close: async () => {
        live.close()
        await close()
      },
    }
  } catch (error) {
    live.close()
    const why = (error as Error).message
    if (error instanceof TlsError) throw new GatewayError('ERR_GATEWAY_SETTING', `http: ${why}`)
    throw new GatewayError('ERR_GATEWAY_NODE', `http: cannot listen on ${host}:${port}: ${why}`)
  }
}

function tlsOf({ tls }: HttpConfig): ServeOptions['tls'] {
  try {
    return tls === null ? undefined : { cert: readFileSync(tls.certificate), key: readFileSync(tls.key) }
  } catch (error) {
    throw new GatewayError('ERR_GATEWAY_SETTING', `http: ${(error as Error).message}`)
  }
}
