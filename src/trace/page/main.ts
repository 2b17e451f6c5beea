/** Script of `verbena trace page`: captures that are dropped into the page, analysed by its worker. */
import { byId, theme } from '../../page/index.ts'
import { byteText, whole } from '../../text/index.ts'
import type { Summary } from '../view/index.ts'
import { Conversation } from './conversation.ts'
import { Conversations } from './conversations.ts'
import { FilterBar } from './filter.ts'
import { Link } from './link.ts'
import { embedded, type Opened, opener } from './opener.ts'
import { showPacket } from './packet.ts'
import { Packets } from './packets.ts'
import { showSummary } from './summary.ts'

const root = document.documentElement
let name = ''
let isRead = false

const link = new Link(byId('worker').textContent, {
  progress({ doneBytes, totalBytes, packets }) {
    byId<HTMLProgressElement>('progress').value = doneBytes / totalBytes
    byId('progress-text').textContent = `${byteText(doneBytes)} of ${byteText(totalBytes)}, ${whole(packets)} packets`
  },
  summary: (summary, complete) => void show(summary, complete).catch(failed),
  failed: (reason) => failed(new Error(reason)),
  filtering: (done) => filter.progress(done),
})
const packets = new Packets(link, (number) => void choosePacket(number, 'list').catch(failed))
const filter = new FilterBar(link, (length, isGrowing) => void packets.reset(length, isGrowing).catch(failed))
const conversations = new Conversations((number) => void chooseConversation(number, true).catch(failed))
const conversation = new Conversation({
  link,
  choosePacket: (number) => void choosePacket(number, 'diagram').catch(failed),
})

function open(capture: Opened): void {
  name = capture.name
  isRead = false
  delete root.dataset.ready
  for (const id of ['welcome', 'failed', 'result', 'details', 'conversation', 'packet']) byId(id).hidden = true
  byId('reading').hidden = false
  byId<HTMLProgressElement>('progress').value = 0
  byId('progress-text').textContent = byteText(capture.blob.size)
  byId('name').textContent = name
  document.title = `${name} – RDMA trace`
  byId('another').hidden = false
  link.open(capture.blob)
}

async function show(summary: Summary, complete: boolean): Promise<void> {
  byId('result').hidden = false
  showSummary(summary)
  conversations.show(summary.conversations, summary.conversationCount)
  if (!complete) return
  isRead = true
  byId('reading').hidden = true
  byId('details').hidden = false
  filter.reset(summary.listed)
  const first = summary.conversations[0]?.number ?? 0
  await Promise.all([packets.reset(summary.listed), chooseConversation(first, false)])
  root.dataset.ready = name
}

/** Chooses a conversation. While the capture is read there is only the table. */
async function chooseConversation(number: number, isAsked: boolean): Promise<void> {
  if (!isRead) return
  conversations.choose(number)
  await conversation.show(number)
  if (isAsked) byId('conversation').scrollIntoView({ block: 'start', behavior: 'smooth' })
}

async function choosePacket(number: number, from: 'list' | 'diagram'): Promise<void> {
  const detail = await link.ask('packet', { number })
  if (detail === null) return
  showPacket(detail, (chosen) => void chooseConversation(chosen, true).catch(failed))
  if (from === 'diagram') await packets.reveal(number)
  else conversation.mark(number)
}

function failed(error: Error): void {
  byId('reading').hidden = true
  const place = byId('failed')
  place.hidden = false
  place.textContent = `${name}: ${error.message}`
  if (!isRead) {
    byId('welcome').hidden = false
    byId('result').hidden = true
  }
}

async function save(): Promise<void> {
  const url = URL.createObjectURL(new Blob([await link.ask('json', {})], { type: 'application/json' }))
  const anchor = document.createElement('a')
  anchor.href = url
  anchor.download = `${name.replace(/\.(pcap|pcapng|cap|gz|zst)+$/g, '')}.json`
  anchor.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

byId('cancel').addEventListener('click', () => link.cancel('load'))
byId('save').addEventListener('click', () => void save().catch(failed))
byId('only').addEventListener('click', () => {
  void filter.apply(`conv == ${conversation.number}`)
  byId('packets-section').scrollIntoView({ block: 'start', behavior: 'smooth' })
})
theme(byId<HTMLSelectElement>('theme'), 'verbena-trace-colours', () => conversation.redraw())
opener(open)
const first = embedded(open)
if (first !== undefined) open(first)
