/** Colours, light or dark: as the system or the reader chooses. */

/**
 * @param choose has the values "" (as the system), "light" and "dark"
 * @param key under which the browser remembers the choice
 * @param changed called when colours may be others
 */
export function theme(choose: HTMLSelectElement, key: string, changed: () => void): void {
  const root = document.documentElement
  const show = (): void => {
    if (choose.value === '') delete root.dataset.theme
    else root.dataset.theme = choose.value
    changed()
  }
  choose.value = remembered(key)
  show()
  choose.addEventListener('change', () => {
    show()
    try {
      localStorage.setItem(key, choose.value)
    } catch {}
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed)
}

/** Returns the remembered choice. A page from a file may be denied storage. */
function remembered(key: string): string {
  try {
    const value = localStorage.getItem(key)
    return value === 'light' || value === 'dark' ? value : ''
  } catch {
    return ''
  }
}
