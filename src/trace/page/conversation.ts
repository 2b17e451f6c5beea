/** Conversation that was chosen: the figures of both directions, and their diagrams. */
import { byId, element } from '../../page/index.ts'
import { type ConversationInfo, directionRows, directionText, pairingText } from '../index.ts'
import type { DiagramKind, Spot } from '../view/index.ts'
import { endsText } from './conversations.ts'
import { Diagram } from './diagram.ts'
import type { Link } from './link.ts'

export interface ConversationOptions {
  link: Link
  /** Handles the choice of a packet in a diagram. */
  choosePacket(number: number): void
}

export class Conversation {
  readonly #options: ConversationOptions
  #diagrams: Diagram[] = []
  #info: ConversationInfo | undefined
  #kind: DiagramKind = 'psn'

  constructor(options: ConversationOptions) {
    this.#options = options
    for (const kind of ['psn', 'latency'] as const)
      byId(`diagram-${kind}`).addEventListener('click', () => {
        this.#kind = kind
        void this.#draw()
      })
  }

  get number(): number {
    return this.#info?.number ?? 0
  }

  /** Shows that conversation; 0 for none. Resolves when its diagrams are drawn. */
  async show(number: number): Promise<void> {
    const info = number === 0 ? null : await this.#options.link.ask('conversation', { number })
    byId('conversation').hidden = info === null
    this.#info = info ?? undefined
    if (info === null) return
    const { service, paired, pathMtu, directions } = info
    byId('conversation-title').textContent = `#${number} ${service}: ${endsText(info)}`
    byId('paired').textContent = `paired: ${pairingText(paired)}${pathMtu === null ? '' : ` · path MTU ${pathMtu}`}`
    const table = byId<HTMLTableElement>('directions')
    table.tHead!.rows[0]!.replaceChildren(
      element('th', { scope: 'col' }),
      ...directions.map((direction) => element('th', { scope: 'col' }, directionText(direction))),
    )
    table.tBodies[0]!.replaceChildren(
      ...directionRows(directions).map(([name = '', ...values]) =>
        element(
          'tr',
          {},
          element('th', { scope: 'row' }, name.trim()),
          ...values.map((value) => element('td', {}, value)),
        ),
      ),
    )
    await this.#draw()
  }

  /** Marks a packet in the diagrams. */
  mark(number: number): void {
    for (const diagram of this.#diagrams) void diagram.mark(number)
  }

  redraw(): void {
    for (const diagram of this.#diagrams) diagram.redraw()
  }

  async #draw(): Promise<void> {
    const info = this.#info
    if (info === undefined) return
    const kind = this.#kind
    for (const one of ['psn', 'latency']) byId(`diagram-${one}`).setAttribute('aria-pressed', String(one === kind))
    const { link, choosePacket } = this.#options
    const names = info.directions.map((_, direction) => ({ conversation: info.number, direction, diagram: kind }))
    const infos = await Promise.all(names.map((name) => link.ask('diagram', name)))
    if (this.#info !== info || this.#kind !== kind) return
    const drawn = infos.flatMap((one, direction) => (one.count > 0 ? [{ one, direction }] : []))
    const fromNs = drawn.reduce((least, { one }) => Math.min(least, one.fromNs), Number.POSITIVE_INFINITY)
    const toNs = drawn.reduce((most, { one }) => Math.max(most, one.toNs), Number.NEGATIVE_INFINITY)
    for (const diagram of this.#diagrams) diagram.close()
    this.#diagrams = drawn.map(
      ({ one, direction }) =>
        new Diagram({
          ...{ link, name: names[direction]!, info: one, fromNs, toNs },
          title: titleOf(info, direction, kind),
          choose: (found: Spot) => choosePacket(found.number),
          // Both directions show the same time.
          moved: (from, to, by) => {
            for (const other of this.#diagrams) if (other !== by) void other.showTime(from, to)
          },
        }),
    )
    const place = byId('diagrams')
    place.replaceChildren(...this.#diagrams.map(({ figure }) => figure))
    if (drawn.length === 0)
      place.textContent = kind === 'psn' ? 'There is no packet to draw.' : 'No latency was measured.'
    await Promise.all(this.#diagrams.map((diagram) => diagram.ready()))
  }
}

function titleOf({ directions }: ConversationInfo, direction: number, kind: DiagramKind): string {
  const what = kind === 'psn' ? 'PSNs of requests, and responses to them' : 'Latency of requests'
  return `${what}: ${directionText(directions[direction]!)}`
}
