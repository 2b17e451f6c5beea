/** Drawing of a diagram: axes, points or runs of pixels, the line of the ACKs, and the marked packet. */

import { type Tick, timeTicks } from '../../page/index.ts'
import {
  type DiagramInfo,
  type DiagramKind,
  type Picture,
  type Points,
  Shape,
  type Spot,
  type Window,
} from '../view/index.ts'
import { countTicks, latencyTicks, psnTicks } from './axis.ts'

export interface Frame {
  left: number
  top: number
  width: number
  height: number
}

export interface Drawing {
  window: Window
  /** Picture that the worker has sent, and the window that it is for. */
  drawn: { picture: Picture; window: Window } | undefined
  /** Colour of each Shape. */
  colours: readonly string[]
  info: DiagramInfo
  diagram: DiagramKind
  marked?: Spot
}

/** Returns the space inside the axes. */
export function frameOf(width: number, height: number): Frame {
  // A PSN of eight digits has room in wide fonts, too.
  const left = width < 500 ? 72 : 78
  return { left, top: 8, width: Math.max(1, width - left - 10), height: Math.max(1, height - 8 - 26) }
}

export function paint(canvas: HTMLCanvasElement, drawing: Drawing): void {
  const pen = canvas.getContext('2d')
  const [width, height] = [canvas.clientWidth, canvas.clientHeight]
  if (pen === null || width === 0 || height === 0) return
  const scale = devicePixelRatio
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)]
  if (canvas.width !== across) canvas.width = across
  if (canvas.height !== down) canvas.height = down
  pen.setTransform(scale, 0, 0, scale, 0, 0)
  pen.clearRect(0, 0, width, height)
  const frame = frameOf(width, height)
  axes(pen, frame, drawing, getComputedStyle(canvas))
  pen.save()
  pen.beginPath()
  pen.rect(frame.left, frame.top, frame.width, frame.height)
  pen.clip()
  const { drawn } = drawing
  if (drawn?.picture.kind === 'runs') runs(pen, frame, drawing, drawn.picture, drawn.window)
  else if (drawn !== undefined) points(pen, frame, drawing, drawn.picture.points)
  mark(pen, frame, drawing, getComputedStyle(canvas).color)
  pen.restore()
}

function axes(
  pen: CanvasRenderingContext2D,
  frame: Frame,
  { window, info, diagram }: Drawing,
  style: CSSStyleDeclaration,
): void {
  const { left, top, width, height } = frame
  const { fromNs, toNs, low, high } = window
  const lines = style.borderTopColor
  pen.font = '12px system-ui, sans-serif'
  pen.lineWidth = 1
  pen.strokeStyle = lines
  pen.fillStyle = style.outlineColor
  const most = height / 36
  const up = diagram === 'latency' ? latencyTicks(low, high, most) : ticksOf(info, low, high, most)
  pen.textAlign = 'right'
  pen.textBaseline = 'middle'
  for (const { value, text } of up) {
    const y = top + ((high - value) / (high - low)) * height
    pen.beginPath()
    pen.moveTo(left, Math.round(y) + 0.5)
    pen.lineTo(left + width, Math.round(y) + 0.5)
    pen.stroke()
    pen.fillText(text, left - 6, Math.min(top + height - 4, Math.max(top + 6, y)))
  }
  pen.textBaseline = 'alphabetic'
  for (const { value, text } of timeTicks(fromNs, toNs, width / 110)) {
    const x = left + ((value - fromNs) / (toNs - fromNs)) * width
    pen.beginPath()
    pen.moveTo(Math.round(x) + 0.5, top)
    pen.lineTo(Math.round(x) + 0.5, top + height)
    pen.stroke()
    const half = pen.measureText(text).width / 2
    pen.textAlign = 'center'
    pen.fillText(text, Math.max(half, Math.min(left + width - half, x)), top + height + 17)
  }
}

function ticksOf({ restarts, firstPsn }: DiagramInfo, low: number, high: number, most: number): Tick[] {
  return restarts === 0 ? psnTicks(low, high, most, firstPsn) : countTicks(low, high, most)
}

/** Draws the runs that the worker made for one window as they appear in another one. */
function runs(
  pen: CanvasRenderingContext2D,
  frame: Frame,
  { window: to, colours, info, diagram }: Drawing,
  { runs: list, count }: Extract<Picture, { kind: 'runs' }>,
  from: Window,
): void {
  const nsPerColumn = (from.toNs - from.fromNs) / from.width
  const psnsPerRow = (from.high - from.low) / from.height
  const xPerNs = frame.width / (to.toNs - to.fromNs)
  const yPerPsn = frame.height / (to.high - to.low)
  const columnWidth = nsPerColumn * xPerNs
  const rowHeight = psnsPerRow * yPerPsn
  const x0 = frame.left + (from.fromNs - to.fromNs) * xPerNs
  const y0 = frame.top + (to.high - from.high) * yPerPsn
  let shape = -1
  let least = 0
  pen.lineWidth = 1
  pen.strokeStyle = colours[Shape.Ack] ?? ''
  pen.beginPath()
  let acked = Number.NaN
  for (let i = 0; i < count * 4; i += 4) {
    if (list[i + 3] !== shape) {
      if (shape === Shape.Ack) pen.stroke()
      shape = list[i + 3]!
      pen.fillStyle = colours[shape] ?? ''
      least = leastSize(info.shapes[shape]!)
    }
    const x = x0 + list[i]! * columnWidth
    const y = y0 + list[i + 1]! * rowHeight
    if (shape === Shape.Ack && diagram === 'psn' && y !== acked) {
      // The acknowledged PSNs, as a staircase: through the highest of each column, which comes first.
      if (!Number.isNaN(acked)) pen.lineTo(x, acked)
      pen.lineTo(x, y)
      acked = y
    }
    const width = Math.max(least, columnWidth)
    const height = Math.max(least, (list[i + 2]! - list[i + 1]! + 1) * rowHeight)
    pen.fillRect(x - (width - columnWidth) / 2, y - (height - rowHeight) / 2, width, height)
  }
}

/** Returns the size in pixels of a point of a shape that has `count` points: rare shapes stay visible among frequent ones. */
function leastSize(count: number): number {
  return count < 200 ? 4 : count < 2000 ? 2.5 : 1.2
}

function points(
  pen: CanvasRenderingContext2D,
  frame: Frame,
  { window, colours, diagram }: Drawing,
  list: Points,
): void {
  const xPerNs = frame.width / (window.toNs - window.fromNs)
  const yPerPsn = frame.height / (window.high - window.low)
  const x = (i: number): number => frame.left + (list.time[i]! - window.fromNs) * xPerNs
  const y = (psn: number): number => frame.top + (window.high - psn) * yPerPsn
  if (diagram === 'psn') ackLine(pen, colours[Shape.Ack] ?? '', list, x, y, frame)
  for (const shape of Object.values(Shape)) {
    pen.fillStyle = colours[shape] ?? ''
    pen.strokeStyle = colours[shape] ?? ''
    for (let i = 0; i < list.count; i++)
      if (list.shape[i] === shape) symbol(pen, shape, x(i), y(list.psn[i]!), yPerPsn, diagram)
  }
}

/** Draws the acknowledged PSN at each time, as a staircase. */
function ackLine(
  pen: CanvasRenderingContext2D,
  colour: string,
  list: Points,
  x: (i: number) => number,
  y: (psn: number) => number,
  frame: Frame,
): void {
  pen.strokeStyle = colour
  pen.lineWidth = 1.2
  pen.beginPath()
  let last = Number.NaN
  for (let i = 0; i < list.count; i++) {
    if (list.shape[i] !== Shape.Ack) continue
    const at = y(list.psn[i]! + 1)
    if (Number.isNaN(last)) pen.moveTo(x(i), at)
    else {
      pen.lineTo(x(i), last)
      pen.lineTo(x(i), at)
    }
    last = at
  }
  if (!Number.isNaN(last)) pen.lineTo(frame.left + frame.width, last)
  pen.stroke()
}

function symbol(
  pen: CanvasRenderingContext2D,
  shape: number,
  x: number,
  y: number,
  yPerPsn: number,
  diagram: DiagramKind,
): void {
  if (diagram === 'latency') {
    pen.fillRect(x - 1.5, y - 1.5, 3, 3)
    return
  }
  switch (shape) {
    case Shape.Ack:
      // It stands at the end of the range that it acknowledges.
      pen.fillRect(x - 1.5, y - yPerPsn - 1.5, 3, 3)
      return
    case Shape.Nak:
    case Shape.RnrNak:
    case Shape.Bad:
    case Shape.BadResponse:
      cross(pen, x, y, 5)
      return
    case Shape.Cnp:
      pen.beginPath()
      pen.moveTo(x, y - 6)
      pen.lineTo(x + 5, y)
      pen.lineTo(x, y + 6)
      pen.lineTo(x - 5, y)
      pen.closePath()
      pen.fill()
      return
    case Shape.ReadResponse:
    case Shape.Repeat:
      pen.fillRect(x - 1, y - Math.max(3, yPerPsn), 2, Math.max(3, yPerPsn))
      return
    default: {
      // From its PSN to the next one, as an arrow of tcptrace.
      const length = Math.max(4, yPerPsn)
      const width = shape >= Shape.Late ? 3 : 1.6
      pen.fillRect(x - width / 2, y - length, width, length)
      if (yPerPsn >= 8) {
        pen.fillRect(x - 3, y - length, 6, 1)
        pen.fillRect(x - 3, y - 1, 6, 1)
      }
    }
  }
}

function cross(pen: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  pen.lineWidth = 2.2
  pen.beginPath()
  pen.moveTo(x - size, y - size)
  pen.lineTo(x + size, y + size)
  pen.moveTo(x + size, y - size)
  pen.lineTo(x - size, y + size)
  pen.stroke()
}

function mark(pen: CanvasRenderingContext2D, frame: Frame, { window, marked }: Drawing, colour: string): void {
  if (marked === undefined) return
  const x = frame.left + ((marked.timeNs - window.fromNs) / (window.toNs - window.fromNs)) * frame.width
  const y = frame.top + ((window.high - marked.psn) / (window.high - window.low)) * frame.height
  pen.strokeStyle = colour
  pen.lineWidth = 1.6
  pen.beginPath()
  pen.arc(x, y, 9, 0, 2 * Math.PI)
  pen.stroke()
}
