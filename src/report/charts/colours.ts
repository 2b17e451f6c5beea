/**
 * Colours of all charts. A chart is drawn in the light ones; where the page is dark, style rules replace each by its
 * dark one (`pictureRules`), so that one picture serves both, and programs that know no style sheets see the light one.
 */

/** Okabe and Ito's colours, which people with any colour vision can tell apart; without the red of the medians. */
export const COLOURS: readonly string[] = [
  ...['#0072b2', '#e69f00', '#009e73', '#aa4499', '#56b4e9', '#444444', '#8c6d1f', '#88cc88'],
]
export const MEDIAN_RED = '#d01c2b'
export const INK = '#24292f'
export const FAINT = '#667080'
export const GRID = '#e5e7eb'
export const PAPER = '#ffffff'
export const BOX_LINE = '#c9ced6'

/** Dark replacements of light colours. A colour that is not listed stays. */
const DARK: Readonly<Record<string, string>> = {
  [INK]: '#e6e9ed',
  [FAINT]: '#9aa4af',
  [GRID]: '#343b43',
  [PAPER]: '#1d2126',
  [BOX_LINE]: '#4a525b',
  [MEDIAN_RED]: '#ff6b70',
  '#0072b2': '#3a93d6',
  '#009e73': '#2cc295',
  '#aa4499': '#d67fc6',
  '#56b4e9': '#9bdcff',
  '#444444': '#c3c8ce',
  '#8c6d1f': '#c2a14d',
}

/** Combines the light and the dark form of a colour into one of a style sheet. */
type Colour = (light: string, dark: string) => string

/** Returns style rules that give pictures their dark colours, where they are below `selector`. */
export function pictureRules(selector: string, colour: Colour): string {
  // The frames of flame graphs keep their colours, because their texts are chosen to stand out from them.
  return (
    colourRules(`${selector}svg:not(.flame):not(.frame):not(.frames) `, colour, Object.keys(DARK)) +
    colourRules(`${selector}svg.flame>`, colour, [INK, FAINT, PAPER])
  )
}

function colourRules(selector: string, colour: Colour, colours: readonly string[]): string {
  return colours
    .flatMap((light) => {
      const value = colour(light, DARK[light]!)
      return ['fill', 'stroke'].map((name) => `${selector}[${name}="${light}"]{${name}:${value}}`)
    })
    .join('')
}
