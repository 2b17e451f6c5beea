/** Moving and zooming with pointer, fingers, wheel and keys. Positions are in pixels of the element. */

export interface Zoomable {
  pan(x: number, y: number): void
  /** Zooms by a factor, below 1 to zoom in; about a position, or the middle. `both`: time and PSNs, otherwise time only. */
  zoom(factor: number, x?: number, y?: number, both?: boolean): void
  home(): void
  point(x: number, y: number): void
  leave(): void
  choose(x: number, y: number): void
}

/** Maximum movement of a pointer that counts as a click, in pixels. */
const clickPixels = 4

export function zoomable(place: HTMLElement, target: Zoomable): void {
  const fingers = new Map<number, { x: number; y: number }>()
  let moved = 0
  place.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return
    place.setPointerCapture(event.pointerId)
    fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY })
    if (fingers.size === 1) moved = 0
  })
  place.addEventListener('pointermove', (event) => {
    const before = fingers.get(event.pointerId)
    if (before === undefined) {
      target.point(event.offsetX, event.offsetY)
      return
    }
    const now = { x: event.offsetX, y: event.offsetY }
    const [x, y] = [now.x - before.x, now.y - before.y]
    moved += Math.abs(x) + Math.abs(y)
    const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, finger]) => finger)
    fingers.set(event.pointerId, now)
    if (other === undefined) {
      if (moved >= clickPixels) target.pan(x, y)
    } else {
      const apart = (at: { x: number; y: number }): number => Math.max(1, Math.hypot(at.x - other.x, at.y - other.y))
      target.zoom(apart(before) / apart(now), (now.x + other.x) / 2, (now.y + other.y) / 2, true)
    }
    target.leave()
  })
  const up = (event: PointerEvent): void => {
    if (!fingers.delete(event.pointerId)) return
    if (event.type === 'pointerup' && fingers.size === 0 && moved < clickPixels)
      target.choose(event.offsetX, event.offsetY)
  }
  place.addEventListener('pointerup', up)
  place.addEventListener('pointercancel', up)
  place.addEventListener('pointerleave', () => target.leave())
  place.addEventListener('dblclick', (event) => target.zoom(0.5, event.offsetX, event.offsetY, true))
  place.addEventListener(
    'wheel',
    (event) => {
      // Without a modifier key the wheel scrolls the page, unless the diagram has the focus.
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey && document.activeElement !== place) return
      event.preventDefault()
      const by = event.deltaY || event.deltaX
      target.zoom(Math.exp(Math.max(-1, Math.min(1, by / 300))), event.offsetX, event.offsetY, !event.shiftKey)
    },
    { passive: false },
  )
  place.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const step = event.shiftKey ? 200 : 50
    const keys: Record<string, () => void> = {
      ArrowLeft: () => target.pan(step, 0),
      ArrowRight: () => target.pan(-step, 0),
      ArrowUp: () => target.pan(0, step),
      ArrowDown: () => target.pan(0, -step),
      '+': () => target.zoom(0.5),
      '=': () => target.zoom(0.5),
      '-': () => target.zoom(2),
      '0': () => target.home(),
      Home: () => target.home(),
    }
    const press = keys[event.key]
    if (press === undefined) return
    event.preventDefault()
    press()
  })
}
