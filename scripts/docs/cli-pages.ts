/** The pages of docs/reference/cli: one for each command, from the options that parse its command line. */
import type { CommandDescription, CommandLineDescription, OptionDescription } from '../../src/cli/describe.ts'
import { sentenceOf, visible, withSubcommands } from './command-line.ts'

const generated = '<!-- Made by `npm run docs` from the options of the commands: change them instead. -->'

/** The guide that explains a command, by the first word of its name. */
const guides: Readonly<Record<string, string>> = {
  'bench latency': '[bench latency](../../guide/bench-latency.md)',
  'bench throughput': '[bench throughput](../../guide/bench-throughput.md)',
  'bench rsocket': '[bench rsocket](../../guide/bench-rsocket.md)',
  report: '[report](../../guide/report.md)',
  trace: '[trace](../../guide/trace.md)',
  perf: '[perf](../../guide/perf.md)',
  ...of('pingpong', 'rc_pingpong', 'uc_pingpong', 'ud_pingpong', 'srq_pingpong'),
  ...of('cm-programs', 'rping', 'ucmatose', 'udaddy', 'mckey', 'cmtime'),
  ...of('rsocket-programs', 'rstream', 'riostream', 'rcopy', 'udpong'),
}

function of(page: string, ...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, `[${page}](../../guide/${page}.md)`]))
}

const fileOf = ({ name }: CommandDescription): string => `${name.replaceAll(' ', '-')}.md`

/** File name in docs/reference/cli, and text. */
export function cliPages({ program, exitCodes }: CommandLineDescription): Map<string, string> {
  const all = withSubcommands(program).slice(1)
  const pages = new Map(all.map((command) => [fileOf(command), pageOf(command)]))
  const rows = all.map((command) => `| ${linkTo(command)} | ${cell(command.summary)} |`)
  pages.set(
    'README.md',
    [
      generated,
      '# Commands',
      '`npx verbena COMMAND --help` prints what these pages say. Where Verbena is installed with `npm install -g`, `verbena` alone does, and `man verbena` has the same.',
      ['| command | |', '| --- | --- |', ...rows].join('\n'),
      ...(program.notes === '' ? [] : [paragraphs(program.notes)]),
      '## Exit codes',
      ['| code | |', '| ---: | --- |', ...exitCodes.map(({ code, meaning }) => `| ${code} | ${cell(meaning)} |`)].join(
        '\n',
      ),
      'Environment variables are on [a page of their own](../environment.md).',
    ].join('\n\n') + '\n',
  )
  return pages
}

const linkTo = (command: CommandDescription): string =>
  `[\`${[command.name, ...command.aliases].join('`, `')}\`](${fileOf(command)})`

function pageOf(command: CommandDescription): string {
  const { name, aliases, usage } = command
  const parts = [generated, `# verbena ${name}`, sentenceOf(command)]
  const guide = guides[name] ?? guides[name.split(' ')[0]!]
  if (aliases.length > 0) parts.push(`Also called ${aliases.map((alias) => `\`${alias}\``).join(', ')}.`)
  if (guide) parts.push(`Guide: ${guide}.`)
  parts.push(`\`\`\`\nnpx verbena ${name} ${usage}\n\`\`\``)
  if (command.commands.length > 0) {
    const rows = command.commands.map((below) => `| ${linkTo(below)} | ${cell(below.summary)} |`)
    parts.push(['| command | |', '| --- | --- |', ...rows].join('\n'))
  }
  if (command.arguments.length > 0) {
    const rows = command.arguments.map(
      ({ name: argument, description }) => `| \`${argument}\` | ${cell(description)} |`,
    )
    parts.push(['| argument | |', '| --- | --- |', ...rows].join('\n'))
  }
  const options = visible(command.options)
  if (options.length > 0) parts.push(`## Options\n\n${optionTable(options)}`)
  if (command.notes !== '') parts.push(`## Notes\n\n${paragraphs(command.notes)}`)
  if (command.examples.length > 0) parts.push(`## Examples\n\n${exampleBlock(command)}`)
  parts.push('[All commands](README.md) · [exit codes](README.md#exit-codes)')
  return `${parts.join('\n\n')}\n`
}

function optionTable(options: readonly OptionDescription[]): string {
  const rows = options.map(({ flags, description, default: fallback, choices, env }) => {
    const said = [description, choices && `one of ${choices.join(', ')}`, env && `or \`$${env}\``]
    return `| \`${flags.replaceAll('|', '\\|')}\` | ${cell(said.filter(Boolean).join('; '))} | ${cell(fallback ?? '')} |`
  })
  return ['| option | | default |', '| --- | --- | --- |', ...rows].join('\n')
}

function exampleBlock({ examples }: CommandDescription): string {
  const width = Math.max(...examples.map(({ command }) => command.length)) + 4
  const lines = examples.map(({ command, comment }) => {
    const typed = `npx ${command}`
    return comment === '' ? typed : `${typed.padEnd(width)}  # ${comment}`
  })
  return `\`\`\`sh\n${lines.join('\n')}\n\`\`\``
}

const cell = (text: string): string =>
  text
    .replaceAll('|', '\\|')
    .replace(/<([^>]*)>/g, '&lt;$1&gt;')
    .replace(/\s+/g, ' ')
    .trim()

/** Help text: paragraphs as they are, and indented lists and tables as blocks of code. */
function paragraphs(notes: string): string {
  const parts: { code: boolean; lines: string[] }[] = []
  for (const line of notes.split('\n')) {
    const code = /^ {2}/.test(line)
    const last = parts.at(-1)
    if (last && last.code === code && line !== '' && last.lines.at(-1) !== '') last.lines.push(line)
    else parts.push({ code, lines: [line] })
  }
  return parts
    .map(({ code, lines }) => ({ code, text: lines.join('\n') }))
    .filter(({ text }) => text !== '')
    .map(({ code, text }) => (code ? `\`\`\`\n${text}\n\`\`\`` : text.replace(/(^|\s)\$(?=[A-Z])/g, '$1\\$')))
    .join('\n\n')
}
