/** Signals over time on a canvas: the last ten seconds, all on one scale. */
type Value = number | boolean | string | null | { real: number }
interface Sample {
  ts?: { origin?: [number, number]; received?: [number, number] }
  data?: Value[]
  /** Behind those of `data`, from the first on that is not finite. */
  rest?: Value[]
}

const shownSeconds = 10
const mostPoints = 20_000
/** Apart for those who see colours differently, and on both backgrounds (after Okabe and Ito). */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8c6bb1', '#7f7f7f']

export class Plot {
  readonly #canvas: HTMLCanvasElement
  readonly #legend: HTMLElement
  #points: { at: number; values: number[] }[] = []
  #names: string[] = []
  #isDrawing = false

  constructor(canvas: HTMLCanvasElement, legend: HTMLElement) {
    this.#canvas = canvas
    this.#legend = legend
  }

  begin(names: string[]): void {
    this.#points = []
    this.#names = names.slice(0, colours.length)
    const rest = names.length - this.#names.length
    this.#legend.replaceChildren(
      ...this.#names.map((name, i) => {
        const item = document.createElement('li')
        const mark = document.createElement('i')
        mark.style.background = colours[i]!
        item.append(mark, `${name} `, document.createElement('b'))
        return item
      }),
      ...(rest > 0 ? [Object.assign(document.createElement('li'), { textContent: `and ${rest} more` })] : []),
    )
  }

  add({ ts, data = [], rest = [] }: Sample): void {
    const [sec, nsec] = ts?.origin ?? ts?.received ?? [Date.now() / 1000, 0]
    const values = [...data, ...rest]
      .slice(0, colours.length)
      .map((value) => (typeof value === 'object' ? (value?.real ?? Number.NaN) : Number(value)))
    this.#points.push({ at: sec + nsec * 1e-9, values })
    if (this.#points.length > mostPoints) this.#points = this.#points.slice(-mostPoints / 2)
    if (this.#isDrawing) return
    this.#isDrawing = true
    requestAnimationFrame(() => {
      this.#isDrawing = false
      this.#draw()
    })
  }

  #draw(): void {
    const canvas = this.#canvas
    const scale = devicePixelRatio
    const [width, height] = [canvas.clientWidth, canvas.clientHeight]
    if (canvas.width !== width * scale) canvas.width = width * scale
    if (canvas.height !== height * scale) canvas.height = height * scale
    const pen = canvas.getContext('2d')
    const last = this.#points.at(-1)
    if (pen === null || last === undefined) return
    const points = this.#points.filter(({ at }) => at > last.at - shownSeconds)
    const all = points.flatMap(({ values }) => values).filter(Number.isFinite)
    const [low, high] = padded(
      all.reduce((a, b) => Math.min(a, b), Infinity),
      all.reduce((a, b) => Math.max(a, b), -Infinity),
    )
    const left = 64
    const bottom = height - 22
    const x = (at: number) => left + ((at - last.at + shownSeconds) / shownSeconds) * (width - left - 4)
    const y = (value: number) => 6 + ((high - value) / (high - low)) * (bottom - 12)
    pen.setTransform(scale, 0, 0, scale, 0, 0)
    pen.clearRect(0, 0, width, height)
    const style = getComputedStyle(canvas)
    pen.font = '12px system-ui, sans-serif'
    pen.fillStyle = style.getPropertyValue('--dim')
    pen.strokeStyle = style.getPropertyValue('--line')
    pen.lineWidth = 1
    for (let i = 0; i <= 4; i++) {
      const value = low + ((high - low) * i) / 4
      pen.beginPath()
      pen.moveTo(left, y(value))
      pen.lineTo(width, y(value))
      pen.stroke()
      pen.textAlign = 'right'
      pen.fillText(Number(value.toPrecision(4)).toString(), left - 8, y(value) + 4)
    }
    pen.textAlign = 'center'
    for (let s = 0; s <= shownSeconds; s += 2)
      pen.fillText(
        s === shownSeconds ? 'now' : `−${shownSeconds - s} s`,
        Math.min(x(last.at - shownSeconds + s), width - 14),
        height - 6,
      )
    for (const [i] of this.#names.entries()) {
      pen.strokeStyle = colours[i]!
      pen.lineWidth = 1.6
      pen.beginPath()
      let isDown = false
      for (const { at, values } of points) {
        const value = values[i]
        if (value === undefined || !Number.isFinite(value)) isDown = false
        else if (isDown) pen.lineTo(x(at), y(value))
        else {
          pen.moveTo(x(at), y(value))
          isDown = true
        }
      }
      pen.stroke()
      const shown = this.#legend.children[i]?.querySelector('b')
      if (shown) shown.textContent = Number((last.values[i] ?? Number.NaN).toPrecision(6)).toString()
    }
  }
}

/** A range that has a height. */
function padded(low: number, high: number): [number, number] {
  if (!Number.isFinite(low)) return [0, 1]
  const room = high > low ? (high - low) * 0.05 : Math.max(1, Math.abs(high)) * 0.1
  return [low - room, high + room]
}
