/** Diagrams of the table of states, in Mermaid, for docs/internals/cm.md. */
import { type CmFigure, type CmTransition, cmFigures, cmGuards } from './states.ts'

/**
 * Returns a diagram of the transitions between the states of a connection. Rows that only answer or repeat are left out; where ESTABLISHED
 * and the states of an alternate path do the same, ESTABLISHED stands for all.
 */
export function cmDiagram(figures: readonly CmFigure[]): string {
  const edges = new Map<string, string[]>()
  for (const row of figures.flatMap((figure) => cmFigures[figure]))
    for (const from of row.from) {
      if (row.to === undefined || row.to === from) continue
      if (from.includes('LAP') && row.from.includes('ESTABLISHED')) continue
      const edge = `${name(from)} --> ${name(row.to)}`
      const labels = edges.get(edge) ?? []
      edges.set(edge, labels)
      labels.push(labelOf(row))
    }
  const lines = [...edges].map(([edge, labels]) => `  ${edge}: ${labels.join('<br>')}`)
  return ['stateDiagram-v2', ...lines].join('\n')
}

/** `trigger [condition] / message sent`. */
function labelOf({ on, when, send }: CmTransition): string {
  const condition = when === undefined ? '' : ` [${cmGuards[when].replaceAll(':', ',')}]`
  return `${on}${condition}${send === undefined || send === on ? '' : ` / ${send}`}`
}

const name = (state: string): string => (state === 'IDLE' ? '[*]' : state)
