/** dist/man/: a man page for each command, in the roff of man(7). */
import type { CommandDescription, CommandLineDescription, OptionDescription } from '../../src/cli/describe.ts'
import { manName, sentenceOf, visible, withSubcommands } from './command-line.ts'

/** File name in dist/man/, and text. `version` stands at the foot of each page. */
export function manPages(description: CommandLineDescription, version: string): Map<string, string> {
  const { program, exitCodes } = description
  const all = withSubcommands(program)
  return new Map(all.map((command) => [`${manName(command)}.1`, pageOf(command, program, exitCodes, version)]))
}

function pageOf(
  command: CommandDescription,
  program: CommandDescription,
  exitCodes: CommandLineDescription['exitCodes'],
  version: string,
): string {
  const name = manName(command)
  const lines = [
    `.\\" Made by the build from the options of the commands.`,
    `.TH ${name.toUpperCase()} 1 "" "Verbena ${version}" "Verbena"`,
    '.ad l',
    '.nh',
    '.SH NAME',
    `${text(name)} \\- ${text(command.summary || 'RDMA in user space')}`,
    '.SH SYNOPSIS',
    `.B ${text(['verbena', command.name].filter(Boolean).join(' '))}`,
    text(command.usage),
    '.SH DESCRIPTION',
    text(sentenceOf(command)),
  ]
  if (command.arguments.length > 0) {
    lines.push('.SH ARGUMENTS')
    for (const argument of command.arguments) lines.push('.TP', `.I ${text(argument.name)}`, text(argument.description))
  }
  if (command.commands.length > 0) {
    lines.push('.SH COMMANDS')
    for (const below of command.commands) lines.push('.TP', `.BR ${text(manName(below))} (1)`, text(below.summary))
  }
  const options = visible(command.options)
  if (options.length > 0) lines.push('.SH OPTIONS', ...options.flatMap(optionLines))
  if (command.notes !== '') lines.push('.SH NOTES', ...noteLines(command.notes))
  if (command.examples.length > 0) {
    lines.push('.SH EXAMPLES')
    for (const { command: typed, comment } of command.examples)
      lines.push(comment === '' ? '.PP' : '.TP', `.B ${text(typed)}`, ...(comment === '' ? [] : [text(comment)]))
  }
  lines.push('.SH EXIT STATUS')
  for (const { code, meaning } of exitCodes) lines.push('.TP', `.B ${code}`, text(meaning))
  const others = seeAlso(command, program).map((other) => `.BR ${text(manName(other))} (1)`)
  if (others.length > 0) lines.push('.SH SEE ALSO', others.join(',\n'))
  return `${lines.join('\n')}\n`
}

function optionLines({ flags, description, choices, default: fallback, env }: OptionDescription): string[] {
  const said = [description, choices && `one of ${choices.join(', ')}`, env && `or $${env}`].filter(Boolean).join('; ')
  const end = fallback === undefined ? '' : `${said === '' ? '' : ' '}(default: ${fallback})`
  return ['.TP', `.B ${text(flags)}`, text(said + end) || '\\&']
}

/** Paragraphs, and indented lines as they are. */
function noteLines(notes: string): string[] {
  const lines: string[] = []
  let literal = false
  for (const line of notes.split('\n')) {
    const indented = /^ {2}/.test(line)
    if (indented !== literal && line !== '') {
      lines.push(indented ? '.nf' : '.fi')
      literal = indented
    }
    lines.push(line === '' ? '.PP' : text(line))
  }
  if (literal) lines.push('.fi')
  return lines
}

/** The command above it, and those beside it. */
function seeAlso(command: CommandDescription, program: CommandDescription): CommandDescription[] {
  if (command === program) return []
  const above = withSubcommands(program).find(({ commands }) => commands.includes(command)) ?? program
  const beside = above === program ? [] : above.commands.filter((other) => other !== command)
  return [above, ...beside]
}

/** Without anything that roff takes for a request or an escape. */
function text(plain: string): string {
  return (
    plain
      .replaceAll('\\', '\\e')
      .replaceAll('-', '\\-')
      .replace(/^([.'])/gm, '\\&$1')
      .replaceAll('"', '\\(dq')
      // What terminals without Unicode would leave out.
      .replaceAll('…', '...')
      .replace(/[^\n -~]/g, (letter) => `\\[u${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`)
  )
}
