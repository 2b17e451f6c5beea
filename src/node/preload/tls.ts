/**
 * `tls.connect` under the preload. A TLS socket makes its own TCP handle unless it is given a socket; so where a connection
 * may go over RDMA it is given one, which decides as it connects.
 */
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import tls from 'node:tls'
import { normalizeArguments } from '../base/arguments.ts'
import type { Connector } from './connect.ts'

/** Options of the connection itself. */
const connectionOptions = [
  'port',
  'host',
  'family',
  'hints',
  'lookup',
  'localAddress',
  'localPort',
  'noDelay',
  'keepAlive',
  'keepAliveInitialDelay',
  'autoSelectFamily',
  'autoSelectFamilyAttemptTimeout',
  'device',
] as const

type Connect = (...args: unknown[]) => tls.TLSSocket

export function patchTls(connector: Connector): void {
  const original = tls.connect as unknown as Connect
  const connect: Connect = (...args) => {
    const [given, listener] = normalizeArguments(args)
    // connect(port, host?, options?, listener?): the options come after.
    const extra = [args[1], args[2]].find((arg) => typeof arg === 'object' && arg !== null)
    const options = (extra ? { ...given, ...extra } : given) as Record<string, unknown>
    if (options.socket || !connector.concerns(options)) return original(...args)
    const raw = new net.Socket({ allowHalfOpen: Boolean(options.allowHalfOpen) })
    const own = Object.fromEntries(
      connectionOptions.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
    )
    raw.connect(own as unknown as net.SocketConnectOpts)
    const secure = original({ ...options, socket: raw }, ...(listener ? [listener] : []))
    for (const event of ['lookup', 'ready', 'connectionAttempt', 'connectionAttemptFailed', 'connectionAttemptTimeout'])
      raw.on(event, (...values) => secure.emit(event, ...values))
    if (options.timeout) secure.setTimeout(options.timeout as number)
    return secure
  }
  tls.connect = connect as unknown as typeof tls.connect
  // Those who import names from 'node:tls' see the new one too.
  syncBuiltinESMExports()
}
