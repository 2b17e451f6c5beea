/** Whether texts of a page can be read: their contrast, as WCAG 2 measures it. */

/** Texts whose contrast to the background is below what WCAG 2 asks for: 4.5, of large ones 3. */
export function faint(body: HTMLElement | SVGElement): string[] {
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!
  const rgba = (colour: string): number[] => {
    context.clearRect(0, 0, 1, 1)
    context.fillStyle = colour
    context.fillRect(0, 0, 1, 1)
    return [...context.getImageData(0, 0, 1, 1).data]
  }
  const luminance = (rgb: number[]): number => {
    const [r = 0, g = 0, b = 0] = rgb.slice(0, 3).map((part) => {
      const share = part / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (element: Element | null): number[] => {
    if (!element) return [255, 255, 255]
    const style = getComputedStyle(element)
    // A frame of a flame graph has its rectangle behind it.
    const frame = element.matches('svg.frame') ? getComputedStyle(element.querySelector('rect')!).fill : ''
    const colour = rgba(frame || style.backgroundColor)
    return colour[3] === 255 ? colour : behind(element.parentElement)
  }
  const found: string[] = []
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement!
    if ((node.textContent ?? '').trim() === '' || !element.checkVisibility() || element.closest('script, option'))
      continue
    const style = getComputedStyle(element)
    const colour = element.closest('svg') ? style.fill : style.color
    const [a, b] = [luminance(rgba(colour)), luminance(behind(element))]
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    const large = Number.parseFloat(style.fontSize) >= 24
    if (contrast < (large ? 3 : 4.5)) found.push(`${node.textContent}: ${contrast.toFixed(2)}`)
  }
  return found
}
