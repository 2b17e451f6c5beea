/** The server of the API: HTTP or HTTPS, WebSockets, the live page. */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Connections, Guard, newToken, originOf, serverLimits } from '../../web/index.ts'
import { GatewayError, type HttpConfig } from '../index.ts'
import type { SuperNode } from '../runtime/index.ts'
import { makeApp } from './app.ts'
import { livePage } from './asset.ts'
import { GatewayControl } from './control.ts'
import { LiveData } from './live.ts'

export interface ApiOptions {
  readonly version: string
  /** Somebody asked for the end of the gateway. */
  shutdown(): void
}

export interface Api {
  /** Where it listens: "http://127.0.0.1:8080". */
  readonly url: string
  /** What callers have to know: that of the configuration, or one that was made now. Null: nothing, as the configuration says. */
  readonly token: string | null
  close(): Promise<void>
}

/**
 * Listens for a gateway that is `watched`; until that has started, it can be looked at, not changed. Throws a `GatewayError` if it
 * cannot listen.
 */
export async function startApi(gateway: SuperNode, http: HttpConfig, { version, shutdown }: ApiOptions): Promise<Api> {
  const token = http.token ?? (http.open ? null : newToken())
  const guard = new Guard(token)
  const control = new GatewayControl(gateway)
  const app = makeApp({ control, guard, version, page: livePage(), shutdown })
  const live = new LiveData(gateway, guard)
  const server = makeServer(http, getRequestListener(app.fetch))
  const connections = new Connections(server)
  server.on('upgrade', (request, socket, head) => {
    // A client that goes away at once.
    socket.on('error', () => socket.destroy())
    try {
      live.upgrade(request, socket, head)
    } catch {
      // An address that is none.
      socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const why = `http: cannot listen on ${http.host}:${http.port}: ${error.message}`
      reject(new GatewayError('ERR_GATEWAY_NODE', why))
    })
    server.listen(http.port, http.host, resolve)
  })
  const { address } = server.address() as AddressInfo
  return {
    url: originOf(server, address, http.tls !== null),
    token,
    close: async () => {
      live.close()
      await connections.close()
    },
  }
}

function makeServer({ tls }: HttpConfig, listener: ReturnType<typeof getRequestListener>): Server {
  if (tls === null) return createServer(serverLimits, listener)
  const read = (file: string): Buffer => {
    try {
      return readFileSync(file)
    } catch (error) {
      throw new GatewayError('ERR_GATEWAY_SETTING', `http: ${(error as Error).message}`)
    }
  }
  return createTlsServer({ ...serverLimits, cert: read(tls.certificate), key: read(tls.key) }, listener)
}
