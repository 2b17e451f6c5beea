/** `verbena completion`: the completion script of a shell. The build makes the scripts. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { packageFolder, printPart } from '../../cli/terminal/index.ts'
import { wrongValue } from '../kit/index.ts'

const shells: readonly string[] = ['bash', 'zsh', 'fish']

export function configure(command: Command): void {
  command
    .description('Print the completion script of a shell: commands, options, values, names of devices.')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', help)
    .action((shell: string) => {
      if (!shells.includes(shell)) throw wrongValue('shell', shell, shells)
      printPart(readFileSync(new URL(`dist/completion/verbena.${shell}`, packageFolder), 'utf8'))
    })
}

const help = `
It completes the command \`verbena\`, so that has to be on the path: \`npm install -g verbena\`, or \`npm link\` in a clone. For all
sessions to come:
  bash   verbena completion bash > ~/.local/share/bash-completion/completions/verbena
  zsh    verbena completion zsh > ~/.zsh/completions/_verbena      (a folder of $fpath, before compinit)
  fish   verbena completion fish > ~/.config/fish/completions/verbena.fish

Examples:
  verbena completion bash > verbena.bash    writes the script; \`source verbena.bash\` uses it in this shell`
