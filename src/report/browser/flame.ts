/** Zoom of a flame graph: a frame that is pressed fills the width, pressed again it goes back. Positions are per cents of the root. */

interface Frame {
  element: SVGSVGElement
  left: number
  width: number
  row: number
}

const SLACK = 0.001

export function zoomableFlame(flame: SVGSVGElement): void {
  const numberOf = (of: Element, name: string): number => Number.parseFloat(of.getAttribute(name) ?? '0')
  const frames = [...flame.querySelectorAll<SVGSVGElement>('svg.frame')].map(
    (element): Frame => ({
      element,
      left: numberOf(element, 'x'),
      width: numberOf(element, 'width'),
      row: numberOf(element, 'y'),
    }),
  )
  let zoomed: Frame | null = null
  const show = (to: Frame | null): void => {
    zoomed = to
    const left = to?.left ?? 0
    const width = to?.width ?? 100
    for (const item of frames) {
      const spans = item.left <= left + SLACK && item.left + item.width >= left + width - SLACK
      const caller = to !== null && item.row < to.row && spans
      const inside = item.left >= left - SLACK && item.left + item.width <= left + width + SLACK
      item.element.style.display = caller || inside ? '' : 'none'
      item.element.setAttribute('x', caller ? '0%' : `${((item.left - left) * 100) / width}%`)
      item.element.setAttribute('width', caller ? '100%' : `${(item.width * 100) / width}%`)
    }
  }
  for (const item of frames)
    item.element.addEventListener('click', () => show(zoomed === item || item === frames[0] ? null : item))
}
