/**
 * List of packets: only the visible lines exist, so that millions scroll like a hundred. An element cannot be as high as millions of lines;
 * above a limit the scroll bar represents a fraction of the list, and the wheel still moves line by line.
 */
import { byId, element } from '../../page/index.ts'
import { whole } from '../../text/index.ts'
import type { PacketLine } from '../view/index.ts'
import type { Link } from './link.ts'

const highest = 8_000_000
/** Number of lines that are fetched beyond the visible ones. */
const beyond = 20

export class Packets {
  readonly #link: Link
  readonly #choose: (number: number) => void
  readonly #box: HTMLElement = byId('packets')
  readonly #spacer: HTMLElement = byId('packets-height')
  readonly #lines: HTMLElement = byId('packets-lines')
  #length = 0
  #first = 0
  #chosen = 0
  #known = new Map<number, PacketLine>()
  #asked = false
  #isStale = false
  #scrolledTo = -1

  /** @param choose receives the number of each packet that the user selects */
  constructor(link: Link, choose: (number: number) => void) {
    this.#link = link
    this.#choose = choose
    this.#box.addEventListener('scroll', () => this.#scrolled())
    this.#box.addEventListener('wheel', (event) => this.#wheel(event), { passive: false })
    this.#box.addEventListener('keydown', (event) => this.#key(event))
    this.#lines.addEventListener('click', ({ target }) => {
      const line = (target as Element).closest<HTMLElement>('[data-number]')
      if (line !== null) this.select(Number(line.dataset.number))
    })
    new ResizeObserver(() => this.#draw()).observe(this.#box)
  }

  /** Resets the list to `length` lines: it is another one, or has grown. */
  async reset(length: number, keep = false): Promise<void> {
    this.#length = length
    if (!keep) {
      this.#known = new Map()
      this.#first = 0
    }
    this.#spacer.style.height = `${this.#height()}px`
    this.#box.setAttribute('aria-label', `${whole(length)} packets`)
    if (!keep) this.#scrollTo(0)
    await this.#fetch()
  }

  /** Marks that packet as the one that is shown, and scrolls to it. */
  async reveal(number: number): Promise<void> {
    this.#chosen = number
    const place = await this.#link.ask('place', { number })
    const seen = this.#seen()
    if (place < this.#first || place >= this.#first + seen - 1)
      this.#scrollTo(Math.max(0, place - Math.floor(seen / 2)))
    await this.#fetch()
  }

  /** Selects that packet on behalf of the user. */
  select(number: number): void {
    this.#chosen = number
    this.#draw()
    this.#choose(number)
  }

  #lineHeight(): number {
    return Number.parseFloat(getComputedStyle(this.#box).getPropertyValue('--line-height')) || 24
  }

  /** Returns the height of the column names, which stay at the top; narrow windows have none. */
  #headHeight(): number {
    return byId('packets-head').offsetHeight
  }

  #seen(): number {
    return Math.max(1, Math.floor((this.#box.clientHeight - this.#headHeight()) / this.#lineHeight()))
  }

  #height(): number {
    return Math.min(highest, this.#length * this.#lineHeight())
  }

  #isScaled(): boolean {
    return this.#length * this.#lineHeight() > highest
  }

  /** Returns the ratio between the first line and the position of the scroll bar. */
  #ratio(): number {
    const room = Math.max(1, this.#height() + this.#headHeight() - this.#box.clientHeight)
    return Math.max(0, this.#length - this.#seen()) / room
  }

  #scrollTo(first: number): void {
    this.#first = Math.max(0, Math.min(first, this.#length - this.#seen()))
    const top = this.#isScaled() ? Math.round(this.#first / this.#ratio()) : this.#first * this.#lineHeight()
    this.#scrolledTo = top
    this.#box.scrollTop = top
    this.#draw()
    void this.#fetch()
  }

  #scrolled(): void {
    const { scrollTop } = this.#box
    // This scroll event was not caused by the user.
    if (Math.abs(scrollTop - this.#scrolledTo) < 1) return
    this.#scrolledTo = -1
    this.#first = this.#isScaled() ? Math.round(scrollTop * this.#ratio()) : Math.floor(scrollTop / this.#lineHeight())
    this.#draw()
    void this.#fetch()
  }

  #wheel(event: WheelEvent): void {
    if (!this.#isScaled() || event.ctrlKey) return
    event.preventDefault()
    this.#scrollTo(this.#first + Math.round(event.deltaY / this.#lineHeight()))
  }

  #key(event: KeyboardEvent): void {
    const page = this.#seen() - 1
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -this.#length,
      End: this.#length,
    }
    const step = steps[event.key]
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    void this.#go(step)
  }

  async #go(step: number): Promise<void> {
    const at = this.#chosen === 0 ? -1 : await this.#link.ask('place', { number: this.#chosen })
    const place = Math.max(0, Math.min(this.#length - 1, at + step))
    const [line] = await this.#link.ask('lines', { from: place, count: 1 })
    if (line === undefined) return
    const seen = this.#seen()
    if (place < this.#first) this.#scrollTo(place)
    else if (place >= this.#first + seen) this.#scrollTo(place - seen + 1)
    this.#known.set(place, line)
    this.select(line.number)
  }

  async #fetch(): Promise<void> {
    if (this.#asked) {
      this.#isStale = true
      return
    }
    this.#asked = true
    try {
      do {
        this.#isStale = false
        const from = Math.max(0, this.#first - beyond)
        const known = this.#known
        const lines = await this.#link.ask('lines', { from, count: this.#seen() + 2 * beyond + 1 })
        // The list may have been replaced meanwhile.
        if (known === this.#known) this.#known = new Map(lines.map((line, i) => [from + i, line]))
        else this.#isStale = true
      } while (this.#isStale)
    } finally {
      this.#asked = false
    }
    this.#draw()
  }

  #draw(): void {
    const height = this.#lineHeight()
    const count = Math.min(this.#length - this.#first, this.#seen() + 2)
    const top = this.#isScaled() ? this.#box.scrollTop : this.#first * height
    const lowest = Math.max(0, this.#height() - count * height)
    this.#lines.style.top = `${this.#headHeight() + Math.min(top, lowest)}px`
    const lines: HTMLElement[] = []
    for (let place = this.#first; place < this.#first + count; place++) {
      const line = this.#known.get(place)
      lines.push(line === undefined ? element('div', { class: 'line' }) : this.#line(line))
    }
    this.#lines.replaceChildren(...lines)
    const active = this.#lines.querySelector('[aria-selected="true"]')
    if (active === null) this.#box.removeAttribute('aria-activedescendant')
    else this.#box.setAttribute('aria-activedescendant', active.id)
  }

  #line(line: PacketLine): HTMLElement {
    const { number, time, ends, conversation, qps, what, psn, payload, notes, part } = line
    const isChosen = number === this.#chosen
    const cell = (name: string, text: string): HTMLElement => element('span', { class: name }, text)
    return element(
      'div',
      {
        id: `line-${number}`,
        class: `line${part === null ? '' : ` ${part}`}`,
        role: 'option',
        'aria-selected': String(isChosen),
        'data-number': String(number),
      },
      cell('n', String(number)),
      cell('t', time),
      cell('ends', ends),
      cell('conv', conversation === null ? '' : `#${conversation} ${qps}`),
      cell('what', what),
      cell('n psn', psn),
      cell('n', payload),
      cell('notes', notes),
    )
  }
}
