/**
 * The HTML file of `verbena trace page`: style, script, the worker's script as text, and captures if any are put into it. Its
 * policy permits this style and script, by their hashes, and no request at all.
 */
import { escapeHtml, pageDocument, pageScript } from '../../web/index.ts'
import { pageStyle } from './page-style.ts'

export interface EmbeddedCapture {
  name: string
  /** Bytes of the file as it is, or compressed. */
  bytes: Uint8Array
}

/** Returns the whole document. @throws Error when the package was not built */
export function tracePage(captures: readonly EmbeddedCapture[]): string {
  const embedded = captures.map(
    ({ name, bytes }) =>
      `<script type="application/octet-stream" data-capture="${escapeHtml(name)}">${Buffer.from(bytes).toString('base64')}</script>`,
  )
  const worker = `<script type="text/plain" id="worker">${pageScript('trace-worker.js')}</script>`
  return pageDocument({
    ...{ title: 'RDMA trace', style: pageStyle, script: pageScript('trace-page.js'), permits: ['worker-src blob:'] },
    body: [body, ...embedded, worker].join('\n'),
  })
}

const examples: readonly (readonly [name: string, filter: string])[] = [
  ['lost and sent again', 'retransmission or gap or late or duplicate'],
  ['NAKs', 'nak or rnr'],
  ['congestion', 'cnp or ecn'],
  ['connections', 'cm'],
  ['damaged', 'bad'],
  ['slower than 1 ms', 'latency > 1ms'],
]

const body = `<header>
<h1>RDMA trace</h1><span id="name"></span>
<button type="button" id="another" hidden>Open another …</button>
<label class="faint">Colours <select id="theme"><option value="">as the system</option><option value="light">light</option><option value="dark">dark</option></select></label>
</header>
<main>
<input type="file" id="file" aria-label="capture" hidden>
<div id="embedded" class="row"></div>
<section id="welcome">
<h2>Drop a capture here</h2>
<p class="faint">pcap or pcapng, plain, gzip or zstd, also of gigabytes. RoCEv2, RoCEv1 and InfiniBand.</p>
<p><button type="button" id="choose" class="strong">Choose a file …</button></p>
<p class="faint">It is analysed inside this page. Nothing leaves this machine: the page may not make any request.</p>
</section>
<div id="failed" role="alert" hidden></div>
<section id="reading" aria-label="progress" hidden><progress id="progress" max="1"></progress> <span id="progress-text" role="status"></span> <button type="button" id="cancel">Cancel</button></section>
<section id="result" hidden>
<p id="about" class="faint"></p>
<div id="notes" role="note" hidden></div>
<dl id="figures"></dl>
<h2>Conversations</h2>
<div class="scroll" id="conversations-box" tabindex="-1"><table id="conversations"><thead><tr></tr></thead><tbody></tbody></table></div>
<p id="more-conversations" class="faint" hidden></p>
</section>
<section id="conversation" hidden>
<h2 id="conversation-title"></h2>
<div class="row"><button type="button" id="diagram-psn" aria-pressed="true">PSNs</button><button type="button" id="diagram-latency" aria-pressed="false">Latencies</button><button type="button" id="only">List its packets</button><span class="faint hint">Drag to move, Ctrl or Shift and wheel to zoom (Shift: time only), double-click to zoom in, click a point for its packet, a name below for the next of its kind.</span></div>
<div id="diagrams"></div>
<p id="paired" class="faint"></p>
<div class="scroll"><table id="directions"><thead><tr></tr></thead><tbody></tbody></table></div>
</section>
<section id="details" hidden>
<div id="packets-section"><h2>Packets</h2></div>
<form id="filter-form" class="row" role="search"><input id="filter" type="text" aria-label="filter" placeholder="filter, such as: retransmission or nak" autocomplete="off" autocapitalize="off" spellcheck="false"> <button>Filter</button> <button type="button" id="filter-clear" hidden>Show all</button> <button type="button" id="filter-stop" hidden>Stop</button> <span id="filter-count" class="faint" role="status"></span></form>
<p id="filter-error" role="alert" hidden></p>
<div class="row">${examples.map(([name, filter]) => `<button type="button" data-filter="${escapeHtml(filter)}" title="${escapeHtml(filter)}">${escapeHtml(name)}</button>`).join('')}<button type="button" id="save" title="What verbena trace info --json prints">Save figures as JSON</button></div>
<details id="filter-help"><summary>The filter's fields</summary><p class="faint">Compared with == != &lt; &lt;= &gt; &gt;=, ~ (contains) or in { 1, 3..5 }, joined with and, or, not, ( ). Times take ns, us, ms, s; sizes k, M, G; addresses may be networks. The language of verbena trace show --filter.</p><dl id="filter-fields"></dl></details>
<div id="packets" role="listbox" tabindex="0" aria-label="packets"><div id="packets-head" aria-hidden="true"><span class="n">packet</span><span class="t">s</span><span class="ends">from → to</span><span class="conv">QPs</span><span class="what">operation</span><span class="n psn">PSN</span><span class="n">bytes</span><span class="notes">what it means</span></div><div id="packets-height"></div><div id="packets-lines"></div></div>
<section id="packet" aria-label="packet" hidden></section>
</section>
</main>
<footer>Made by verbena trace page. The page is this one file; what is dropped into it stays in the browser.</footer>`
