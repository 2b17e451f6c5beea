/**
 * dist/completion/: scripts for bash, zsh and fish that complete commands, options, values and names of devices. They know all
 * commands by themselves; only names of devices are asked of `verbena devices`.
 */
import type { CommandDescription, CommandLineDescription, OptionDescription } from '../../src/cli/describe.ts'
import { argumentOf, type Completion, completionOf, visible, withSubcommands } from './command-line.ts'

/** File name in dist/completion/, and text. */
export function completionScripts({ program }: CommandLineDescription): Map<string, string> {
  const all = withSubcommands(program)
  return new Map([
    ['verbena.bash', bashScript(all)],
    ['verbena.zsh', zshScript(program)],
    ['verbena.fish', fishScript(all)],
  ])
}

const names = ({ short, long }: OptionDescription): string[] => [short, long].filter((name) => name !== undefined)
const spelled = (command: CommandDescription): string[] => [lastWord(command), ...command.aliases]
const lastWord = ({ name }: CommandDescription): string => name.split(' ').at(-1)!
const head = (shell: string, comment: string): string =>
  `${comment} ${shell} completion for verbena. Made by the build from the options of the commands.\n`

// ---- bash

function bashScript(all: readonly CommandDescription[]): string {
  const below = all.flatMap((command) => command.commands.map((one) => ({ one, above: command.name })))
  const commandCases = [
    `      ${below.map(({ one }) => quoted(one.name)).join('|')}) command+="\${command:+ }$word"; arguments=0 ;;`,
    ...below.flatMap(({ one, above }) =>
      one.aliases.map(
        (alias) => `      ${quoted(`${above} ${alias}`.trim())}) command=${quoted(one.name)}; arguments=0 ;;`,
      ),
    ),
  ]
  const wordCases = all.map((command) => {
    const commands = command.commands.flatMap(spelled)
    const options = visible(command.options).flatMap(names)
    return `    ${quoted(command.name)}) commands=${quoted(commands.join(' '))} options=${quoted(options.join(' '))} ;;`
  })
  const valueCases = all.flatMap((command) => {
    const namesOf = new Map<string, string[]>()
    for (const option of command.options) {
      if (option.argument === undefined || option.argument.optional) continue
      const value = bashValue(completionOf(option))
      namesOf.set(value, [...(namesOf.get(value) ?? []), ...names(option)])
    }
    const cases = [...namesOf].map(([value, options]) => `      ${options.join('|')}) value=${quoted(value)} ;;`)
    return cases.length === 0 ? [] : [`    ${quoted(command.name)}) case $2 in`, ...cases, '    esac ;;']
  })
  const argumentCases = all.flatMap((command) =>
    command.arguments.map(({ variadic }, index) => {
      const pattern = variadic ? `${quoted(`${command.name} `)}*` : quoted(`${command.name} ${index}`)
      return `      ${pattern}) value=${quoted(bashValue(argumentOf(command, index)))} ;;`
    }),
  )
  return `${head('bash', '#')}
_verbena() {
  local line=\${COMP_LINE:0:COMP_POINT} command='' arguments=0 value='' commands options word cur i
  local -a words
  read -ra words <<< "$line"
  # The word at the cursor, whole: bash itself takes a colon, as in shm:lab, for the end of a word.
  cur=\${line##*[[:space:]]}
  [[ -n $cur ]] && unset 'words[-1]'
  # Which command it is: the words before the cursor that name one, without options and their values.
  for ((i = 1; i < \${#words[@]}; i++)); do
    word=\${words[i]}
    _verbena_value "$command" "$word"
    if [[ -n $value ]]; then ((i++)); continue; fi
    [[ $word == -* ]] && continue
    case "\${command:+$command }$word" in
${commandCases.join('\n')}
      *) ((arguments++)) ;;
    esac
  done
  value=''
  ((\${#words[@]} > 1)) && _verbena_value "$command" "\${words[\${#words[@]} - 1]}"
  case "$command" in
${wordCases.join('\n')}
  esac
  local words_to_offer=''
  if [[ -z $value && $cur == -* ]]; then words_to_offer=$options
  elif [[ -z $value && -n $commands ]]; then ((arguments == 0)) && words_to_offer=$commands
  else
    [[ -z $value ]] && case "$command $arguments" in
${argumentCases.join('\n')}
    esac
    case $value in
      file) COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2> /dev/null; return ;;
      folder) COMPREPLY=($(compgen -d -- "$cur")); compopt -o filenames 2> /dev/null; return ;;
      device) words_to_offer=$(verbena devices 2> /dev/null | tail -n +2 | cut -d ' ' -f 1) ;;
      word:*) words_to_offer=\${value#word:} ;;
    esac
  fi
  # Of a list, the last one is completed.
  local list=''
  [[ $cur == *,* ]] && list=\${cur%,*},
  COMPREPLY=($(compgen -P "$list" -W "$words_to_offer" -- "\${cur#"$list"}"))
  # What stands before the last colon, readline has already.
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local before=\${cur%"\${cur##*:}"}
    COMPREPLY=("\${COMPREPLY[@]#"$before"}")
  fi
}

# Sets value to what follows this option of the command: device, file, folder, word:…, any; empty if nothing does.
_verbena_value() {
  value=''
  case $1 in
${valueCases.join('\n')}
  esac
}

complete -F _verbena verbena
`
}

function bashValue(completion: Completion): string {
  if (completion.kind === 'word') return `word:${completion.words.join(' ')}`
  return completion.kind === 'nothing' ? 'any' : completion.kind
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

// ---- zsh

function zshScript(program: CommandDescription): string {
  return `#compdef verbena
${head('zsh', '#')}
_verbena_devices() {
  local -a names
  names=(\${(f)"$(verbena devices 2> /dev/null | tail -n +2 | cut -d ' ' -f 1)"})
  compadd -a names
}

${withSubcommands(program).map(zshFunction).join('\n\n')}

if [[ $funcstack[1] == _verbena ]]; then _verbena "$@"; else compdef _verbena verbena; fi
`
}

const zshName = ({ name }: CommandDescription): string => ['_verbena', ...name.split(' ').filter(Boolean)].join('_')

function zshFunction(command: CommandDescription): string {
  const specs = visible(command.options).map((option) => {
    const all = names(option)
    const exclusive = all.length > 1 ? `'(${all.join(' ')})'{${all.join(',')}}` : all[0]!
    const value = option.argument
      ? `:${option.argument.optional ? ':' : ''}${zshText(option.argument.name)}:${zshAction(completionOf(option))}`
      : ''
    return `${exclusive}${quoted(`[${zshText(option.description)}]${value}`)}`
  })
  const { commands } = command
  if (commands.length === 0) {
    command.arguments.forEach((argument, index) => {
      const place = argument.variadic ? '*' : argument.required ? `${index + 1}` : `${index + 1}:`
      specs.push(quoted(`${place}:${zshText(argument.name)}:${zshAction(argumentOf(command, index))}`))
    })
    return `${zshName(command)}() {\n  _arguments -s \\\n    ${specs.join(' \\\n    ')}\n}`
  }
  const described = commands.flatMap((below) =>
    spelled(below).map((word) => `      ${quoted(`${word}:${zshText(below.summary)}`)}`),
  )
  const calls = commands.map((below) => `        ${spelled(below).join('|')}) ${zshName(below)} ;;`)
  return `${zshName(command)}() {
  local state line
  _arguments -C \\
    ${specs.join(' \\\n    ')} \\
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
${described.join('\n')}
      )
      _describe command commands ;;
    argument)
      case $line[1] in
${calls.join('\n')}
      esac ;;
  esac
}`
}

const zshText = (text: string): string => text.replace(/[[\]:\\]/g, '\\$&').replace(/\s+/g, ' ')

function zshAction(completion: Completion): string {
  if (completion.kind === 'word') return `_values -s , value ${completion.words.join(' ')}`
  return { device: '_verbena_devices', file: '_files', folder: '_files -/', nothing: '' }[completion.kind]
}

// ---- fish

function fishScript(all: readonly CommandDescription[]): string {
  const lines = all.flatMap((command) => {
    const at = quotedForFish(`__verbena_at ${command.name}`.trim())
    return [
      ...command.commands.flatMap((below) =>
        spelled(below).map((word) => `complete -c verbena -f -n ${at} -a ${word} -d ${quotedForFish(below.summary)}`),
      ),
      ...visible(command.options).map((option) => `complete -c verbena -n ${at} ${fishOption(option)}`),
      ...command.arguments.slice(0, 1).flatMap((_, index) => {
        const value = fishValue(argumentOf(command, index))
        return value === '' ? [] : [`complete -c verbena -n ${at} ${value}`]
      }),
    ]
  })
  const known = all.slice(1).flatMap((command) => {
    const above = command.name.split(' ').slice(0, -1)
    return spelled(command).map((word) => [...above, word].join(' '))
  })
  return `${head('fish', '#')}
function __verbena_devices
    verbena devices 2> /dev/null | tail -n +2 | string replace -r ' .*' ''
end

# Whether the command at the cursor is this one: the longest that the words before it name.
function __verbena_at
    set -l found
    for word in (commandline -opc)[2..-1]
        set -l longer (string join ' ' $found $word)
        contains -- $longer ${known.map(quotedForFish).join(' ')}; and set found (string split ' ' $longer)
    end
    test "$found" = "$argv"
end

complete -c verbena -f
${lines.join('\n')}
`
}

function fishOption(option: OptionDescription): string {
  const { short, long, argument, description } = option
  const parts = []
  if (short) parts.push(short.length === 2 ? `-s ${short.slice(1)}` : `-o ${short.slice(1)}`)
  if (long) parts.push(`-l ${long.slice(2)}`)
  if (description) parts.push(`-d ${quotedForFish(description.replace(/\s+/g, ' '))}`)
  if (argument && !argument.optional) parts.push('-r')
  const value = argument ? fishValue(completionOf(option)) : ''
  return [...parts, value].filter(Boolean).join(' ')
}

function fishValue(completion: Completion): string {
  if (completion.kind === 'word') return `-f -a ${quotedForFish(completion.words.join(' '))}`
  return {
    device: "-f -a '(__verbena_devices)'",
    file: '-F',
    folder: "-f -a '(__fish_complete_directories)'",
    nothing: '',
  }[completion.kind]
}

const quotedForFish = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
