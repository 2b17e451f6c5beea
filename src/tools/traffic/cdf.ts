/** `verbena traffic cdf`: a distribution of sizes, drawn in the terminal. */
import type { Command } from 'commander'
import { print, printJson, table, terminalWidth } from '../../cli/terminal/index.ts'
import { bytesOf, type Cdf, interpolations, presetCdf, presets, sizeText } from '../../traffic/index.ts'
import { loadCdf } from '../../traffic/load/index.ts'
import { choiceOption, wrongValue } from '../kit/index.ts'

const help = `
A file has rows of bytes and cumulative share, in per cent or from 0 to 1, separated by white space, commas, colons or semicolons; sizes
may have units (64KB). # and // begin comments, words alone in the first line are names of columns, and a first line with one
number is the mean. Rows of three numbers, size, count and share, are those of ns-2: --unit sets the bytes of one unit of its sizes, often
those of a packet. A share above 0 in the first row, and two rows with one size, are sizes with a mass of their own.
Between rows a distribution is linear in bytes (linear), in their logarithm (log), or in 1/bytes (inverse). Without a
name the presets are listed.

Examples:
  verbena traffic cdf
  verbena traffic cdf WebSearch
  verbena traffic cdf sizes.txt --json
  verbena traffic cdf CDF_dctcp.tcl --unit 1460`

/** Percentiles that are shown. */
const shown = [1, 10, 25, 50, 75, 90, 99, 99.9]

interface Options {
  interpolation?: (typeof interpolations)[number]
  unit?: string
  json?: boolean
}

export function configure(command: Command): void {
  command
    .description('Draw a distribution of sizes, with its mean and percentiles.')
    .argument('[name]', 'a preset, or a file')
    .addOption(
      choiceOption('--interpolation <rule>', 'between rows (default: that of the preset, linear)', interpolations),
    )
    .option('--unit <bytes>', 'bytes of one unit in the column of sizes of a file, such as 1460 (default: 1)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', help)
    .action((name: string | undefined, options: Options) => {
      const { interpolation, unit: text } = options
      const unit = text === undefined ? undefined : bytesOf(text)
      if (text !== undefined && !(unit !== undefined && unit > 0)) throw wrongValue('--unit', text, 'a size', 1460)
      if (name === undefined) list(options)
      else show(loadCdf(name, { interpolation, unit }), options)
    })
}

function list({ json }: Options): void {
  const rows = presets.map((preset) => ({ ...preset, cdf: presetCdf(preset.name)! }))
  if (json) {
    printJson({ presets: rows.map(({ cdf, ...preset }) => ({ ...preset, ...figures(cdf) })) })
    return
  }
  const texts = rows.map(({ name, aliases, source, cdf }) => {
    const also = aliases.length > 0 ? ` (also ${aliases.join(', ')})` : ''
    return [name, sizeText(cdf.mean), sizeText(cdf.quantile(0.5)), sizeText(cdf.quantile(0.99)), `${source}${also}`]
  })
  print(table(['name', 'mean', 'median', 'p99', 'from'], texts))
}

function figures(cdf: Cdf): { interpolation: string; mean: number; min: number; max: number } {
  const { interpolation, mean, min, max } = cdf
  return { interpolation, mean, min, max }
}

function show(cdf: Cdf, { json }: Options): void {
  if (json) {
    const quantiles = Object.fromEntries(shown.map((percent) => [`p${percent}`, cdf.quantile(percent / 100)]))
    const stated = cdf.statedMean === null ? {} : { statedMean: cdf.statedMean }
    printJson({ name: cdf.name, ...figures(cdf), ...stated, quantiles, points: cdf.points })
    return
  }
  print(`${cdf.name}: ${cdf.points.length} rows, ${cdf.interpolation} between them\n`)
  print(chart(cdf, Math.min(terminalWidth(), 100) - 8))
  print('')
  const stated = cdf.statedMean === null ? '' : `, ${sizeText(cdf.statedMean)} stated`
  print(`mean ${sizeText(cdf.mean)}${stated}`)
  print(shown.map((percent) => `p${percent} ${sizeText(cdf.quantile(percent / 100))}`).join(', '))
}

const rows = 10
const blocks = ' ▁▂▃▄▅▆▇█'

/** Draws shares above the logarithm of sizes. */
function chart(cdf: Cdf, width: number): string {
  const low = Math.log10(Math.max(1, cdf.min))
  const high = Math.max(Math.log10(Math.max(2, cdf.max)), low + 0.1)
  const at = (column: number): number => 10 ** (low + ((high - low) * (column + 1)) / width)
  const heights = Array.from({ length: width }, (_, column) => cdf.below(at(column) * (1 + 1e-9)) * rows * 8)
  const lines = Array.from({ length: rows }, (_, i) => {
    const row = rows - 1 - i
    const cells = heights.map((height) => blocks[Math.max(0, Math.min(8, Math.round(height) - row * 8))])
    const label = row % 2 === 1 ? `${(row + 1) * 10} %` : ''
    return `${label.padStart(5)} ▏${cells.join('')}`.trimEnd()
  })
  return [...lines, axis(low, high, width)].join('\n')
}

/** Returns the powers of ten, as far as their names fit. */
function axis(low: number, high: number, width: number): string {
  let text = ' '.repeat(7)
  for (let power = Math.ceil(low); power <= high; power++) {
    const place = 7 + Math.round(((power - low) / (high - low)) * width)
    const label = `${['1', '10', '100'][power % 3]}${['', 'k', 'M', 'G', 'T'][Math.floor(power / 3)] ?? `e${power}`}`
    if (place >= text.length + (text.trim() === '' ? 0 : 1) && place + label.length <= width + 10)
      text = text.padEnd(place) + label
  }
  return `${text} bytes`
}
