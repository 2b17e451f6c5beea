/** Counters for Prometheus over HTTP, read at each request. */
import { once } from 'node:events'
import { endWith, exitCodes, interruptible, note } from '../../cli/terminal/index.ts'
import { type HostOptions, prometheusText, readHost } from '../../collect/index.ts'
import { isLoopback, listenAddress, scrapesText, serverToken, serveScrapes } from '../kit/index.ts'

export interface ListenOptions {
  listen: string
  tokenFile?: string
  /** True if a token is required. */
  token: boolean
}

/** Serves until it is interrupted. */
export async function listenForScrapes(options: ListenOptions, host: HostOptions): Promise<void> {
  const flags = { file: '--token-file', none: '--no-token' }
  const given = serverToken({ flags, file: options.tokenFile, isOpen: !options.token })
  const listening = { flag: '--listen', token: given.token, ...listenAddress('--listen', options.listen) }
  const stop = interruptible('', { isService: true })
  try {
    const scrapes = await serveScrapes({ ...listening, text: async () => prometheusText(await readHost(host)) })
    note(`${scrapesText('counters', scrapes.url, given, flags.file)}; Ctrl-C ends it.`)
    if (given.token !== null && !isLoopback(listening.host))
      note('Without TLS, who is on the way can read the token: put a proxy with TLS before it.')
    if (!stop.signal.aborted) await once(stop.signal, 'abort')
    await scrapes.close()
    endWith(stop.exitCode() ?? exitCodes.done)
  } finally {
    stop.dispose()
  }
}
