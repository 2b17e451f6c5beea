/** Worker side of the page: one capture at a time, requests for it, and messages while it is read. */
import { conversationInfo, type Flow, isFirstOfPair, type TraceOptions } from '../index.ts'
import type { CaptureBytes } from './bytes.ts'
import { CaptureView } from './capture-view.ts'
import { Diagrams, flowsOf } from './diagrams.ts'
import { levelFor } from './levels.ts'
import { detailOf, lineOf } from './lines.ts'
import { PacketList } from './packet-list.ts'
import type {
  Ask,
  FromPage,
  FromWorker,
  PacketDetail,
  PacketLine,
  RequestName,
  Requests,
  Spot,
  Summary,
} from './protocol.ts'
import { extentOf, nearest, pictureOf } from './raster.ts'
import type { Points } from './sequence.ts'

/** Maximum number of conversations in a summary; all of them are in the JSON. */
const mostConversations = 2000
const fewConversations = 50
const mostLines = 1000
/** Milliseconds between two messages about progress. */
const reportEveryMs = 100
/** Fraction of the time that a summary of what is read so far may take. */
const summaryShare = 0.05

export interface SessionOptions extends Pick<TraceOptions, 'decodeAs'> {
  post(message: FromWorker): void
  /** Resolves when the messages that wait have been handled. */
  nextTurn(): Promise<void>
  /** Returns milliseconds, from any origin. */
  now(): number
}

export class Session<Source> {
  readonly #open: (source: Source) => CaptureBytes
  readonly #options: SessionOptions
  #view: CaptureView | undefined
  #list: PacketList | undefined
  #diagrams: Diagrams | undefined
  #loading: AbortController | undefined

  constructor(open: (source: Source) => CaptureBytes, options: SessionOptions) {
    this.#open = open
    this.#options = options
  }

  /** Handles one message of the page; resolves when its request is done. */
  async take(message: FromPage<Source>): Promise<void> {
    if ('open' in message) await this.#load(message.open)
    else if ('cancel' in message) {
      if (message.cancel === 'load') this.#loading?.abort()
      else this.#list?.cancel()
    } else await this.#reply(message)
  }

  async #load(source: Source): Promise<void> {
    const { post, nextTurn, now } = this.#options
    this.#loading?.abort()
    this.#list?.cancel()
    const stop = new AbortController()
    this.#loading = stop
    const view = new CaptureView(this.#open(source), this.#options)
    let reported = now()
    let summarised = now()
    try {
      await view.load({
        signal: stop.signal,
        onProgress: async (doneBytes, totalBytes) => {
          if (now() - reported < reportEveryMs) return
          reported = now()
          post({ progress: { doneBytes, totalBytes, packets: view.analysis.packets } })
          if (now() >= summarised) {
            const started = now()
            post({ summary: summaryOf(view, fewConversations, false), complete: false })
            summarised = now() + Math.max(500, (now() - started) / summaryShare)
          }
          await nextTurn()
        },
      })
    } catch (error) {
      if (this.#loading === stop) post({ failed: (error as Error).message })
      return
    }
    // Another capture was opened meanwhile.
    if (this.#loading !== stop) return
    if (view.parser?.format === undefined) {
      post({ failed: view.parser?.damage.list[0]?.what ?? 'nothing was read' })
      return
    }
    this.#view = view
    this.#list = new PacketList(view)
    this.#diagrams = new Diagrams(view)
    post({ summary: summaryOf(view, mostConversations, !view.isWhole), complete: true })
  }

  async #reply({ id, name, with: input }: Ask): Promise<void> {
    const { post } = this.#options
    try {
      const handle = this.#handlers[name] as (input: unknown) => Promise<unknown>
      post({ id, result: await handle(input) })
    } catch (error) {
      post({ id, error: (error as Error).message })
    }
  }

  readonly #handlers: { [Name in RequestName]: (input: Requests[Name][0]) => Promise<Requests[Name][1]> } = {
    conversation: async ({ number }) => {
      const { view } = this.#loaded()
      const [flow] = flowsOf(view, number)
      return flow === undefined ? null : conversationInfo(flow, number, view.analysis)
    },
    diagram: async (name) => this.#loaded().diagrams.get(name).info,
    picture: async ({ window, ...name }) => pictureOf(this.#loaded().diagrams.get(name).levels, window),
    extent: async ({ fromNs, toNs, ...name }) =>
      extentOf(this.#loaded().diagrams.get(name).levels, fromNs, toNs) ?? null,
    pick: async ({ timeNs, psn, nearNs, nearPsns, ...name }) => {
      const { view, diagrams } = this.#loaded()
      const { points } = levelFor(diagrams.get(name).levels, nearNs / 4, nearPsns / 4)
      return spotAt(view, points, nearest(points, { timeNs, psn, nearNs, nearPsns }))
    },
    next: async ({ shape, after, ...name }) => {
      const { view, diagrams } = this.#loaded()
      const { points } = diagrams.get(name).levels[0]!
      const last = view.index.withNumber(after)
      const at = points.shape.findIndex((one, i) => one === shape && points.packet[i]! > last)
      return spotAt(view, points, at >= 0 ? at : points.shape.indexOf(shape))
    },
    find: async ({ number, ...name }) => {
      const { view, diagrams } = this.#loaded()
      const { points } = diagrams.get(name).levels[0]!
      return spotAt(view, points, points.packet.indexOf(view.index.withNumber(number)))
    },
    filter: async ({ text }) => {
      const { list } = this.#loaded()
      const { post, nextTurn, now } = this.#options
      let reported = now()
      const complete = await list.filter(text, async (shown, looked) => {
        if (now() - reported >= reportEveryMs) {
          reported = now()
          post({ filtering: { shown, looked } })
        }
        await nextTurn()
      })
      return { shown: list.length, complete }
    },
    lines: async ({ from, count }) => {
      const { view, list } = this.#loaded()
      const lines: PacketLine[] = []
      await view.rows(list.slice(from, Math.min(count, mostLines)), (row) => {
        lines.push(lineOf(row))
        return undefined
      })
      return lines
    },
    place: async ({ number }) => {
      const { view, list } = this.#loaded()
      return list.placeOf(view.index.withNumber(number))
    },
    packet: async ({ number }) => {
      const { view } = this.#loaded()
      let detail: PacketDetail | null = null
      const at = view.index.withNumber(number)
      if (at < 0) return detail
      await view.rows([at], (row, packet, d) => {
        detail = detailOf(row, packet, d)
        return undefined
      })
      return detail
    },
    json: async () => JSON.stringify(this.#loaded().view.info(), null, 2),
  }

  #loaded(): { view: CaptureView; list: PacketList; diagrams: Diagrams } {
    const [view, list, diagrams] = [this.#view, this.#list, this.#diagrams]
    if (view === undefined || list === undefined || diagrams === undefined) throw new Error('no capture is open')
    return { view, list, diagrams }
  }
}

function spotAt({ index }: CaptureView, points: Points, at: number): Spot | null {
  if (at < 0) return null
  const number = index.number(points.packet[at]!)
  return { number, timeNs: points.time[at]!, psn: points.psn[at]!, shape: points.shape[at]! }
}

function summaryOf(view: CaptureView, most: number, cancelled: boolean): Summary {
  const { analysis } = view
  const numbers = analysis.conversationNumbers()
  const packets = (flow: Flow): number => flow.packets + (flow.peer === flow ? 0 : (flow.peer?.packets ?? 0))
  const firsts = analysis.table.flows.filter(isFirstOfPair).sort((a, b) => packets(b) - packets(a))
  return {
    ...view.totals()!,
    tally: view.tally,
    listed: view.index.count,
    conversations: firsts.slice(0, most).map((flow) => conversationInfo(flow, numbers[flow.index]!, analysis)),
    conversationCount: firsts.length,
    cancelled,
    listingCancelled: view.listingCancelled,
  }
}
