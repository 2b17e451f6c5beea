// Command lines of the examples: one table of options gives --help, checked values and clear errors (exit code 2).
import { parseArgs } from 'node:util'
import { isMainThread, workerData } from 'node:worker_threads'

const json = { help: 'print one JSON document instead of text' }
const help = { help: 'print this help' }

/**
 * `table` describes the options. { default: 64, min: 1, max: 4096, help } is an integer, { default: 'x', help } a text
 * (with `choices`, one of these; with `pattern`, what `kind` says), and an option without a default is a switch. Positional arguments set the options
 * named in `positionals`, in this order. The other side of an example, a worker thread, gets the same values.
 */
export function readOptions({ about, table, positionals = [] }) {
  if (!isMainThread) return workerData
  const rows = { ...table, json, help }
  const file = process.argv[1].split('/').at(-1)
  let given
  try {
    given = parseArgs({
      allowPositionals: true,
      options: Object.fromEntries(
        Object.entries(rows).map(([name, row]) => [name, { type: row.default === undefined ? 'boolean' : 'string' }]),
      ),
    })
  } catch (error) {
    fail(file, error.message)
  }
  if (given.values.help) {
    console.log(usage(file, about, rows, positionals))
    process.exit(0)
  }
  if (given.positionals.length > positionals.length)
    fail(file, `unexpected argument '${given.positionals[positionals.length]}'`)
  const values = { ...given.values }
  for (const [i, value] of given.positionals.entries()) values[positionals[i]] = value
  const options = {}
  for (const [name, row] of Object.entries(rows)) options[name] = check(file, name, row, values[name])
  if (options.listen && options.connect) fail(file, '--listen and --connect exclude each other')
  return options
}

function check(file, name, row, value) {
  if (row.default === undefined) return value ?? false
  if (value === undefined) return row.default
  if (typeof row.default === 'number') {
    if (!/^\d+$/.test(value) || Number(value) < row.min || Number(value) > row.max)
      fail(file, `--${name} must be an integer from ${row.min} to ${row.max}, not '${value}'`)
    return Number(value)
  }
  if (row.choices && !row.choices.includes(value))
    fail(file, `--${name} must be ${row.choices.join(' or ')}, not '${value}'`)
  if (row.pattern && !row.pattern.test(value)) fail(file, `--${name} must be ${row.kind}, not '${value}'`)
  return value
}

/** Ends the program because of what the user typed. */
export function fail(file, message) {
  console.error(`${file}: ${message}; see node examples/${file} --help`)
  process.exit(2)
}

function usage(file, about, rows, positionals) {
  const lines = Object.entries(rows).map(([name, row]) => {
    const value = row.default === undefined ? '' : ` ${row.choices ? row.choices.join('|') : (row.value ?? 'N')}`
    const standard = row.default === undefined || row.default === '' || row.default === 0 ? '' : ` (${row.default})`
    return `  ${`--${name}${value}`.padEnd(26)} ${row.help}${standard}`
  })
  const places = positionals.map((name) => ` [${name}]`).join('')
  return `Usage: node examples/${file} [options]${places}\n\n${about}\n\nOptions (and their defaults):\n${lines.join('\n')}`
}

/** Prints the result: `lines` for a person, `result` with --json. */
export function print(options, result, lines) {
  console.log(options.json ? JSON.stringify(result) : lines.join('\n'))
}

/** 1234567 → '1,234,567'. */
export const thousands = (n) => Math.round(n).toLocaleString('en-US')
