/** Fastest transport and operation: a map over size and processes, and the recommendations that follow from it as a table. */
import { COLOURS } from '../charts/colours.ts'
import { escapeHtml, formatBytes, formatNs } from '../format.ts'
import { table } from '../page/tables.ts'
import { groupBy, settingNames } from '../settings.ts'
import { type CollectiveEntry, isRoundTrip, kindOf, numberOf, roundTrips } from './collective-set.ts'

type Figure = (entry: CollectiveEntry) => number

export const best: Figure = ({ set }) => set.time.min
export const median: Figure = ({ set }) => set.time.median

interface Place {
  size: number
  processes: number
  winner: CollectiveEntry
  /** Fastest entry among those on which nothing is lost. */
  reliable: CollectiveEntry | undefined
}

interface Field {
  sizes: number[]
  processes: number[]
  places: ReadonlyMap<string, Place>
  kindOf: (entry: CollectiveEntry) => string
}

/**
 * Finds the fastest entry, and the fastest reliable one, of each size and number of processes at which all kinds were measured that some
 * number of processes has with that size: of fewer, as after an interruption, none is the fastest.
 */
function fieldOf(entries: readonly CollectiveEntry[], figure: Figure): Field {
  const measured = roundTrips(entries)
  const { varying } = settingNames(measured)
  const places = new Map<string, Place>()
  const kindsAt = (size: number, processes?: number): number => {
    const there = entries.filter(
      (entry) =>
        isRoundTrip(entry) &&
        numberOf(entry, 'size') === size &&
        (processes === undefined || numberOf(entry, 'processes') === processes),
    )
    return new Set(there.map((entry) => kindOf(entry, varying))).size
  }
  for (const [key, group] of groupBy(measured, (entry) =>
    placeKey(numberOf(entry, 'size'), numberOf(entry, 'processes')),
  )) {
    const [size, processes] = [numberOf(group[0]!, 'size'), numberOf(group[0]!, 'processes')]
    if (kindsAt(size, processes) < kindsAt(size)) continue
    const sorted = group.toSorted((a, b) => figure(a) - figure(b))
    places.set(key, {
      ...{ size, processes, winner: sorted[0]! },
      reliable: sorted.find(({ set }) => set.settings.transport === 'RC'),
    })
  }
  const sorted = (key: 'size' | 'processes'): number[] =>
    [...new Set(measured.map((entry) => numberOf(entry, key)))].sort((a, b) => a - b)
  return { sizes: sorted('size'), processes: sorted('processes'), places, kindOf: (entry) => kindOf(entry, varying) }
}

function placeKey(size: number, processes: number): string {
  return `${size} ${processes}`
}

/** Returns a table whose cells have the colour of the winner. */
export function winnerMap(entries: readonly CollectiveEntry[], figure: Figure, id: string): string {
  const { sizes, processes, places, kindOf: kind } = fieldOf(entries, figure)
  if (places.size === 0) return ''
  const kinds = [...new Set(roundTrips(entries).map(kind))]
  const colourOf = (name: string): string => COLOURS[kinds.indexOf(name) % COLOURS.length]!
  const won = new Set<string>()
  const rows = sizes.map((size) => {
    const cells = processes.map((count) => {
      const place = places.get(placeKey(size, count))
      if (!place) return '<td class="faint">–</td>'
      const name = kind(place.winner)
      won.add(name)
      const title = `${name}, ${formatBytes(size)}, ${count} remote: ${formatNs(figure(place.winner))}`
      return `<td class="won" style="--kind:${colourOf(name)}" title="${escapeHtml(title)}">${escapeHtml(name)}<br><span>${escapeHtml(formatNs(figure(place.winner)))}</span></td>`
    })
    return `<tr><th scope="row">${escapeHtml(formatBytes(size))}</th>${cells.join('')}</tr>`
  })
  const legend = [...won].map((name) => `<span><i style="--kind:${colourOf(name)}"></i>${escapeHtml(name)}</span>`)
  const heads = processes.map((count) => `<th scope="col">${count}</th>`)
  return `<div class="winners"><p class="kinds">${legend.join('')}</p>
<div class="scroll" tabindex="0"><table id="${id}"><thead><tr><th scope="col">size \\ remote processes</th>${heads.join('')}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody></table></div></div>`
}

interface Advice {
  from: number
  to: number
  places: Place[]
}

/** Tabulates recommendations; adjacent numbers of processes with the same answer are one row. */
export function recommendations(entries: readonly CollectiveEntry[]): string {
  const { sizes, processes, places, kindOf: kind } = fieldOf(entries, median)
  if (places.size === 0) return ''
  const answer = ({ winner, reliable }: Place): string => `${kind(winner)}\n${reliable ? kind(reliable) : ''}`
  const rows = sizes.flatMap((size) => {
    const ranges: Advice[] = []
    for (const count of processes) {
      const place = places.get(placeKey(size, count))
      if (!place) continue
      const last = ranges.at(-1)
      if (last && answer(last.places[0]!) === answer(place)) {
        last.to = count
        last.places.push(place)
      } else ranges.push({ from: count, to: count, places: [place] })
    }
    return ranges.map(({ from, to, places: of }) => {
      const { winner, reliable } = of[0]!
      const times = of.map((place) => median(place.winner))
      const slower = of.flatMap((place) => (place.reliable ? [median(place.reliable) / median(place.winner)] : []))
      const factor = slower.length > 0 ? Math.max(...slower) : null
      return [
        { text: formatBytes(size), value: size },
        { text: from === to ? String(from) : `${from} to ${to}`, value: from },
        { text: kind(winner) },
        { text: spanText(times), value: Math.min(...times), number: true },
        { text: reliable ? kind(reliable) : 'none measured' },
        factor === null
          ? { text: '–', value: '' as const }
          : { text: `× ${factor.toFixed(2)}`, value: factor, number: true },
      ]
    })
  })
  return table(
    [
      { text: 'size' },
      { text: 'remote processes' },
      { text: 'fastest' },
      { text: 'median', number: true },
      { text: 'fastest reliable one' },
      { text: 'its time, at most', number: true },
    ],
    rows,
    'recommendations',
  )
}

function spanText(times: readonly number[]): string {
  const [low, high] = [formatNs(Math.min(...times)), formatNs(Math.max(...times))]
  return low === high ? low : `${low} to ${high}`
}
