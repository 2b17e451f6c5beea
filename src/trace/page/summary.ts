/** Summary of the capture: its figures, and its problems. */
import { byId, element } from '../../page/index.ts'
import { byteText, spanText, whole } from '../../text/index.ts'
import { describeDamage, utcText } from '../index.ts'
import type { Summary } from '../view/index.ts'

const mostDamage = 10

export function showSummary(summary: Summary): void {
  const { packets, roce, wireBytes, durationSeconds, icrcInvalid, malformed, cut, tally, conversationCount } = summary
  const unknown = roce - tally.icrcValid - icrcInvalid
  const figures: [name: string, value: string, isBad?: boolean][] = [
    ['packets', whole(packets)],
    ['of RDMA', whole(roce)],
    ['on the wire', byteText(wireBytes)],
    ['duration', spanText(durationSeconds * 1e9)],
    ['conversations', whole(conversationCount)],
    ['ICRC valid', whole(tally.icrcValid)],
    ['ICRC wrong', whole(icrcInvalid), icrcInvalid > 0],
    ...(unknown > 0 ? [['ICRC not captured', whole(unknown)] as [string, string]] : []),
    ['malformed', whole(malformed), malformed > 0],
    ['retransmissions', whole(tally.retransmissions), tally.retransmissions > 0],
    ['gaps', whole(tally.gaps), tally.gaps > 0],
    ['NAKs', whole(tally.naks), tally.naks > 0],
    ['RNR NAKs', whole(tally.rnrNaks), tally.rnrNaks > 0],
    ['CNPs', whole(tally.cnps), tally.cnps > 0],
    ...(cut > 0 ? [['cut by the capture', whole(cut)] as [string, string]] : []),
  ]
  byId('figures').replaceChildren(
    ...figures.map(([name, value, isBad]) =>
      element('div', isBad ? { class: 'bad' } : {}, element('dt', {}, name), element('dd', {}, value)),
    ),
  )
  byId('about').textContent = about(summary)
  const notes = notesOf(summary)
  const place = byId('notes')
  place.hidden = notes.length === 0
  place.replaceChildren(element('ul', {}, ...notes.map((note) => element('li', {}, note))))
}

function about({ format, interfaces, start, connectionMessages }: Summary): string {
  const parts = [format ?? '']
  for (const { name, linkType } of interfaces.slice(0, 4)) parts.push(name === null ? linkType : `${name}: ${linkType}`)
  if (interfaces.length > 4) parts.push(`${interfaces.length} interfaces`)
  if (start !== null) parts.push(`from ${utcText(start)}`)
  const messages = Object.entries(connectionMessages).map(([type, count]) => `${whole(count)} ${type}`)
  if (messages.length > 0) parts.push(`connection messages: ${messages.join(', ')}`)
  return parts.join(' · ')
}

function notesOf(summary: Summary): string[] {
  const { packets, roce, listed, cancelled, listingCancelled, damage, damageCount, uncounted, interfaces } = summary
  const notes: string[] = []
  if (cancelled) notes.push(`Cancelled after packet ${whole(packets)}: the rest of the file was not read.`)
  if (damageCount > 0) {
    const places = damageCount === 1 ? 'one place' : `${whole(damageCount)} places`
    notes.push(`The file is damaged in ${places}; all that can be read is shown.`)
    notes.push(...damage.slice(0, mostDamage).map(describeDamage))
    if (damageCount > mostDamage) notes.push(`… and ${whole(damageCount - mostDamage)} more`)
  }
  if (packets > 0 && roce === 0) notes.push('There is no RDMA packet in this capture.')
  if (packets === 0 && !cancelled) notes.push('There is no packet in this capture.')
  if (listingCancelled)
    notes.push(
      `Cancelled while the list was made: it and the diagrams end with packet ${whole(listed)}; the figures have all.`,
    )
  else if (listed < packets) notes.push(`The first ${whole(listed)} packets are listed; all are counted and analysed.`)
  if (uncounted > 0) notes.push(`${whole(uncounted)} packets of flows for which there was no room are only counted.`)
  for (const { name, packetsDropped } of interfaces)
    if (packetsDropped)
      notes.push(`${whole(packetsDropped)} packets were dropped by the capture${name ? ` on ${name}` : ''}.`)
  return notes
}
