/**
 * The script of the monitor's live page: an update comes for each window. What is shown is the newest window, or one that was
 * chosen and is held. Everything that comes becomes text, never markup.
 */
import { byId, clockText, theme } from '../../page/index.ts'
import type { Update, WindowView } from '../view/index.ts'
import { Bursts } from './bursts.ts'
import { Connection } from './connection.ts'
import { Detail } from './detail.ts'
import { aboutText, showAgents, showChanges, showFigures, showLatencies, showWrong } from './facts.ts'
import { showHeat } from './heat.ts'
import { Keys } from './keys.ts'
import { Series } from './series.ts'

const hold = byId<HTMLButtonElement>('hold')
let held: WindowView | undefined
let newest: Update | undefined
let run: string | undefined

const connection = new Connection({
  hello: (hello) => {
    byId('login').hidden = true
    if (run !== undefined && hello.run !== run) forget()
    run = hello.run
    keys.hello(hello)
  },
  update: (update) => {
    newest = update
    series.add(update.points)
    bursts.add(update.bursts)
    bursts.show(update.oldest)
    show()
  },
  lost: (reason) => say(reason, true),
  rejected: (hadToken) => {
    byId('login').hidden = false
    byId('refused').textContent = hadToken ? 'This is not the token.' : ''
    say('the monitor asks for a token', false)
    byId('token').focus()
  },
})
const series = new Series((window) => void choose(window).catch(({ message }: Error) => say(message, true)))
const bursts = new Bursts(connection)
const detail = new Detail(connection)
const keys = new Keys(connection, detail.open)

/** The monitor was started anew: its windows have other numbers. */
function forget(): void {
  newest = undefined
  document.querySelector('main')!.hidden = true
  delete document.documentElement.dataset.window
  series.clear()
  bursts.clear()
  keys.clear()
  detail.clear()
  setHeld(undefined)
}

function say(text: string, isBad: boolean): void {
  byId('status').textContent = text
  byId('status').className = isBad ? 'bad' : ''
}

function show(): void {
  const view = held ?? newest?.window
  if (newest === undefined || view === null || view === undefined) {
    say('no window has ended yet', false)
    return
  }
  document.querySelector('main')!.hidden = false
  const { answer, heat, number } = view
  const { late, skipped, isOver, alerts, agents } = newest
  const last = newest.window?.answer.startMs ?? answer.startMs
  const state = isOver ? 'all was read' : 'live'
  const notes = [
    held === undefined
      ? `${state}, ${clockText(last)}`
      : `held at ${clockText(answer.startMs)}, ${state} at ${clockText(last)}`,
    ...(late > 0 ? [`${late} windows came too late to be merged`] : []),
    ...(skipped > 0 ? [`${skipped} updates left out, since this page was too slow`] : []),
  ]
  say(notes.join(' · '), false)
  byId('about').textContent = aboutText(answer)
  showFigures(answer)
  showWrong(answer, alerts, detail.open)
  series.show(number)
  keys.show(view)
  detail.show(view)
  showHeat(heat, detail.open)
  showLatencies(answer)
  showChanges(answer)
  showAgents(agents, answer)
  document.documentElement.dataset.window = String(number)
}

async function choose(window: number): Promise<void> {
  setHeld(await connection.ask({ ask: 'window', window }))
}

function setHeld(view: WindowView | undefined): void {
  held = view
  hold.setAttribute('aria-pressed', String(view !== undefined))
  hold.textContent = view === undefined ? 'Hold' : 'Go on'
  show()
}

hold.addEventListener('click', () => setHeld(held === undefined ? (newest?.window ?? undefined) : undefined))
byId('login').addEventListener('submit', (event) => {
  event.preventDefault()
  connection.token = byId<HTMLInputElement>('token').value
})
theme(byId<HTMLSelectElement>('theme'), 'verbena-monitor-colours', () => {})
