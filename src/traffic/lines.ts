/** Schedule as JSON lines. */
import type { ServerAddress } from './config.ts'
import type { Request } from './schedule.ts'

/** Returns `host:port`, an IPv6 address in brackets. */
export function serverText({ host, port }: ServerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Returns one request as a JSON document on a line, without the line end. `rate` is bits per second, 0 without a limit. */
export function requestLine(request: Request, servers: readonly ServerAddress[]): string {
  return JSON.stringify({
    time: request.timeNs,
    server: serverText(servers[request.server]!),
    size: request.size,
    verb: request.verb,
    type: request.type,
    dscp: request.dscp,
    rate: request.rateBps,
    group: request.group,
  })
}
