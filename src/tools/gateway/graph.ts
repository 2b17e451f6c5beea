/** `verbena gateway graph`: a picture of a configuration. */
import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { print, printJson, printPart } from '../../cli/terminal/index.ts'
import { type GraphFormat, graphDot, graphFormats, graphOf, graphSvg, graphText } from '../../gateway/graph/index.ts'
import { oneOf, wrongValue } from '../kit/index.ts'
import { readConfiguration } from './configuration.ts'

const help = `
Formats: svg (a picture, light or dark as its reader is), dot (for Graphviz), text (a line for each path), json (what is drawn).

Examples:
  verbena gateway graph lab.conf
  verbena gateway graph lab.conf -o lab.svg
  verbena gateway graph lab.conf -f dot | dot -Tpdf > lab.pdf`

interface Options {
  format?: string
  output?: string
  json?: boolean
}

export function configure(command: Command): void {
  command
    .description('Draw the nodes and paths of a configuration.')
    .argument('<config>', "a file, or '-' for standard input")
    .option('-f, --format <format>', `${graphFormats.join(', ')} (default: by the end of --output, else text)`)
    .option('-o, --output <file>', 'where to write (default: standard output)')
    .option('--json', 'the same as --format json')
    .addHelpText('after', help)
    .action(graph)
}

function graph(file: string, options: Options): void {
  const format = formatOf(options)
  const { config, errors } = readConfiguration(file)
  // A configuration with mistakes is not drawn.
  if (errors.length > 0) throw errors[0]!
  const model = graphOf(config)
  if (format === 'json' && options.output === undefined) {
    printJson(model)
    return
  }
  const drawn = { svg: graphSvg, dot: graphDot, text: graphText, json: (all: unknown) => `${JSON.stringify(all)}\n` }
  const text = drawn[format](model)
  if (options.output === undefined) printPart(text)
  else {
    writeFileSync(options.output, text)
    print(`wrote ${options.output}`)
  }
}

function formatOf({ format, output, json }: Options): GraphFormat {
  const parse = oneOf(...graphFormats)
  if (json) return 'json'
  if (format === undefined) return parse(/\.(\w+)$/.exec(output ?? '')?.[1] ?? 'text') ?? 'text'
  const found = parse(format)
  if (found === undefined) throw wrongValue('--format', format, graphFormats, 'svg')
  return found
}
