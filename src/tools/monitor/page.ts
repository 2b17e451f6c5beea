/** Options of the live page, for every command of the monitor that shows windows. */
import { once } from 'node:events'
import type { Command } from 'commander'
import { type Interruption, note } from '../../cli/terminal/index.ts'
import type { PageServer } from '../../monitor/api/index.ts'
import type { LiveView } from '../../monitor/view/index.ts'
import { pageUrl, TlsError } from '../../web/index.ts'
import { listenAddress, serverToken, UsageError } from '../kit/index.ts'
import { noteIfInClear, tlsOfServer } from './secret.ts'

export interface PageCommandOptions {
  page?: string | true
  pageTokenFile?: string
  pageNoToken?: boolean
  pageTlsKey?: string
  pageTlsCert?: string
}

const usualPort = '9881'

export const pageHelp = `
--page serves a live page on loopback until Ctrl-C, also after the last window of a file: tables, time series, a map of hosts, details of
hosts, queue pairs, messages and microbursts. It requires a token: that of --page-token-file, or else one that is generated and printed
with the address, which then opens the page. With --page-no-token every user of this host can see the traffic. On an address other than
loopback give --page-tls-key.`

export function addPageOptions(command: Command): Command {
  return command
    .option(
      '--page [address]',
      `serve a live page: a port of loopback, or address:port (default: none; without a value ${usualPort})`,
    )
    .option('--page-token-file <file>', 'token for the page (default: a new token, which is printed)')
    .option('--page-no-token', 'dangerous: every user of this host may open the page, on loopback only')
    .option('--page-tls-key <file>', 'private key of the page, PEM (default: plain HTTP)')
    .option('--page-tls-cert <file>', 'certificate of the page, PEM (default: plain HTTP)')
}

/** Starts the page and prints its URL; undefined if none is requested. */
export async function startPage(
  options: PageCommandOptions,
  live: LiveView | undefined,
): Promise<PageServer | undefined> {
  const { page, pageTokenFile, pageNoToken, pageTlsKey, pageTlsCert } = options
  if (page === undefined || live === undefined) {
    if ([pageTokenFile, pageNoToken, pageTlsKey, pageTlsCert].some((one) => one !== undefined))
      throw new UsageError('--page', 'is needed for the other options of the page')
    return undefined
  }
  const { PageServer } = await import('../../monitor/api/index.ts')
  const { host, port } = listenAddress('--page', page === true ? usualPort : page)
  const tls = tlsOfServer('--page-tls', pageTlsKey, pageTlsCert)
  const flags = { file: '--page-token-file', none: '--page-no-token' }
  const { token, isMade } = serverToken({ flags, file: pageTokenFile, isOpen: pageNoToken === true, host })
  try {
    const server = await PageServer.start({ ...{ live, host, port, token }, ...(tls && { tls }) })
    noteIfInClear(tls !== undefined, host, 'give it --page-tls-key and --page-tls-cert.')
    note(`The page is at ${isMade ? pageUrl(server.url, token!) : server.url}`)
    if (token === null) note('It has no token: every user of this host can see it.')
    return server
  } catch (error) {
    throw new UsageError(error instanceof TlsError ? '--page-tls-key' : '--page', (error as Error).message)
  }
}

/** Keeps the page until an interrupt, after all input was read. */
export async function untilInterrupted({ signal }: Interruption): Promise<void> {
  note('All was read. The page stays until Ctrl-C.')
  if (!signal.aborted) await once(signal, 'abort')
}
