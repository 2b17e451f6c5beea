/** One request over HTTP or HTTPS, which ends with the answer, an error, or a timeout. */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'

export interface Asked {
  method: 'GET' | 'POST'
  url: string
  headers?: Readonly<Record<string, string>>
  body?: Uint8Array | string
  /** Certificates of authorities in PEM, instead of those that Node.js knows. */
  ca?: string
  /** Timeout of the whole request, the body included (default 10 s). */
  timeoutMs?: number
}

export interface Answered {
  status: number
  text: string
}

const mostAnswer = 1 << 20

/** Sends a request and returns the answer. Throws the error of the system, or of TLS. */
export function ask({ method, url, headers = {}, body, ca, timeoutMs = 10_000 }: Asked): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const start = url.startsWith('https:') ? httpsRequest : httpRequest
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    const options = {
      ...{ method, headers: { ...headers, 'Content-Length': String(length) } },
      ...{ signal: AbortSignal.timeout(timeoutMs), ...(ca !== undefined && { ca }) },
    }
    const request = start(url, options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
        if (text.length > mostAnswer) response.destroy(new Error(`${url} answers with more than ${mostAnswer} bytes`))
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}
