/** Error of a key or a certificate of a server that is not valid PEM, or where one does not belong to the other. */
export class TlsError extends Error {
  constructor(cause: Error) {
    super(`the key or the certificate is not valid: ${cause.message}`, { cause })
    this.name = 'TlsError'
  }
}
