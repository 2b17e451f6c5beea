/** Script of report.html. Without it the page is a picture; with it charts are interactive, and settings can be chosen. */

import { element } from '../../page/index.ts'
import type { Choice } from './choice.ts'
import { settingChoice } from './choice.ts'
import { unpacked } from './data.ts'
import { ChartFigure } from './figure.ts'
import { zoomableFlame } from './flame.ts'
import { SurfaceFigure } from './surface.ts'
import { chooseRows, sortable } from './tables.ts'
import { themeSwitch } from './theme.ts'

const { charts, surfaces, settings } = unpacked(document.getElementById('data')!.textContent)
const tables = [...document.querySelectorAll<HTMLTableElement>('table.sortable')]
const figures: { draw(): void }[] = []

const controls = element('div')
controls.id = 'controls'
document.querySelector('main')!.prepend(controls)
themeSwitch(controls)
const choice: Choice = settingChoice(controls, settings, () => {
  for (const figure of figures) figure.draw()
  for (const table of tables) chooseRows(table, choice)
})

for (const table of tables) sortable(table)
for (const flame of document.querySelectorAll<SVGSVGElement>('svg.flame')) zoomableFlame(flame)

for (const spec of surfaces) {
  const place = document.getElementById(`chart-${spec.name}`)
  if (place) figures.push(new SurfaceFigure(place, spec, choice))
}

/** Makes the charts below a folded heading when it is opened: there may be hundreds. */
function upgrade(within: ParentNode): void {
  for (const figure of within.querySelectorAll<HTMLElement>('figure.plain:not([data-live])')) {
    if (figure.closest('details:not([open])')) continue
    const spec = charts.find(({ name }) => figure.id === `chart-${name}`)
    if (!spec) continue
    figure.dataset.live = ''
    figures.push(new ChartFigure(figure, spec, choice))
  }
}
for (const fold of document.querySelectorAll('details')) fold.addEventListener('toggle', () => upgrade(fold))
upgrade(document)
document.documentElement.dataset.ready = ''
