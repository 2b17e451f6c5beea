/** The live page. */
import { pageDocument, pageScript } from '../../web/index.ts'

export function livePage(): string {
  return pageDocument({
    ...{ title: 'Gateway', style, body, script: pageScript('gateway-page.js') },
    ...{ permits: ["connect-src 'self'"], images: "'self' data: blob:" },
  })
}

const body = `<header><h1>Gateway</h1><p id="status" role="status"></p></header>
<form id="login" hidden><label>Token <input id="token" type="password" autocomplete="current-password"></label> <button>Show</button></form>
<main>
<section><h2>Nodes</h2><div class="wide"><table id="nodes"><thead><tr><th>node<th><th>type<th>state<th class="n">read/s<th class="n">written/s<th class="n">lost<th class="n">missed steps</thead><tbody></tbody></table></div></section>
<section id="live" hidden><h2>Signals of <span id="watched"></span> <button id="close" type="button">close</button></h2><ul id="legend"></ul><label class="dim"><input id="each" type="checkbox"> a plot for each signal</label><div id="plots"></div></section>
<section><h2>Paths</h2><div class="wide"><table id="paths"><thead><tr><th>from<th>to<th>hooks<th>state<th class="n">received/s<th class="n">sent/s<th class="n">missed</thead><tbody></tbody></table></div></section>
<section><h2>Graph <button id="full" type="button" aria-pressed="false">full size</button></h2><div class="wide"><img id="graph" alt="nodes and paths"></div></section>
</main>`

const style = `
:root{color-scheme:light dark;--ink:#1c2330;--dim:#5a6474;--line:#d5dbe4;--back:#fff;--bad:#b3261e;font:15px/1.45 system-ui,sans-serif}
@media(prefers-color-scheme:dark){:root{color-scheme:light dark;--ink:#e6eaf0;--dim:#9aa5b5;--line:#333c4a;--back:#14181f;--bad:#ff8a80}}
body{margin:0 auto;max-width:1000px;padding:12px 16px 40px;color:var(--ink);background:var(--back)}
header{display:flex;gap:16px;align-items:baseline;flex-wrap:wrap}h1{font-size:22px;margin:8px 0}h2{font-size:16px;margin:24px 0 8px}
#status{margin:0;color:var(--dim)}#status.bad,.bad{color:var(--bad);font-weight:600}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);white-space:nowrap}th{color:var(--dim);font-weight:500}
.n{text-align:right}button{font:inherit;font-size:14px;font-weight:400;padding:1px 10px;color:var(--ink);background:transparent;border:1px solid var(--line);border-radius:5px;cursor:pointer}
button[aria-pressed=true]{border-color:currentcolor}.dim{color:var(--dim)}
figure{margin:10px 0}figcaption{color:var(--dim);font-size:13px}canvas{width:100%;height:190px;display:block}
#legend{list-style:none;padding:0;margin:6px 0;display:flex;flex-wrap:wrap;gap:4px 18px;font-variant-numeric:tabular-nums}
#legend i{display:inline-block;width:14px;height:3px;vertical-align:middle;margin:0 6px 0 2px}#legend b{display:inline-block;min-width:7ch}
input[type=checkbox]{vertical-align:middle;accent-color:currentcolor}#graph{max-width:100%;height:auto}#graph.full{max-width:none}
@media(max-width:640px){thead{display:none}tr{display:flex;flex-wrap:wrap;gap:0 14px;padding:6px 0;border-bottom:1px solid var(--line)}td{border:0;padding:1px 0;white-space:normal}td:first-child{font-weight:600}.none{display:none}
td.n::before{content:attr(data-label) " ";color:var(--dim);font-weight:400}td:not(.n):not(:first-child)[data-label]:not([data-label=""]):not([data-label=type]):not([data-label=state])::before{content:attr(data-label) " ";color:var(--dim)}
canvas{height:160px}}`
