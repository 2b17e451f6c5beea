/** Contents of a window as figures and text: totals, alerts and anomalies, latencies, changes, agents. */
import { byId, clockText, element } from '../../page/index.ts'
import { bitText, countText, whole } from '../../text/index.ts'
import type { AgentState, LatencyAnswer, WindowAnswer } from '../index.ts'
import type { Update, WindowView } from '../view/index.ts'
import { amountText, boundedText, quantileText } from './format.ts'
import { link, type Open, plainTable, replace } from './tables.ts'

export function showFigures({ rates, totals, flows, hosts, latency }: WindowAnswer): void {
  const range = ({ lower, upper }: { lower: number; upper: number }): string =>
    lower === upper ? '' : `${whole(lower)} to ${whole(upper)}`
  const lost = Math.max(0, totals.missing - totals.late)
  const unseen = totals.dropped + totals.fastPath
  const figures: [name: string, value: string, more: string, isBad?: boolean][] = [
    ['on the wire', bitText(rates.bits), `${amountText(totals.wireBytes, 'bytes')}`],
    ['packets', `${countText(rates.packets)}/s`, `${whole(totals.roce)} of ${whole(totals.packets)} are RDMA`],
    ['messages', `${countText(rates.messages)}/s`, whole(totals.messages)],
    ['flows', `${flows.lower === flows.upper ? '' : 'about '}${whole(flows.value)}`, range(flows)],
    ['hosts', `${hosts.lower === hosts.upper ? '' : 'about '}${whole(hosts.value)}`, range(hosts)],
    ...latencyFigures('ACK latency', latency.ack),
    ...latencyFigures('READ latency', latency.read),
    [
      'missing PSNs',
      whole(lost),
      `${whole(totals.late)} came late, ${whole(totals.retransmission)} sent again`,
      lost > 0,
    ],
    ['ECN marks', whole(totals.marked), `${whole(totals.cnp)} CNPs`],
    ['wrong ICRC', whole(totals.icrc), '', totals.icrc > 0],
  ]
  if (unseen > 0) figures.push(['not followed', whole(unseen), 'packets: dropped or only counted', true])
  replace(
    byId('figures'),
    ...figures.map(([name, value, more, isBad]) =>
      element(
        'div',
        isBad ? { class: 'bad' } : {},
        element('dt', {}, name),
        element('dd', {}, value, element('span', {}, more)),
      ),
    ),
  )
}

function latencyFigures(name: string, latency: LatencyAnswer | null): [string, string, string][] {
  if (latency === null) return []
  const { p50, p99 } = latency
  const [value, bound = ''] = quantileText(p50).split(' ± ')
  return [[name, value!, `median${bound === '' ? '' : ` ± ${bound}`}; 99\u00a0%: ${quantileText(p99)}`]]
}

/** Shows alerts that fire, then the anomalies of the window. */
export function showWrong({ anomalies }: WindowAnswer, { firing, recent, rules }: Update['alerts'], open: Open): void {
  const items = [
    ...firing.map(({ text, since, reasons }) =>
      element(
        'li',
        { class: 'firing' },
        element('b', {}, 'alert'),
        `${text}, since ${clockText(Date.parse(since))}`,
        reasons.length > 0 ? `: ${reasons.join('; ')}` : '',
      ),
    ),
    ...anomalies.map(({ severity, text, fields }) => {
      const host = fields.destination ?? fields.source
      const qp = fields.destination === undefined ? fields.sourceQp : fields.destinationQp
      const see = host === undefined ? '' : link('look', `look ${text}`, () => open({ host, qp: qp ?? null }))
      return element('li', { class: severity }, element('b', {}, severity), text, ' ', see)
    }),
  ]
  const parts: HTMLElement[] = []
  if (items.length > 0) parts.push(element('ul', {}, ...items))
  else
    parts.push(
      element('p', { class: 'faint' }, `Nothing is wrong in this time${rules === 0 ? '' : ', and no alert fires'}.`),
    )
  if (recent.length > 0) {
    const events = recent.map(({ state, text, at, reasons }) => {
      const why = reasons.length > 0 ? `: ${reasons.join('; ')}` : ''
      return element('li', {}, `${clockText(Date.parse(at))} ${state === 'firing' ? 'fired' : 'over'}: ${text}${why}`)
    })
    const before = document.querySelector<HTMLDetailsElement>('#wrong details')?.open === true
    const fold = element(
      'details',
      {},
      element(
        'summary',
        { 'data-key': 'earlier' },
        recent.length === 1 ? 'an earlier alert' : `${recent.length} earlier alerts`,
      ),
      element('ul', {}, ...events),
    )
    fold.open = before
    parts.push(fold)
  }
  replace(byId('wrong'), ...parts)
}

export function showLatencies({ latency, slowestFlows }: WindowAnswer): void {
  const all = [
    ...(latency.ack === null ? [] : [{ flow: 'all requests, to their ACK', latency: latency.ack }]),
    ...(latency.read === null ? [] : [{ flow: 'all READs, to their last response', latency: latency.read }]),
    ...slowestFlows.slice(0, 10),
  ]
  if (all.length === 0) {
    replace(byId('latency-rows'), element('p', { class: 'faint' }, 'None were measured in this time.'))
    return
  }
  const rows = all.map(({ flow, latency: { count, p50, p90, p99, max } }) => [
    ...[flow, whole(count), ...[p50, p90, p99, max].map(quantileText)],
  ])
  replace(byId('latency-rows'), plainTable(['flow', 'measured', '50 %', '90 %', '99 %', 'longest'], rows))
}

export function showChanges({ changes, measure }: WindowAnswer): void {
  byId('changed').hidden = changes.length === 0
  const rows = changes
    .slice(0, 10)
    .map(({ name, before, now, least }) => [
      ...[name, amountText(before, measure), amountText(now, measure)],
      `${least > 0 ? 'more' : 'less'} by ${amountText(Math.abs(least), measure)} at least`,
    ])
  replace(byId('change-rows'), plainTable(['key', 'before', 'now', 'change'], rows))
}

/** Maximum number of rows of agents. */
const mostAgents = 200
const byName = new Intl.Collator('en', { numeric: true })

/**
 * Shows the agents of a collector with their state, those with a problem first; without a collector, the agents that observed the window.
 */
export function showAgents(agents: readonly AgentState[], { agents: names }: WindowAnswer): void {
  const place = byId('agents')
  if (agents.length === 0) {
    replace(place, element('p', {}, names.length === 0 ? 'Nobody saw this window.' : names.join(', ')))
    return
  }
  const isBad = ({ state, aheadSeconds }: AgentState): boolean => state !== 'here' || aheadSeconds > 0
  const sorted = agents.toSorted((a, b) => Number(isBad(b)) - Number(isBad(a)) || byName.compare(a.name, b.name))
  const rows = sorted.slice(0, mostAgents).map((agent) => {
    const { name, state, heardMs, windows, missing, repeated, aheadSeconds } = agent
    const text = { here: 'here', lags: 'lags', vanished: 'has vanished' }[state]
    const ahead = aheadSeconds > 0 ? `, its clock is ${aheadSeconds} s ahead: not merged` : ''
    const cell = element('span', isBad(agent) ? { class: 'bad' } : {}, text + ahead)
    return [name, cell, clockText(Math.floor(heardMs)), whole(windows), whole(missing), whole(repeated)]
  })
  const table = plainTable(['agent', 'state', 'heard', 'windows', 'missing', 'sent again'], rows)
  const left = Math.max(0, agents.length - mostAgents)
  const more = `${whole(left)} more, of ${whole(agents.length)}: ${whole(agents.filter(isBad).length)} of all lag, have vanished, or are ahead.`
  replace(place, table, ...(left > 0 ? [element('p', { class: 'faint' }, more)] : []))
}

/** Returns the text of the window's extent. */
export function aboutText({ windows, answer: { start, seconds, flows } }: WindowView): string {
  const date = new Date(start).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'long' })
  const what =
    windows === 1 ? `Window of ${seconds} s` : `Sum of all ${whole(windows)} windows: ${Number(seconds.toFixed(3))} s`
  return `${what} from ${date}; ${boundedText(flows, whole)} flows`
}
