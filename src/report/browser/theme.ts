/** Light or dark theme: that of the system, or the reader's choice. */
import { element, theme } from '../../page/index.ts'

export function themeSwitch(place: HTMLElement): void {
  const choose = element('select')
  for (const [value, text] of [
    ['', 'as the system'],
    ['light', 'light'],
    ['dark', 'dark'],
  ] as const) {
    const option = element('option', {}, text)
    option.value = value
    choose.append(option)
  }
  theme(choose, 'verbena-report-colours', () => {})
  const label = element('label', {}, 'Colours ', choose)
  label.className = 'theme'
  place.append(label)
}
