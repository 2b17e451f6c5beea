/** Counters for Prometheus over HTTP: read when they are asked for. */
import { once } from 'node:events'
import { endWith, exitCodes, interruptible, note } from '../../cli/terminal/index.ts'
import { type HostOptions, prometheusText, readHost } from '../../collect/index.ts'
import { listenAddress, Scrapes } from '../kit/index.ts'

/** Serves until it is interrupted. */
export async function listenForScrapes(address: string, options: HostOptions): Promise<void> {
  const listening = { flag: '--listen', ...listenAddress('--listen', address) }
  const stop = interruptible('')
  try {
    const scrapes = await Scrapes.start({ ...listening, text: async () => prometheusText(await readHost(options)) })
    note(`Serving counters at ${scrapes.url}; Ctrl-C ends it.`)
    if (!stop.signal.aborted) await once(stop.signal, 'abort')
    await scrapes.close()
    endWith(stop.exitCode() ?? exitCodes.done)
  } finally {
    stop.dispose()
  }
}
