/** Largest keys of the window that is shown, by a key and a measure that can be chosen. */
import { byId, element } from '../../page/index.ts'
import type { Hello, WindowView } from '../view/index.ts'
import type { Connection } from './connection.ts'
import { type Open, replace, rowsTable } from './tables.ts'

export class Keys {
  readonly #connection: Connection
  readonly #open: Open
  readonly #by = byId<HTMLSelectElement>('by')
  readonly #of = byId<HTMLSelectElement>('of')
  /** Number of the window; undefined before the first one. */
  #window: number | undefined
  #isAsking = false

  constructor(connection: Connection, open: Open) {
    this.#connection = connection
    this.#open = open
    for (const select of [this.#by, this.#of]) select.addEventListener('change', () => void this.#ask())
  }

  hello({ keys, measures, measure }: Hello): void {
    const [by, of] = [this.#by.value, this.#of.value]
    this.#by.replaceChildren(...keys.map(([name, text]) => element('option', { value: name }, `${name}: ${text}`)))
    this.#of.replaceChildren(...measures.map(([name, text]) => element('option', { value: name }, `${name}: ${text}`)))
    this.#by.value = keys.some(([name]) => name === by) ? by : keys[0]![0]
    this.#of.value = measures.some(([name]) => name === of) ? of : measure
  }

  clear(): void {
    this.#window = undefined
  }

  show({ number }: WindowView): void {
    this.#window = number
    void this.#ask()
  }

  async #ask(): Promise<void> {
    const [window, by, of] = [this.#window, this.#by.value, this.#of.value]
    if (this.#isAsking || window === undefined) return
    this.#isAsking = true
    try {
      const { rows, rest, total } = await this.#connection.ask({ ask: 'rows', window, by, of })
      replace(byId('key-rows'), rowsTable({ by, measure: of, rows, total, rest, open: this.#open }))
    } catch (error) {
      replace(byId('key-rows'), element('p', { class: 'bad' }, (error as Error).message))
    } finally {
      this.#isAsking = false
    }
    if (window !== this.#window || by !== this.#by.value || of !== this.#of.value) void this.#ask()
  }
}
