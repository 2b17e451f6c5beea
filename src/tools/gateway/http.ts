/** The HTTP API of a gateway that a command runs. */
import { note, version } from '../../cli/terminal/index.ts'
import type { Api } from '../../gateway/api/index.ts'
import type { HttpConfig } from '../../gateway/index.ts'
import type { SuperNode } from '../../gateway/runtime/index.ts'
import { pageUrl } from '../../web/index.ts'
import { isLoopback, UsageError } from '../kit/index.ts'

/** Returns the settings of the configuration, without a token if that was requested. */
export function httpOf(http: HttpConfig, wantsToken: boolean): HttpConfig {
  if (wantsToken) return http
  if (http.token !== null) throw new UsageError('--no-token', 'the configuration has http.token')
  if (!isLoopback(http.host))
    throw new UsageError('--no-token', `whoever reaches ${http.host} (http.host) could control the gateway`)
  return { ...http, open: true }
}

/** Starts the API of a gateway that is about to start. */
export async function listen(gateway: SuperNode, http: HttpConfig): Promise<Api> {
  const { startApi } = await import('../../gateway/api/index.ts')
  return await startApi(gateway, http, { version, shutdown: () => void gateway.stop() })
}

/** Prints the URL of the API. A token that the user has chosen is not printed, since output may be kept in logs. */
export function announce({ url, token }: Api, http: HttpConfig): void {
  note(`the API and a live page: ${token === null || http.token !== null ? url : pageUrl(url, token)}`)
  if (token === null)
    note('there is no token: every user of this host can change the gateway, and run commands as its user')
  if (http.tls === null && !isLoopback(http.host))
    note('without TLS, whoever sees the traffic can read the token: set http.ssl_cert and http.ssl_private_key')
}
