/** Style sheet of the page. Colours of lines: after Okabe and Ito. */
import { baseStyle } from '../../web/index.ts'

export const pageStyle: string = `${baseStyle}
:root { --c0: light-dark(#0072b2, #4ba3e0); --c1: light-dark(#a85c00, #f0a93c); --c2: light-dark(#00795a, #2cc295); --c3: light-dark(#aa4499, #d67fc6); --c4: light-dark(#b3261e, #ff8a80); --c5: light-dark(#444444, #c3c8ce); --heat: light-dark(#0b62a4, #3a93d6); }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif; }
main, header, footer, #login { max-width: 1400px; margin: 0 auto; padding: 0 20px; }
header { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; padding-top: 14px; padding-bottom: 10px; }
h1 { font-size: 1.05rem; margin: 0; }
h2 { font-size: 1.12rem; margin: 26px 0 8px; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 14px 0 6px; overflow-wrap: anywhere; }
p { margin: 0 0 10px; max-width: 90ch; }
#status { margin: 0 auto 0 0; color: var(--faint); font-variant-numeric: tabular-nums; }
#status.bad, .bad { color: var(--bad); }
.faint { color: var(--faint); font-size: .88rem; }
footer { padding-top: 30px; padding-bottom: 40px; }
button, select, input { font: inherit; font-size: .86rem; color: var(--ink); background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 2px 10px; }
button, select { cursor: pointer; }
select, label { max-width: 100%; }
button:hover, select:hover { border-color: var(--accent); }
button[aria-pressed="true"] { background: var(--on); border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.row { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; margin: 8px 0; }
#about { margin: 0 0 8px; max-width: none; }
#figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 8px; margin: 8px 0; }
#figures div { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 6px 10px; }
#figures dt { color: var(--faint); font-size: .8rem; }
#figures dd { margin: 0; font-size: 1.05rem; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
#figures dd span { display: block; color: var(--faint); font-size: .78rem; font-weight: 400; }
#figures .bad dd { color: var(--bad); }
#wrong ul { list-style: none; margin: 12px 0; padding: 0; display: grid; gap: 6px; }
#wrong li { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--line); border-radius: 6px; padding: 6px 12px; overflow-wrap: anywhere; }
#wrong b { margin-right: 8px; }
#wrong .warning { border-left-color: var(--c1); }
#wrong .critical, #wrong .firing { border-left-color: var(--bad); }
#wrong .critical b, #wrong .firing b { color: var(--bad); }
#wrong button { margin-left: 8px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(340px, 100%), 1fr)); gap: 12px; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 8px 10px; min-width: 0; }
figcaption { font-size: .88rem; font-weight: 600; }
figure svg { display: block; width: 100%; touch-action: pan-y; }
figure svg:focus { outline: none; }
figure svg:focus-visible { outline: 2px solid var(--accent); }
svg text { fill: var(--faint); font-size: 11px; font-variant-numeric: tabular-nums; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg .band { stroke: none; fill-opacity: .2; }
svg .level { stroke: var(--faint); stroke-dasharray: 4 4; }
svg .at { stroke: var(--ink); stroke-opacity: .5; }
svg .chosen { fill: var(--on); }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); } .c4 { color: var(--c4); } .c5 { color: var(--c5); }
svg .line { stroke: currentcolor; } svg .band { fill: currentcolor; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 4px 0 0; padding: 0; font-size: .82rem; font-variant-numeric: tabular-nums; min-height: 1.3em; }
.legend i { display: inline-block; width: 12px; height: 3px; background: currentcolor; vertical-align: middle; margin-right: 6px; }
.legend span { color: var(--ink); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
table { border-collapse: collapse; width: 100%; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 9px; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--faint); font-weight: 600; }
tbody th { overflow-wrap: anywhere; }
tbody tr:last-child > * { border-bottom: 0; }
tbody tr:hover > * { background: var(--row); }
td.number, th.number { text-align: right; }
td .bar { display: inline-block; width: 90px; height: 8px; border-radius: 4px; background: var(--row); vertical-align: middle; margin-right: 8px; overflow: hidden; }
td .bar i { display: block; height: 100%; background: var(--heat); }
td .part { display: inline-block; min-width: 3.6em; }
.link { background: none; border: 0; padding: 0; color: var(--accent); text-align: left; font-size: inherit; }
.link:hover { text-decoration: underline; }
.heat { width: auto; font-size: .8rem; }
.heat th { padding: 2px 6px; border: 0; }
.heat thead th { vertical-align: bottom; padding: 4px 2px; }
.heat thead th button { writing-mode: vertical-rl; transform: rotate(180deg); }
.heat td { padding: 1px; border: 0; }
.heat td button { display: block; width: 30px; height: 24px; padding: 0; border: 1px solid var(--line); border-radius: 3px; }
.heat td button:disabled { cursor: default; background: none; border-style: dotted; }
.heat tbody tr:hover > * { background: none; }
#detail { background: var(--card); border: 1px solid var(--accent); border-radius: 10px; padding: 4px 14px 14px; margin: 20px 0; scroll-margin-top: 10px; }
#detail h2 { margin-top: 10px; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(600px, 100%), 1fr)); gap: 0 18px; }
.two > * { min-width: 0; }
#burst { margin-top: 10px; }
@media (max-width: 640px) { main, header, footer, #login { padding-left: 12px; padding-right: 12px; } #figures { grid-template-columns: repeat(2, 1fr); } th, td { padding: 5px 6px; } tbody th { white-space: normal; min-width: 36vw; } .heat tbody th { min-width: 0; } td .bar { display: none; } }
`
