/** `verbena gateway check`: validates a configuration without starting anything. */
import type { Command } from 'commander'
import { endWith, exitCodes, note, print, printJson, version } from '../../cli/terminal/index.ts'
import { GatewayError } from '../../gateway/index.ts'
import { mistakesOf, readConfiguration } from './configuration.ts'

const help = `
A configuration is that of VILLASnode, in libconfig (.conf, .cfg), JSON (.json) or YAML (.yaml, .yml). Every mistake is named with
its file, line and key. Settings of VILLASnode that have no effect here are listed, too; they are not mistakes.

Exit codes: 0 the configuration is right, 1 it has mistakes, or cannot be read.

Examples:
  verbena gateway check lab.conf
  verbena gateway check lab.json --json`

export function configure(command: Command): void {
  command
    .description('Check a configuration to the end, without starting it.')
    .argument('<config>', "a file, or '-' for standard input")
    .option('--json', 'print one JSON document')
    .option('-c, --check', 'as for villas test-config: it always checks everything')
    .option('-D, --dump', 'as for villas test-config, which prints nothing for it either')
    .version(version, '-V, --version', 'print the version')
    .addHelpText('after', help)
    .action(check)
}

async function check(file: string, { json }: { json?: boolean }): Promise<void> {
  const found = await checked(file)
  if (json) printJson(found)
  else {
    for (const { place, what } of found.notices) note(place === undefined ? what : `${place}: ${what}`)
    for (const error of found.errors) note(error)
    if (found.errors.length === 0)
      print(`${file}: ${count(found.nodes, 'node')}, ${count(found.paths, 'path')}; no mistakes`)
    else note(`${file}: ${count(found.errors.length, 'mistake')}`)
  }
  endWith(found.valid ? exitCodes.done : exitCodes.failed)
}

interface Checked {
  valid: boolean
  nodes: number
  paths: number
  errors: string[]
  notices: { place?: string; key: string; what: string }[]
  files: string[]
}

async function checked(file: string): Promise<Checked> {
  try {
    const loaded = readConfiguration(file)
    const errors = await mistakesOf(loaded)
    const { nodes, paths } = loaded.config
    const notices = loaded.notices.map(({ place, key, what }) => ({ ...(place !== undefined && { place }), key, what }))
    return {
      valid: errors.length === 0,
      nodes: nodes.length,
      paths: paths.length,
      errors,
      notices,
      files: [...loaded.files],
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { valid: false, nodes: 0, paths: 0, errors: [error.message], notices: [], files: [] }
  }
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`
}
