/** Contents of the page before its script has anything to show. */
export const pageBody = `<header>
<h1>RDMA monitor</h1><p id="status" role="status">connecting …</p>
<button type="button" id="hold" aria-pressed="false" title="Keep what is shown while new windows come">Hold</button>
<label class="faint">Colours <select id="theme"><option value="">as the system</option><option value="light">light</option><option value="dark">dark</option></select></label>
</header>
<form id="login" hidden><label>Token <input id="token" type="password" autocomplete="current-password" required></label> <button>Show</button> <span id="refused" role="alert"></span></form>
<main hidden>
<p id="about" class="faint"></p>
<dl id="figures"></dl>
<section id="wrong" aria-label="alerts and anomalies"></section>
<section id="series"><h2>Over time</h2><p class="faint">Exact counters of each window. Click a window to look at it again; arrow keys and Enter do the same.</p><div class="charts"><figure id="bits"></figure><figure id="packets"></figure><figure id="events"></figure></div></section>
<section id="detail" hidden></section>
<section id="keys"><h2>Largest keys</h2><div class="row"><label>Key <select id="by"></select></label><label>of <select id="of"></select></label></div><div id="key-rows"></div></section>
<section id="map"><h2>Hosts × hosts</h2><div id="heat"></div></section>
<section id="microbursts"><h2>Microbursts</h2><p class="faint">Of all windows so far, the newest first: click one to see its rates.</p><div id="burst-rows"></div><div id="burst" hidden></div></section>
<section id="latency"><h2>Latencies</h2><div id="latency-rows"></div></section>
<section id="changed" hidden><h2>Changes to the window before</h2><div id="change-rows"></div></section>
<section id="watchers"><h2>Who watches</h2><div id="agents"></div></section>
</main>
<footer class="faint">Counters are exact. Numbers of keys come from sketches: the true one lies from “at least” to “at most”, at a confidence of 95 % if nothing else is said.</footer>`
