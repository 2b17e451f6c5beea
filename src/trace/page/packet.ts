/** One packet: its headers field by field, its bytes, and the bytes of each header. */
import { button, byId, element } from '../../page/index.ts'
import { whole } from '../../text/index.ts'
import type { Layer } from '../index.ts'
import type { PacketDetail } from '../view/index.ts'

const perLine = 16
const mostLines = 64

/** @param choose receives the number of the conversation if the user follows the link to it */
export function showPacket(detail: PacketDetail, choose: (conversation: number) => void): void {
  const { title, conversation, facts, notes, layers, bytes } = detail
  const place = byId('packet')
  place.hidden = false
  const head = element('h3', {}, title)
  if (conversation !== null)
    head.append(
      ' ',
      button(`conversation #${conversation}`, 'Show its conversation', () => choose(conversation)),
    )
  const hex = element('div', { class: 'hex' }, ...hexLines(bytes, layers, mostLines))
  const rest = Math.ceil(bytes.length / perLine) - mostLines
  const more = button(`… ${whole(rest * perLine)} bytes more`, 'Show all bytes', () => {
    hex.replaceChildren(...hexLines(bytes, layers, Number.POSITIVE_INFINITY))
    more.remove()
  })
  const fields = element('div', { class: 'layers' }, ...layers.map((layer, i) => layerElement(layer, i, hex)))
  const about = element('ul', { class: 'facts' }, ...[...notes, ...facts].map((note) => element('li', {}, note)))
  const right = element('div', { class: 'bytes' }, hex, ...(rest > 0 ? [more] : []))
  place.replaceChildren(head, about, element('div', { class: 'columns' }, fields, right))
}

function layerElement({ title, start, end, fields }: Layer, index: number, hex: HTMLElement): HTMLElement {
  const isWrong = title.includes('WRONG') || fields.some(({ text }) => text.includes('WRONG'))
  const summary = element(
    'summary',
    isWrong ? { class: 'bad' } : {},
    title,
    ' ',
    element('span', { class: 'range' }, `[${start}, ${end})`),
  )
  const list = element(
    'dl',
    {},
    ...fields.map(({ name, text, depth = 0 }) =>
      element(
        'div',
        { class: `depth-${depth}${text.includes('WRONG') ? ' bad' : ''}` },
        element('dt', {}, name),
        element('dd', {}, text),
      ),
    ),
  )
  const layer = element('details', { open: '' }, summary, list)
  const light = (isOn: boolean) => () => {
    for (const part of hex.querySelectorAll(`[data-layer="${index}"]`)) part.classList.toggle('on', isOn)
  }
  layer.addEventListener('mouseenter', light(true))
  layer.addEventListener('mouseleave', light(false))
  layer.addEventListener('focusin', light(true))
  layer.addEventListener('focusout', light(false))
  return layer
}

/** Returns lines of sixteen bytes: offset, hexadecimal, characters; each byte refers to the last header that it belongs to. */
function hexLines(bytes: Uint8Array, layers: readonly Layer[], most: number): HTMLElement[] {
  const lines: HTMLElement[] = []
  const layerOf = (at: number): number => layers.findLastIndex(({ start, end }) => at >= start && at < end)
  for (let from = 0; from < bytes.length && lines.length < most; from += perLine) {
    const line = element('div', {}, element('span', { class: 'offset' }, from.toString(16).padStart(4, '0')), ' ')
    const to = Math.min(bytes.length, from + perLine)
    let text = ''
    for (let at = from; at < to; ) {
      const layer = layerOf(at)
      let hex = ''
      for (; at < to && layerOf(at) === layer; at++) {
        const byte = bytes[at]!
        hex += `${byte.toString(16).padStart(2, '0')} `
        text += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'
      }
      line.append(element('span', { 'data-layer': String(layer), class: `tint-${layer % 2}` }, hex))
    }
    line.append('   '.repeat(perLine - (to - from)), element('span', { class: 'characters' }, ` ${text}`))
    lines.push(line)
  }
  return lines
}
