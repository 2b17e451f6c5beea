/** Diagrams of the conversation that the page shows: made on the first request, kept until another one is chosen. */
import type { Flow } from '../index.ts'
import type { CaptureView } from './capture-view.ts'
import { type Level, levelsOf } from './levels.ts'
import type { DiagramInfo, DiagramName } from './protocol.ts'
import { latenciesOf, sequenceOf } from './sequence.ts'
import { shapeCount } from './shape.ts'

export interface Diagram {
  info: DiagramInfo
  levels: Level[]
}

export class Diagrams {
  readonly #view: CaptureView
  readonly #made = new Map<string, Diagram>()
  #conversation = 0

  constructor(view: CaptureView) {
    this.#view = view
  }

  get({ conversation, direction, diagram }: DiagramName): Diagram {
    if (conversation !== this.#conversation) this.#made.clear()
    this.#conversation = conversation
    const key = `${direction} ${diagram}`
    const known = this.#made.get(key)
    if (known !== undefined) return known
    const flow = flowsOf(this.#view, conversation)[direction]
    const made = flow === undefined ? nothing : diagram === 'psn' ? this.#psn(flow) : this.#latency(flow)
    this.#made.set(key, made)
    return made
  }

  #psn(flow: Flow): Diagram {
    const sequence = sequenceOf(this.#view, flow)
    const { count, time, firstPsn, restarts, lowest, highest, shapes } = sequence
    return {
      info: {
        ...{ count, firstPsn, restarts, lowest, highest, shapes },
        fromNs: time[0] ?? 0,
        toNs: time[count - 1] ?? 0,
      },
      levels: levelsOf(sequence),
    }
  }

  #latency(flow: Flow): Diagram {
    const points = latenciesOf(this.#view, flow)
    const { count, time, psn, shape } = points
    const shapes = new Array<number>(shapeCount).fill(0)
    for (const one of shape) shapes[one]!++
    const [lowest, highest] = psn.reduce(
      ([low, high], step) => [Math.min(low, step), Math.max(high, step)] as [number, number],
      [psn[0] ?? 0, psn[0] ?? 0] as [number, number],
    )
    return {
      info: {
        ...{ count, shapes, lowest, highest, firstPsn: 0, restarts: 0 },
        fromNs: time[0] ?? 0,
        toNs: time[count - 1] ?? 0,
      },
      levels: levelsOf(points),
    }
  }
}

const nothing: Diagram = {
  info: {
    count: 0,
    fromNs: 0,
    toNs: 0,
    lowest: 0,
    highest: 0,
    firstPsn: 0,
    restarts: 0,
    shapes: new Array(shapeCount).fill(0),
  },
  levels: [
    {
      points: {
        count: 0,
        time: new Float64Array(),
        psn: new Int32Array(),
        shape: new Uint8Array(),
        packet: new Uint32Array(),
      },
      cellNs: 0,
      cellPsns: 0,
    },
  ],
}

/** Returns the flows of a conversation, in the order of its directions; none if there is no such conversation. */
export function flowsOf({ analysis }: CaptureView, conversation: number): Flow[] {
  const first = analysis.table.flows.find(({ number }) => number === conversation)
  if (first === undefined) return []
  return first.peer === undefined || first.peer === first ? [first] : [first, first.peer]
}
