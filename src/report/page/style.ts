/** Style sheet of report.html, inside the file so that it needs no other file. */

import { baseStyle } from '../../web/index.ts'
import { pictureRules } from '../charts/colours.ts'

/** Colours of charts, which follow the page: light or dark as `color-scheme` is. */
const chartColours = pictureRules('figure ', (light, dark) => `light-dark(${light},${dark})`)

export const STYLE: string = `${baseStyle}body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 28px 24px 64px; }
h1 { font-size: 1rem; font-weight: 600; color: var(--faint); margin: 0 0 6px; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 44px 0 10px; }
p { max-width: 75ch; margin: 0 0 12px; }
.headline { font-size: 1.5rem; line-height: 1.35; font-weight: 600; max-width: 44ch; margin-bottom: 8px; text-wrap: pretty; }
.faint { color: var(--faint); font-size: .9rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 12px; margin: 20px 0 8px; padding: 0; }
.figures div { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.figures dt { color: var(--faint); font-size: .82rem; }
.figures dd { margin: 0; font-size: 1.2rem; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.note, .disturbed { background: var(--warn); color: var(--warn-ink); border-radius: 8px; padding: 10px 14px; margin: 14px 0; overflow-wrap: anywhere; max-width: none; }
.disturbed { font-weight: 600; }
.note ul { margin: 0; padding-left: 1.1em; }
figure { margin: 14px 0; }
.chart { background: var(--card); border: 1px solid var(--line); border-radius: 8px; overflow-x: auto; }
.chart > svg { display: block; width: 100%; min-width: 720px; height: auto; }
svg.flame .frame { cursor: zoom-in; overflow: hidden; }
button, select { font: inherit; font-size: .82rem; color: var(--ink); background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 2px 9px; cursor: pointer; }
button:hover, select:hover { border-color: var(--accent); }
button[aria-pressed="true"] { background: var(--on); border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
#controls { display: flex; flex-wrap: wrap; gap: 8px 18px; align-items: start; justify-content: space-between; margin-bottom: 10px; }
#controls .theme { order: 2; color: var(--faint); font-size: .82rem; margin-left: auto; }
#choice { margin: 0; font-size: .9rem; }
#choice[open] { flex-basis: 100%; order: 3; }
#choice fieldset { border: 0; margin: 6px 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 5px; align-items: center; }
#choice legend { float: left; min-width: 6.5em; padding: 0; color: var(--faint); font-size: .82rem; }
[data-live] .chart { overflow: hidden; padding: 12px 0 6px; }
figcaption { padding: 0 16px 6px; overflow-wrap: anywhere; line-height: 1.4; }
figcaption b { display: block; font-size: .98rem; }
figcaption span { color: var(--faint); font-size: .82rem; }
.tools { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; padding: 0 16px 4px; }
.group { display: flex; gap: 4px; }
.hint { font-size: .78rem; }
.plot { position: relative; touch-action: pan-y; user-select: none; }
.plot svg { display: block; }
.turning { cursor: grab; }
.turning:active { cursor: grabbing; }
.floating { position: absolute; pointer-events: none; background: var(--card); border: 1px solid var(--line); border-radius: 4px; padding: 8px 10px; font-size: 13px; }
.brush { position: absolute; top: 0; bottom: 0; background: var(--accent); opacity: .18; pointer-events: none; }
.later { padding: 16px; margin: 0; max-width: none; }
.nothing { padding: 30px 16px; margin: 0; }
.legend { display: flex; flex-wrap: wrap; gap: 5px; padding: 4px 16px 8px; }
.legend:empty { display: none; }
.legend button { display: inline-flex; gap: 7px; align-items: center; text-align: left; background: none; }
.legend button[aria-pressed="false"] { color: var(--faint); text-decoration: line-through; border-style: dashed; }
.legend button[aria-pressed="false"] .swatch { opacity: .3; }
.swatch { width: 10px; height: 10px; flex: none; display: inline-block !important; }
.tip { max-width: min(34rem, 92%); white-space: normal !important; }
.tip-head { font-weight: 600; margin-bottom: 3px; }
.tip-row { display: flex; gap: 7px; align-items: baseline; line-height: 1.45; }
.tip-row b { margin-left: auto; padding-left: 12px; font-variant-numeric: tabular-nums; font-weight: 600; }
.table .more { display: inline-block; font-size: .85rem; color: var(--faint); margin-bottom: 6px; cursor: pointer; }
.table:not(:has(.more input:checked)) .extra { display: none; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
table { border-collapse: collapse; width: 100%; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 9px; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { position: sticky; left: 0; z-index: 1; background: var(--card); white-space: normal; min-width: min(13em, 42vw); max-width: min(30em, 45vw); overflow-wrap: anywhere; box-shadow: 1px 0 var(--line); }
.number:first-child { min-width: 0; }
tbody tr:last-child td { border-bottom: 0; }
tbody tr:hover td { background: var(--row); }
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
.winners table { width: auto; }
.winners th:first-child, .winners td:first-child { min-width: 6em; }
.winners th { text-align: right; }
.won { background: color-mix(in srgb, var(--kind) 26%, transparent); border-left: 3px solid var(--kind); white-space: nowrap; line-height: 1.25; }
.won span { color: var(--faint); font-size: .92em; }
.kinds { display: flex; flex-wrap: wrap; gap: 4px 16px; max-width: none; font-size: .86rem; }
.kinds i { display: inline-block; width: 10px; height: 10px; margin-right: 6px; background: var(--kind); }
.settings { margin: 0 0 12px; max-width: none; }
.settings span { display: inline-block; margin: 0 14px 2px 0; }
@media (max-width: 600px) { main { padding: 18px 12px 40px; } .figures { grid-template-columns: 1fr 1fr; } .figures dd { font-size: 1.05rem; } .headline { font-size: 1.2rem; } .hint { display: none; } dl.facts { grid-template-columns: 1fr; gap: 0; } dl.facts dd { margin-bottom: 6px; } }
@media print { :root { color-scheme: light; } body { background: #fff; } .chart, .scroll { border: 0; overflow: visible; break-inside: avoid; } #controls, .tools, .more { display: none; } .legend button { border: 0; } }
${chartColours}`
