/** Filter above the list: the language of `trace show --filter`. */
import { byId, element } from '../../page/index.ts'
import { whole } from '../../text/index.ts'
import { filterFields } from '../index.ts'
import type { Link } from './link.ts'

export class FilterBar {
  readonly #link: Link
  readonly #changed: (length: number, isGrowing: boolean) => void
  readonly #input: HTMLInputElement = byId('filter')
  #total = 0
  #isSearching = false
  #turn = 0

  /** @param changed receives the new number of lines of the list; it may still grow */
  constructor(link: Link, changed: (length: number, isGrowing: boolean) => void) {
    this.#link = link
    this.#changed = changed
    byId('filter-form').addEventListener('submit', (event) => {
      event.preventDefault()
      void this.apply(this.#input.value)
    })
    byId('filter-clear').addEventListener('click', () => void this.apply(''))
    byId('filter-stop').addEventListener('click', () => link.cancel('filter'))
    for (const example of document.querySelectorAll<HTMLButtonElement>('button[data-filter]'))
      example.addEventListener('click', () => void this.apply(example.dataset.filter!))
    byId('filter-fields').replaceChildren(
      ...Object.entries(filterFields).flatMap(([name, { text }]) => [
        element('dt', {}, element('code', {}, name)),
        element('dd', {}, text),
      ]),
    )
  }

  /** Resets the filter for another capture with `total` packets, all of which are shown. */
  reset(total: number): void {
    this.#turn++
    this.#total = total
    this.#input.value = ''
    this.#error('')
    this.#showCount(total, true)
  }

  /** Shows the progress of the search: packets found, and packets examined. */
  progress({ shown, looked }: { shown: number; looked: number }): void {
    if (!this.#isSearching) return
    byId('filter-count').textContent = `${whole(shown)} found in ${whole(looked)} of ${whole(this.#total)} packets`
    this.#changed(shown, true)
  }

  async apply(text: string): Promise<void> {
    const turn = ++this.#turn
    this.#input.value = text
    this.#error('')
    this.#searching(true)
    try {
      const { shown, complete } = await this.#link.ask('filter', { text })
      if (turn !== this.#turn) return
      this.#showCount(shown, complete)
      this.#changed(shown, false)
    } catch (error) {
      if (turn === this.#turn) this.#error((error as Error).message.replace('--filter: ', ''))
    } finally {
      if (turn === this.#turn) this.#searching(false)
    }
  }

  #searching(isSearching: boolean): void {
    this.#isSearching = isSearching
    byId('filter-stop').hidden = !isSearching
  }

  #showCount(shown: number, complete: boolean): void {
    const all = `${whole(this.#total)} packets`
    const found = shown === this.#total ? all : `${whole(shown)} of ${all}`
    byId('filter-count').textContent = complete ? found : `${found}; the search was stopped`
    byId('filter-clear').hidden = this.#input.value === ''
  }

  #error(message: string): void {
    const place = byId('filter-error')
    place.textContent = message
    place.hidden = message === ''
    this.#input.setAttribute('aria-invalid', String(message !== ''))
  }
}
