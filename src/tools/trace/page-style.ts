/** The style sheet of the page, inside the file so that it needs nothing else. Colours of shapes: after Okabe and Ito. */
import { baseStyle } from '../../web/index.ts'

export const pageStyle: string = `${baseStyle}:root { --again: light-dark(#8a4b00, #ffb454); --jam: light-dark(#7b2d8b, #e0a3f0); --cm: light-dark(#00695c, #6fd6c4); }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif; }
main, header, footer { max-width: 1400px; margin: 0 auto; padding: 0 20px; }
header { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; padding-top: 14px; padding-bottom: 10px; }
h1 { font-size: 1.05rem; margin: 0; }
#name { color: var(--faint); overflow-wrap: anywhere; margin-right: auto; }
h2 { font-size: 1.12rem; margin: 26px 0 8px; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 0 0 6px; }
p { margin: 0 0 10px; max-width: 80ch; }
.faint, footer { color: var(--faint); font-size: .88rem; }
footer { padding-top: 30px; padding-bottom: 40px; }
button, select, input { font: inherit; font-size: .86rem; color: var(--ink); background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 2px 10px; }
button, select { cursor: pointer; }
button:hover, select:hover { border-color: var(--accent); }
button[aria-pressed="true"] { background: var(--on); border-color: var(--accent); }
.strong { background: var(--on); border-color: var(--accent); padding: 6px 18px; font-size: 1rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
#welcome { border: 2px dashed var(--line); border-radius: 14px; padding: clamp(28px, 9vh, 96px) 20px; text-align: center; background: var(--card); margin: 12px 0; }
#welcome h2 { font-size: 1.5rem; margin: 0 0 6px; }
#welcome p { margin: 0 auto 14px; }
:root[data-drop] body { box-shadow: inset 0 0 0 5px var(--accent); }
:root[data-drop] #welcome { border-color: var(--accent); background: var(--on); }
#reading { display: flex; flex-wrap: wrap; gap: 10px; align-items: center; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
#reading progress { flex: 1 1 200px; height: 14px; accent-color: var(--accent); }
#failed { background: var(--warn); color: var(--warn-ink); border-radius: 8px; padding: 10px 14px; margin: 12px 0; overflow-wrap: anywhere; }
#about { margin: 0 0 8px; overflow-wrap: anywhere; max-width: none; }
#figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(118px, 1fr)); gap: 8px; margin: 8px 0; }
#figures div { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 6px 10px; }
#figures dt { color: var(--faint); font-size: .8rem; }
#figures dd { margin: 0; font-size: 1.05rem; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.bad { color: var(--bad); }
#figures .bad dd { color: var(--bad); }
#notes { background: var(--warn); color: var(--warn-ink); border-radius: 8px; padding: 8px 14px; margin: 10px 0; overflow-wrap: anywhere; }
#notes ul { margin: 0; padding-left: 1.1em; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
#conversations-box { max-height: 340px; overflow-y: auto; }
table { border-collapse: collapse; width: 100%; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 7px; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--faint); position: sticky; top: 0; background: var(--card); z-index: 2; }
thead button { all: unset; cursor: pointer; font-weight: 600; }
thead button:hover { color: var(--accent); text-decoration: underline; }
thead button:focus-visible { outline: 2px solid var(--accent); }
thead button::after { content: "\\2002"; }
th[aria-sort="ascending"] button::after { content: "\\2191"; }
th[aria-sort="descending"] button::after { content: "\\2193"; }
tbody tr:last-child > * { border-bottom: 0; }
#conversations tbody tr { cursor: pointer; }
#conversations tbody tr:hover > * { background: var(--row); }
#conversations tbody tr[aria-current] > * { background: var(--on); }
#conversations tbody th { position: sticky; left: 0; background: var(--card); z-index: 1; }
#conversations tbody th button { all: unset; cursor: pointer; }
#conversations tbody th button:focus-visible { outline: 2px solid var(--accent); }
td.number, th.number { text-align: right; }
td.bad { font-weight: 600; }
#directions thead th { font-weight: 600; color: var(--ink); white-space: normal; }
#directions tbody th { color: var(--faint); }
#directions td { white-space: normal; }
.row { display: flex; flex-wrap: wrap; gap: 6px 10px; align-items: center; margin: 8px 0; }
.row .grow { flex: 1 1 260px; }
.diagram { margin: 10px 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 8px 10px; }
.diagram figcaption { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: baseline; justify-content: space-between; font-size: .88rem; overflow-wrap: anywhere; }
.tools { display: flex; gap: 4px; }
.plot { position: relative; }
canvas { display: block; width: 100%; height: 380px; touch-action: pan-y; color: var(--ink); border: 0 solid var(--line); outline-color: var(--faint); border-radius: 4px; }
canvas:focus-visible { box-shadow: 0 0 0 2px var(--accent); outline: 0 solid var(--faint); }
[data-diagram="latency"] canvas { height: 260px; }
.tip { position: absolute; pointer-events: none; max-width: 300px; background: var(--card); border: 1px solid var(--line); border-radius: 4px; padding: 3px 8px; font-size: .82rem; font-variant-numeric: tabular-nums; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px; margin: 6px 0 0; padding: 0; }
.legend button { background: none; font-size: .82rem; font-variant-numeric: tabular-nums; }
.legend i { display: inline-block; width: 10px; height: 10px; background: currentcolor; vertical-align: -1px; }
.shape-1 { color: light-dark(#1769aa, #6cb6ff); } .shape-2 { color: light-dark(#4a3aa7, #b9a5ff); } .shape-3 { color: light-dark(#00838f, #4dd0e1); } .shape-4 { color: light-dark(#2e7d32, #7ddc84); } .shape-5 { color: light-dark(#6d8b2f, #b7d36b); } .shape-6 { color: light-dark(#9a6a00, #ffd166); } .shape-7 { color: light-dark(#d9480f, #ff9f43); } .shape-8 { color: light-dark(#a6440c, #e8824a); } .shape-9 { color: light-dark(#9c27b0, #e79bf5); } .shape-10 { color: light-dark(#ad1457, #ff80ab); } .shape-11 { color: light-dark(#c62828, #ff6b6b); } .shape-12, .shape-13 { color: light-dark(#000000, #ffffff); }
#filter { flex: 1 1 260px; padding: 5px 10px; font: .9rem ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace; }
#filter[aria-invalid="true"] { border-color: var(--bad); }
#filter-error { color: var(--bad); font: .82rem/1.4 ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 8px; }
details summary { cursor: pointer; }
#filter-help summary { color: var(--accent); font-size: .88rem; }
#filter-fields { display: grid; grid-template-columns: max-content 1fr; gap: 0 14px; font-size: .84rem; max-height: 300px; overflow-y: auto; margin: 6px 0; }
#filter-fields dd { margin: 0; color: var(--faint); }
#packets { --line-height: 24px; position: relative; height: min(480px, 70vh); overflow: auto; overscroll-behavior: contain; border: 1px solid var(--line); border-radius: 8px; background: var(--card); font-size: .82rem; font-variant-numeric: tabular-nums; }
#packets-lines { position: absolute; left: 0; min-width: 100%; }
.line, #packets-head { display: grid; grid-template-columns: 7ch 11ch 29ch 22ch 21ch 9ch 6ch auto; gap: 0 10px; height: var(--line-height); line-height: var(--line-height); padding: 0 10px; white-space: nowrap; cursor: default; }
#packets-head { position: sticky; top: 0; z-index: 1; background: var(--card); color: var(--faint); box-shadow: 0 1px var(--line); min-width: max-content; }
.line:hover { background: var(--row); }
.line[aria-selected="true"] { background: var(--on); }
.line .n, .line .t, #packets-head .n, #packets-head .t { text-align: right; }
.line span { overflow: hidden; text-overflow: ellipsis; }
.line .notes { overflow: visible; padding-right: 10px; }
.line.bad .what, .line.bad .notes { color: var(--bad); } .line.warning .what, .line.warning .notes { color: var(--again); } .line.congestion .what, .line.congestion .notes { color: var(--jam); } .line.connection .what, .line.connection .notes { color: var(--cm); } .line.dim { color: var(--faint); }
#packet { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; margin: 10px 0; }
.facts { margin: 0 0 10px; padding-left: 1.1em; font-size: .88rem; overflow-wrap: anywhere; }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, max-content); gap: 18px; }
.layers details { border-bottom: 1px solid var(--line); padding: 3px 0; font-size: .86rem; }
.layers summary { font-weight: 600; overflow-wrap: anywhere; }
.layers .range { color: var(--faint); font-weight: 400; font-size: .8rem; }
.layers dl { margin: 2px 0 4px; padding-left: 16px; }
.layers dl div { display: grid; grid-template-columns: minmax(9em, 15em) 1fr; gap: 10px; }
.layers dt { color: var(--faint); } .layers dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.depth-1 { padding-left: 16px; } .depth-2 { padding-left: 32px; }
.bytes { overflow-x: auto; }
.hex { font: .78rem/1.55 ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace; white-space: pre; width: max-content; }
.hex .offset { color: var(--faint); } .hex .tint-1 { color: var(--accent); } .hex .on { background: var(--accent); color: var(--card); }
.hex .characters { color: var(--faint); }
@media (max-width: 900px) { .columns { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 640px) { main, header, footer { padding-left: 12px; padding-right: 12px; } canvas { height: 300px; } #packets { --line-height: 62px; } #packets-head { display: none; } .line { grid-template-columns: 6ch 9ch minmax(0, 1fr) 10ch; gap: 0 8px; grid-template-rows: 19px 19px 19px; line-height: 19px; padding: 3px 8px 2px; width: 100%; border-bottom: 1px solid var(--line); } .line .ends { grid-column: 1 / 4; grid-row: 2; } .line .conv { grid-column: 4; grid-row: 2; text-align: right; } .line .what { grid-column: 3; grid-row: 1; } .line .psn { grid-column: 4; grid-row: 1; } .line .psn + .n { display: none; } .line .notes { grid-column: 1 / 5; grid-row: 3; overflow: hidden; } #packets-lines { width: 100%; } #conversations tbody th { max-width: 46vw; white-space: normal; } .layers dl div { grid-template-columns: 1fr 1fr; } #figures { grid-template-columns: repeat(3, 1fr); } .hint { display: none; } }
`
