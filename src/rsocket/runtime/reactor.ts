/**
 * Drives sockets in the event loop of a thread. Sockets that a program watches, or that have work left, are members. A member is *active*
 * while it is polled: it gets a turn in each iteration of the event loop. When nothing has happened for a while (memory/polling.ts), active
 * members are armed, and the reactor waits for an event of their completion channel instead. So thousands of idle connections cost nothing,
 * and busy ones never sleep.
 */
import { inRootContext, nowNs, Polling } from '../../memory/index.ts'

export interface Member {
  /** Takes received messages and calls the watches that wait for them; returns true if anything happened. */
  turn(): boolean
  /** Arms the completion event, after a turn that returned false. Reports what has arrived since then, and returns true in that case. */
  arm(): boolean
}

/** Source of completion events: a completion channel on which members are armed. */
export interface EventSource {
  /** Takes the available events: their members become active. */
  collect(): void
  /** Polls for all members at once; those with input become active. */
  poll(): void
  /** Waits in the event loop for the next event. */
  wait(): void
}

/** Number of iterations between two polls of the completion channel while there are active members. */
const collectEvery = 8

const active = new Set<Member>()
/** Members that have become active in this round: their turns come in the next iteration. */
const later = new Set<Member>()
const sources = new Set<EventSource>()
const polling = new Polling()
let running = false
let inRound = false
let turns = 0

/**
 * Polls the member from the next iteration on. Callbacks that this iteration has resolved run first: for example, a program's `once(server,
 * 'connection')` has no listener before for what the member delivers.
 */
export function activate(member: Member): void {
  if (inRound) later.add(member)
  else active.add(member)
  run()
}

/** Activates a member that has received something, unless it is active: then it looks at that in its turn, or when it is armed. */
export function activateResting(member: Member): void {
  if (!active.has(member)) activate(member)
}

/** True while members get turns; when that ends, the sources wait. */
export function givesTurns(): boolean {
  return running
}

export function forget(member: Member): void {
  active.delete(member)
  later.delete(member)
}

/** Registers a source, whose members are watched. */
export function use(source: EventSource): void {
  sources.add(source)
}

/** Removes a source that has no members any more. */
export function leave(source: EventSource): void {
  sources.delete(source)
}

function run(): void {
  if (running) return
  running = true
  polling.leave()
  inRootContext(soon)
}

function soon(): void {
  setImmediate(turn)
}

function turn(): void {
  let happened = true
  try {
    happened = round()
  } finally {
    // A callback that throws must not stop the other members.
    if (happened) {
      if (polling.polls) polling.came(nowNs())
      setImmediate(turn)
    } else if (active.size > 0 && polling.goesOn(nowNs())) setImmediate(turn)
    else rest()
  }
}

/** Gives each active member a turn; returns true if anything happened. */
function round(): boolean {
  let happened = false
  turns = (turns + 1) % collectEvery
  for (const source of sources) {
    if (turns === 0) source.collect()
    source.poll()
  }
  inRound = true
  try {
    for (const member of active) if (member.turn()) happened = true
  } finally {
    inRound = false
    // They have their first turn before any member rests.
    if (later.size > 0) happened = true
    for (const member of later) active.add(member)
    later.clear()
  }
  return happened && active.size > 0
}

/** Arms all members, so that events report new input. */
function rest(): void {
  running = false
  const resting = [...active]
  active.clear()
  let armed = 0
  try {
    // Arming one member may bring input for another, which is then active again, whether it was armed before or not.
    for (const member of resting) {
      armed++
      if (member.arm()) active.add(member)
    }
  } finally {
    // A callback that throws must not stop the other members.
    for (const member of resting.slice(armed)) active.add(member)
    if (active.size > 0) run()
    for (const source of sources) source.wait()
  }
}
