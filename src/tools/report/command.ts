/** `verbena report` */
import type { Command } from 'commander'
import { print, printJson } from '../../cli/terminal/index.ts'
import { type ReportOptions, writeReport } from '../../report/index.ts'
import { datedDirectory } from '../bench-kit/index.ts'
import { openInBrowser, parseNumber, wantsBrowser } from '../kit/index.ts'

const examples = `
A report is made from saved results only: report.html, which needs nothing but itself, and each chart as an SVG file.
With several folders their sets are compared. plot.json in a folder has the settings of the charts; edit it and make the report again.

Examples:
  verbena report results/2026-01-31-120000-latency
  verbena report results/monday results/tuesday --out comparison
  verbena report results/monday --over pause --range 2000`

interface Options {
  out?: string
  over?: string
  range?: string
  title?: string
  open?: string | boolean
  json?: boolean
}

export function configure(command: Command): void {
  command
    .description('Make a report from saved results.')
    .argument('<dirs...>', 'folders that `verbena bench` or `verbena traffic` wrote')
    .option('--out <dir>', 'folder of the report (default: the folder itself, or a dated one for several)')
    .option('--over <setting>', 'the setting on the horizontal axis of the median chart (default: that of plot.json)')
    .option('--range <ns>', 'upper limit of the histograms (default: that of plot.json, at first 10000)')
    .option('--title <text>', 'title of the page')
    .option('--open [yes|no]', 'open it in the browser (default: no)')
    .option('--json', 'print the paths of the files as one JSON document')
    .addHelpText('after', examples)
    .action(async (dirs: string[], options: Options) => {
      wantsBrowser(options.open)
      const outDir = options.out ?? (dirs.length === 1 ? dirs[0]! : datedDirectory('report'))
      const chosen: ReportOptions = {}
      if (options.over !== undefined) chosen.over = options.over
      if (options.title !== undefined) chosen.title = options.title
      if (options.range !== undefined) chosen.rangeNs = [0, parseNumber('--range', options.range, 10_000, 1, 1e12)]
      const files = await writeReport(dirs, outDir, chosen)
      if (options.json) printJson({ files })
      else print(files.join('\n'))
      if (files[0]) openInBrowser(options.open, files[0])
    })
}
