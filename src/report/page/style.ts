/** Style sheet and script of report.html, inside the file so that it needs nothing else. */

export const STYLE = `
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #d9dee4; --accent: #0b62a4; --warn: #fff4d6; --warn-ink: #5b4300; --row: #eef3f8; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --card: #1d2126; --ink: #e6e9ed; --faint: #9aa4af; --line: #363d45; --accent: #6cb6ff; --warn: #453600; --warn-ink: #ffe9b0; --row: #262c33; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 28px 24px 64px; }
h1 { font-size: 1rem; font-weight: 600; color: var(--faint); margin: 0 0 6px; }
h2 { font-size: 1.2rem; margin: 44px 0 10px; }
p { max-width: 75ch; margin: 0 0 12px; }
.headline { font-size: 1.5rem; line-height: 1.35; font-weight: 600; max-width: 44ch; margin-bottom: 8px; text-wrap: pretty; }
.faint, figcaption { color: var(--faint); font-size: .9rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 12px; margin: 20px 0 8px; padding: 0; }
.figures div { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.figures dt { color: var(--faint); font-size: .82rem; }
.figures dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.note { background: var(--warn); color: var(--warn-ink); border-radius: 8px; padding: 10px 14px; margin: 14px 0; overflow-wrap: anywhere; }
.note ul { margin: 0; padding-left: 1.1em; }
figure { margin: 14px 0; }
.chart { background: #fff; border: 1px solid var(--line); border-radius: 8px; overflow-x: auto; }
.chart svg { display: block; width: 100%; min-width: 720px; height: auto; }
svg.flame .frame { cursor: zoom-in; overflow: hidden; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
table { border-collapse: collapse; width: 100%; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 9px; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); }
tbody tr:last-child td { border-bottom: 0; }
tbody tr:hover { background: var(--row); }
.number { text-align: right; }
th { color: var(--faint); font-weight: 600; }
th button { all: unset; cursor: pointer; }
th button:hover, th button:focus-visible { color: var(--accent); text-decoration: underline; }
th button::after { content: "\\2002"; }
th[aria-sort="ascending"] button::after { content: "\\2191"; }
th[aria-sort="descending"] button::after { content: "\\2193"; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 0; font-size: .92rem; }
dl.facts dt { color: var(--faint); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
details { margin: 14px 0; }
summary { cursor: pointer; color: var(--accent); }
.settings { margin: 0 0 12px; max-width: none; }
.settings span { display: inline-block; margin: 0 14px 2px 0; }
@media (max-width: 600px) { main { padding: 18px 12px 40px; } .headline { font-size: 1.2rem; } dl.facts { grid-template-columns: 1fr; gap: 0; } dl.facts dd { margin-bottom: 6px; } }
@media print { body { background: #fff; } .chart, .scroll { border: 0; overflow: visible; break-inside: avoid; } }
`

/** Sorts a table by the column whose heading is pressed, again to turn it round; figures by value, empty cells last. */
export const SCRIPT = `
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = [...table.tHead.rows[0].cells]
  heads.forEach((head, column) => head.querySelector('button').addEventListener('click', () => {
    const up = head.getAttribute('aria-sort') !== 'ascending'
    heads.forEach((other) => other.removeAttribute('aria-sort'))
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending')
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent
    const compare = (a, b) => {
      if (a === '' || b === '') return (a === '') - (b === '')
      const order = isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b
      return up ? order : -order
    }
    const body = table.tBodies[0]
    body.append(...[...body.rows].sort((a, b) => compare(key(a), key(b))))
  }))
}

/* A frame of a flame graph that is pressed fills the width, again to go back: places are per cents of the root. */
for (const flame of document.querySelectorAll('svg.flame')) {
  const frames = [...flame.querySelectorAll('svg.frame')].map((frame) => ({
    frame,
    left: parseFloat(frame.getAttribute('x')),
    width: parseFloat(frame.getAttribute('width')),
    row: parseFloat(frame.getAttribute('y')),
  }))
  let zoomed = null
  const show = (to) => {
    zoomed = to
    const left = to ? to.left : 0
    const width = to ? to.width : 100
    for (const item of frames) {
      const caller = to !== null && item.row < to.row && item.left <= left + 0.001 && item.left + item.width >= left + width - 0.001
      const inside = item.left >= left - 0.001 && item.left + item.width <= left + width + 0.001
      item.frame.style.display = caller || inside ? '' : 'none'
      item.frame.setAttribute('x', caller ? '0%' : (item.left - left) * 100 / width + '%')
      item.frame.setAttribute('width', caller ? '100%' : item.width * 100 / width + '%')
    }
  }
  for (const item of frames) item.frame.addEventListener('click', () => show(zoomed === item || item === frames[0] ? null : item))
}
`
