/** Light or dark: as the system says, or as the reader does. */

import { element } from './dom.ts'

const KEY = 'verbena-report-colours'

export function themeSwitch(place: HTMLElement): void {
  const root = document.documentElement
  const choose = element('select')
  for (const [value, text] of [
    ['', 'as the system'],
    ['light', 'light'],
    ['dark', 'dark'],
  ] as const) {
    const option = element('option', text)
    option.value = value
    choose.append(option)
  }
  const show = (): void => {
    if (choose.value === '') delete root.dataset.theme
    else root.dataset.theme = choose.value
  }
  choose.value = remembered()
  show()
  choose.addEventListener('change', () => {
    show()
    remember(choose.value)
  })
  const label = element('label', 'Colours ', [choose])
  label.className = 'theme'
  place.append(label)
}

/** A file may be denied its storage. */
function remembered(): string {
  try {
    const value = localStorage.getItem(KEY)
    return value === 'light' || value === 'dark' ? value : ''
  } catch {
    return ''
  }
}

function remember(value: string): void {
  try {
    localStorage.setItem(KEY, value)
  } catch {}
}
