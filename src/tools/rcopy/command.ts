/** `verbena rcopy`: rdma-core's rcopy with Verbena's adapters. */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { entryModule } from '../../memory/index.ts'
import { addCommonOptions, type CommonOptions, commonSettings, UsageError, wrongValue } from '../kit/index.ts'
import { portOf, runRsTool } from '../rs-kit/index.ts'
import { type RcopySettings, rcopyPort } from './run.ts'

const tool = { name: 'rcopy', thread: entryModule(import.meta.url, './rcopy-thread') }

const examples = `
Without a file it is the server, which takes files until Ctrl-C, one client after the other. Messages and output are
those of rcopy of librdmacm, which can be the peer in either role. As in the original, the server writes to any path that the client
gives, with the rights of the user that started it: use --dir if clients are not trusted.

Examples:
  verbena rcopy --dir incoming                              a server in one terminal,
  verbena rcopy report.pdf 127.0.0.1                        a file for it, from another
  verbena rcopy report.pdf 127.0.0.1:copy.pdf               with another name there
  verbena rcopy report.pdf [fd77::2]:copy.pdf               IPv6 addresses in brackets
  verbena rcopy --device shm:lab --dir incoming             in shared memory,
  verbena rcopy --device shm:lab report.pdf localhost --json`

interface Options extends CommonOptions {
  p?: string
  dir?: string
}

export function configure(command: Command): void {
  command
    .description('Copies a file over rsockets, as rcopy does it.')
    .argument('[file]', 'the file; without it this is the server')
    .argument('[server[:destination]]', 'where to, and as which file there')
    .option('-p <port>', `port (default: ${rcopyPort})`)
    .option('--dir <directory>', 'server: write below this directory only')
  addCommonOptions(command)
    .addHelpText('after', examples)
    .action(async (file: string | undefined, target: string | undefined, options: Options) => {
      const settings = settingsOf(file, target, options)
      const role = file === undefined ? 'server' : 'client'
      endWith(await runRsTool(tool, settings, role, options.json === true))
    })
}

function settingsOf(file: string | undefined, target: string | undefined, options: Options): RcopySettings {
  if (file !== undefined && target === undefined)
    throw new UsageError('server', `missing destination of ${file}. For example: verbena rcopy ${file} 127.0.0.1`)
  if (file !== undefined && options.dir !== undefined) throw new UsageError('--dir', 'is for the server')
  const match = target === undefined ? null : /^(\[[^\]]+\]|[^:]+)(?::(.*))?$/s.exec(target)
  if (target !== undefined && (match === null || match[2] === ''))
    throw wrongValue('server', target, 'HOST or HOST:FILE, IPv6 addresses in brackets')
  return {
    ...commonSettings(options),
    file,
    server: match?.[1]?.replace(/^\[|\]$/g, ''),
    destination: match?.[2],
    port: portOf(options.p, rcopyPort),
    directory: options.dir,
  }
}
