/** Light or dark: as the system says, or as the reader does. */
import { byId } from './dom.ts'

const key = 'verbena-trace-colours'

/** @param changed called when colours may be others */
export function theme(changed: () => void): void {
  const choose = byId<HTMLSelectElement>('theme')
  const root = document.documentElement
  const show = (): void => {
    if (choose.value === '') delete root.dataset.theme
    else root.dataset.theme = choose.value
    changed()
  }
  choose.value = remembered()
  show()
  choose.addEventListener('change', () => {
    show()
    try {
      localStorage.setItem(key, choose.value)
    } catch {}
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed)
}

/** A file may be denied its storage. */
function remembered(): string {
  try {
    const value = localStorage.getItem(key)
    return value === 'light' || value === 'dark' ? value : ''
  } catch {
    return ''
  }
}
