/**
 * Who gives sockets time in the event loop of a thread. Sockets that somebody watches, or that have something left to do,
 * are members. A member is *hot* while something may come for it that nobody would be told of; hot ones get a turn each
 * time round the event loop. When nothing has happened for a while they are armed, and the loop waits for an event of
 * their completion channel instead. So thousands of idle connections cost nothing, and busy ones no sleep.
 */
import { inRootContext, nowNs } from '../../memory/index.ts'

export interface Member {
  /** Takes what has come and calls those that wait for it; true if anything happened. */
  turn(): boolean
  /** Arms the completion event; what has come already is reported now, and true returned. */
  arm(): boolean
}

/** Where completion events come from: a completion channel that members are armed on. */
export interface EventSource {
  /** Takes the events that are there: their members become hot. */
  collect(): void
  /** Waits in the event loop for the next one. */
  wait(): void
}

/** So long the loop goes on looking after something has happened. A sleep and its end cost about as much. */
const spinNs = 100e3
/** Turns between two looks at the completion channel while there are hot members. */
const collectEvery = 8

const hot = new Set<Member>()
const sources = new Set<EventSource>()
let running = false
let lastActiveNs = 0
let turns = 0

/** Gives the member a turn soon. */
export function heat(member: Member): void {
  hot.add(member)
  run()
}

/** Whether the loop gives turns, and will have the sources wait when it ends. */
export function givesTurns(): boolean {
  return running
}

export function forget(member: Member): void {
  hot.delete(member)
}

/** A source has members that are watched. */
export function use(source: EventSource): void {
  sources.add(source)
}

/** It has none any more. */
export function leave(source: EventSource): void {
  sources.delete(source)
}

function run(): void {
  if (running) return
  running = true
  lastActiveNs = nowNs()
  inRootContext(soon)
}

function soon(): void {
  setImmediate(turn)
}

function turn(): void {
  let active = true
  try {
    active = round()
  } finally {
    // A callback that throws stops nobody else.
    if (active) {
      lastActiveNs = nowNs()
      setImmediate(turn)
    } else if (hot.size > 0 && nowNs() - lastActiveNs < spinNs) setImmediate(turn)
    else rest()
  }
}

/** Gives each hot member a turn; whether anything happened. */
function round(): boolean {
  let active = false
  turns = (turns + 1) % collectEvery
  if (turns === 0) for (const source of sources) source.collect()
  for (const member of hot) if (member.turn()) active = true
  return active && hot.size > 0
}

/** Leaves what comes to events. */
function rest(): void {
  running = false
  const resting = [...hot]
  hot.clear()
  let armed = 0
  try {
    // Looking for one may bring something for another: that one is hot again, whether it was armed before or not.
    for (const member of resting) {
      armed++
      if (member.arm()) hot.add(member)
    }
  } finally {
    // A callback that throws stops nobody else.
    for (const member of resting.slice(armed)) hot.add(member)
    if (hot.size > 0) run()
    for (const source of sources) source.wait()
  }
}
