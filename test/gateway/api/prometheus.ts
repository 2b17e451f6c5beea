/**
 * A strict parser of the text format of Prometheus 0.0.4: every line, the order of HELP, TYPE and samples, names, escapes, and what a
 * type demands. Throws what is wrong.
 */
export interface Family {
  type: string
  help: string
  samples: { name: string; labels: Record<string, string>; value: number }[]
}

const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/
const number = /^([+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?Inf|NaN)$/

export function parsePrometheus(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let current: [string, Family] | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    const [, comment, name, rest] = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line) ?? []
    if (comment === 'HELP') {
      if (families.has(name!)) throw new Error(`two families ${name}`)
      current = [name!, { type: '', help: rest!, samples: [] }]
      families.set(...current)
    } else if (comment === 'TYPE') {
      if (current?.[0] !== name || current![1].type !== '') throw new Error(`TYPE of ${name} out of order`)
      if (!['counter', 'gauge', 'histogram', 'summary', 'untyped'].includes(rest!)) throw new Error(`type ${rest}`)
      current![1].type = rest!
    } else {
      if (current === undefined) throw new Error(`before any family: ${line}`)
      const sample = parseSample(line)
      const id = line.slice(0, line.lastIndexOf(' '))
      if (seen.has(id)) throw new Error(`twice: ${id}`)
      seen.add(id)
      checkName(sample, ...current)
      current[1].samples.push(sample)
    }
  }
  return families
}

function parseSample(line: string): Family['samples'][number] {
  const [, name, inside = '', value] = sampleLine.exec(line) ?? []
  if (name === undefined || !number.test(value!)) throw new Error(`no sample: ${line}`)
  const labels: Record<string, string> = {}
  for (let rest = inside; rest !== ''; ) {
    const [all, key, text] = label.exec(rest) ?? []
    if (all === undefined || key! in labels) throw new Error(`labels: ${line}`)
    labels[key!] = text!.replace(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter))
    rest = rest.slice(all.length)
  }
  return { name, labels, value: value === 'NaN' ? Number.NaN : Number(value!.replace('Inf', 'Infinity')) }
}

function checkName({ name, labels, value }: Family['samples'][number], family: string, { type }: Family): void {
  const suffix = name.slice(family.length)
  const allowed =
    type === 'summary' ? ['', '_sum', '_count'] : type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
  if (!name.startsWith(family) || !allowed.includes(suffix)) throw new Error(`${name} in family ${family}`)
  if (type === 'counter' && (!family.endsWith('_total') || !(value >= 0))) throw new Error(`counter ${name} ${value}`)
  const isQuantile = type === 'summary' && suffix === ''
  if (isQuantile !== 'quantile' in labels) throw new Error(`quantile of ${name}`)
}
