/** One packet as many lines: `show --verbose` and `--hex`. */
import { type CapturedPacket, linkTypeName } from '../capture/index.ts'
import { timeText } from '../text/index.ts'
import { notesOf } from './describe.ts'
import type { Dissection } from './dissect.ts'
import type { Layer } from './layers.ts'
import { layersOf } from './network-layers.ts'
import type { Row } from './row.ts'
import { type Paint, plain } from './style.ts'
import { utcText } from './time-text.ts'

/** Yields the headers field by field, and the verdict of the analysis on the packet. */
export function* verboseLines(
  row: Row,
  packet: CapturedPacket,
  d: Dissection,
  paint: Paint = plain,
): Generator<string> {
  const cut = packet.length < packet.originalLength ? `, ${packet.length} captured` : ''
  yield paint('title', `Packet ${row.number}, ${packet.originalLength} bytes${cut}`)
  if (row.epoch !== undefined) yield `    Captured: ${utcText(row.epoch.seconds, row.epoch.nanoseconds)}`
  yield `    Since the first packet: ${row.time.toFixed(9)} s; since the one before: ${timeText(row.delta * 1e9)}`
  yield `    Link type: ${linkTypeName(packet.linkType)}; interface ${packet.interfaceId}`
  for (const layer of layersOf(packet, d)) yield* layerLines(layer, paint)
  if (row.kind !== 'other') yield* analysisLines(row, paint)
}

function* layerLines({ title, start, end, fields }: Layer, paint: Paint): Generator<string> {
  const isWrong = title.includes('WRONG') || fields.some(({ text }) => text.includes('WRONG'))
  yield paint(isWrong ? 'bad' : 'title', `${title}${paint('dim', `  [${start}, ${end})`)}`)
  for (const { name, text, depth = 0 } of fields)
    yield `${' '.repeat(4 + 4 * depth)}${name}${text === '' ? '' : `: ${text}`}`
}

function* analysisLines(row: Row, paint: Paint): Generator<string> {
  yield paint('title', row.conversation === undefined ? 'Analysis' : `Analysis, conversation ${row.conversation}`)
  if (row.srcQp !== undefined) yield `    Sending QP: 0x${row.srcQp.toString(16)}`
  for (const note of notesOf(row)) yield `    ${note[0]!.toUpperCase()}${note.slice(1)}`
}

const perLine = 16

/** Yields all captured bytes, sixteen a line: offset, hexadecimal, characters. */
export function* hexLines({ bytes, offset, length }: CapturedPacket): Generator<string> {
  for (let at = 0; at < length; at += perLine) {
    const count = Math.min(perLine, length - at)
    let hex = ''
    let text = ''
    for (let i = 0; i < count; i++) {
      const byte = bytes[offset + at + i]!
      hex += `${i === perLine / 2 ? ' ' : ''} ${byte.toString(16).padStart(2, '0')}`
      text += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'
    }
    yield `${at.toString(16).padStart(4, '0')} ${hex.padEnd(3 * perLine + 1)}  ${text}`
  }
}
