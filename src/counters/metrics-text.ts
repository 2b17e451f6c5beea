/** Text format of Prometheus, version 0.0.4. */

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

export type MetricLabels = Readonly<Record<string, string>>

/** Families, each announced once and followed by its values. */
export class MetricsText {
  readonly #lines: string[] = []
  #name = ''

  family(name: string, type: 'gauge' | 'counter' | 'summary', help: string): void {
    this.#name = name
    this.#lines.push(`# HELP ${name} ${escapedHelp(help)}`, `# TYPE ${name} ${type}`)
  }

  /** Adds a value of the family that was announced last. */
  value(labels: MetricLabels, value: number | bigint, suffix = ''): void {
    const pairs = Object.entries(labels).map(([name, text]) => `${name}="${escaped(text)}"`)
    const inside = pairs.length === 0 ? '' : `{${pairs.join(',')}}`
    this.#lines.push(`${this.#name}${suffix}${inside} ${value}`)
  }

  toString(): string {
    return this.#lines.map((line) => `${line}\n`).join('')
  }
}

function escapedHelp(text: string): string {
  return text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')
}

function escaped(text: string): string {
  return escapedHelp(text).replace(/"/g, '\\"')
}
