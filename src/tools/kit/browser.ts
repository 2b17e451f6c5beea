/** Opens a page in the browser of the user, on request. */
import { spawn } from 'node:child_process'
import { wrongValue } from './usage.ts'

/** Opens the page. `choice` is the text of `--open`; `true` when it stands alone. */
export function openInBrowser(choice: string | boolean | undefined, path: string): void {
  if (!wantsBrowser(choice)) return
  const [program, ...args] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
  const child = spawn(program!, [...args, path], { stdio: 'ignore', detached: true })
  child.on('error', () => process.stderr.write(`no browser could be started; open ${path} yourself\n`))
  child.unref()
}

export function wantsBrowser(choice: string | boolean | undefined): boolean {
  if (choice === undefined || choice === 'no') return false
  if (choice === true || choice === 'yes') return true
  throw wrongValue('--open', choice, ['yes', 'no'], 'no')
}
