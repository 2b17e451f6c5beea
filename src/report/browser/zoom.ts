/** Zoom with the pointer: dragging over a part, the wheel once the chart has the focus, a double click to go back. */

export interface Zoomable {
  /** Returns the index of the chart's grid at these pixels; −1: none. */
  gridAt(x: number, y: number): number
  /** Zooms to a range of pixels; `from` is left of `to`. */
  zoomToPixels(grid: number, from: number, to: number): void
  scaleAt(grid: number, factor: number, x: number): void
  reset(): void
}

/** Minimum length of a drag, pixels; a shorter one is a click. */
const SHORTEST = 5

export function dragZoom(plot: HTMLElement, chart: Zoomable): void {
  const brush = document.createElement('div')
  brush.className = 'brush'
  brush.hidden = true
  plot.append(brush)
  const place = (event: MouseEvent): [number, number] => {
    const { left, top } = plot.getBoundingClientRect()
    return [event.clientX - left, event.clientY - top]
  }

  plot.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || event.pointerType === 'touch') return
    const [start, y] = place(event)
    const grid = chart.gridAt(start, y)
    if (grid < 0) return
    let end = start
    // Beyond the grid's edges the value is that of the edge.
    const move = (moved: PointerEvent): void => {
      const [x] = place(moved)
      if (chart.gridAt(x, y) === grid) end = x
      brush.hidden = Math.abs(end - start) < SHORTEST
      brush.style.left = `${Math.min(start, end)}px`
      brush.style.width = `${Math.abs(end - start)}px`
    }
    const done = (): void => {
      window.removeEventListener('pointermove', move)
      window.removeEventListener('pointerup', up)
      window.removeEventListener('pointercancel', done)
      brush.hidden = true
    }
    const up = (): void => {
      done()
      if (Math.abs(end - start) >= SHORTEST) chart.zoomToPixels(grid, Math.min(start, end), Math.max(start, end))
    }
    window.addEventListener('pointermove', move)
    window.addEventListener('pointerup', up)
    window.addEventListener('pointercancel', done)
  })
  plot.addEventListener(
    'wheel',
    (event) => {
      // Without the focus the wheel scrolls the page.
      if (document.activeElement !== plot) return
      const [x, y] = place(event)
      const grid = chart.gridAt(x, y)
      if (grid < 0) return
      event.preventDefault()
      chart.scaleAt(grid, event.deltaY > 0 ? 1.25 : 0.8, x)
    },
    { passive: false },
  )
  plot.addEventListener('dblclick', () => chart.reset())
}
