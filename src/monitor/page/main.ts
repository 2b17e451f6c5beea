/**
 * Script of the monitor's live page: an update comes for each window. It shows the newest window, or once all was read, the sum of all, if
 * there is one; or a window that was chosen and is held. All received data becomes text, never markup.
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

/** Discards the state after a restart of the monitor, whose windows have other numbers. */
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

/** Returns the window that is shown while none is held. */
function usual(): WindowView | null | undefined {
  return newest?.sum ?? newest?.window
}

function show(): void {
  const view = held ?? usual()
  showHold()
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
  byId('about').textContent = aboutText(view)
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
  show()
}

/** Shows the button for holding a window; once there is a sum of all windows, it is the way back to that sum. */
function showHold(): void {
  const hasSum = newest?.sum != null
  hold.hidden = hasSum && held === undefined
  hold.setAttribute('aria-pressed', String(held !== undefined && !hasSum))
  hold.textContent = held === undefined ? 'Hold' : hasSum ? 'All windows' : 'Go on'
}

hold.addEventListener('click', () => setHeld(held === undefined ? (usual() ?? undefined) : undefined))
byId('login').addEventListener('submit', (event) => {
  event.preventDefault()
  connection.token = byId<HTMLInputElement>('token').value
})
theme(byId<HTMLSelectElement>('theme'), 'verbena-monitor-colours', () => {})
