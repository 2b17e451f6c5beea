/**
 * Codes of requests that cannot be fulfilled: signals, formats, settings; `ERR_GATEWAY_CONFIGURATION`: a configuration that cannot be read;
 * `ERR_GATEWAY_NODE`: a node that cannot start or continue. No contents of input throw.
 */
export type GatewayErrorCode =
  | 'ERR_GATEWAY_SIGNALS'
  | 'ERR_GATEWAY_FORMAT'
  | 'ERR_GATEWAY_SETTING'
  | 'ERR_GATEWAY_CONFIGURATION'
  | 'ERR_GATEWAY_NODE'

export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: GatewayErrorCode

  constructor(code: GatewayErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
