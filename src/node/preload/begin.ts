/**
 * The part of the preload that runs when a program starts: it watches for the first socket that a rule may send over RDMA. Only then is
 * the rest loaded, in two steps. A program without such a socket pays little, and so do its worker threads.
 *
 *     start                       Node's net; connect, listen, send and Worker are watched            (this file)
 *     a name, or a rule matches   the methods of Node's sockets and servers are replaced              (install.ts)
 *     an address has a rule       rsockets, the devices, native code                                  (the library)
 */
import net from 'node:net'
import { gateWorkers } from '../../memory/index.ts'
import { readArguments } from '../base/arguments.ts'
import { decide, mayConnect } from './decide.ts'
import type { Hooks, Library, Originals } from './install.ts'
import { enableLog, inWords, printOnce } from './log.ts'
import { watchSending } from './sending.ts'
import type { Settings } from './settings.ts'

type Method = (this: object, ...args: unknown[]) => unknown

/** Parts that are loaded synchronously when they are needed: the calling program does not wait. */
export interface Parts {
  installer(): typeof import('./install.ts')
  library(): Library
  /** Prepares the environment that workers inherit from the thread that starts them. */
  prepareProcess(): void
}

/** Latest version of Node whose internals the preload is tested with. With later ones it checks at the start that it knows them. */
const testedUpTo = 24

let begun = false

/** Begins to watch, once in a thread; it cannot be undone. Throws if this version of Node lacks required internals. */
export function begin(settings: Settings, parts: Parts): void {
  if (begun) return
  begun = true
  enableLog(settings.log)
  gateWorkers({ prepare: parts.prepareProcess, load: parts.library })
  const { rules } = settings
  const sockets = net.Socket.prototype as unknown as Record<'connect', Method>
  const servers = net.Server.prototype as unknown as Record<'_listen2', Method>
  const originals = { connect: sockets.connect, listen: servers._listen2 } as unknown as Originals
  let hooks: Hooks | undefined
  const install = (): Hooks => {
    hooks ??= parts.installer().install(settings, originals, parts.library)
    return hooks
  }
  /**
   * Installs the hooks; if they cannot be loaded any more, after a change of the root folder for example, TCP is used where the rules
   * permit it.
   */
  const tryInstall = (): Hooks | undefined => {
    try {
      return install()
    } catch (error) {
      if (rules.some(({ transport }) => transport === 'rdma-only')) throw error
      printOnce(`RDMA cannot be used: ${inWords(error as Error)}`)
      return undefined
    }
  }
  sockets.connect = function (...args) {
    if (hooks === undefined && !mayConnect(rules, readArguments(args)[0]))
      return originals.connect.apply(this as never, args as never)
    const found = hooks ?? tryInstall()
    return found ? found.connect(this as never, args) : originals.connect.apply(this as never, args as never)
  }
  servers._listen2 = function (...args) {
    const [address, port, family] = args as [string | null, number, number]
    const rule =
      hooks === undefined && (family === 4 || family === 6) && typeof port === 'number' && port >= 0
        ? decide(rules, 'listen', address, port)
        : undefined
    const found = hooks ?? (rule && rule.transport !== 'tcp' ? tryInstall() : undefined)
    return found ? found.listen(this as never, args as never) : originals.listen.apply(this as never, args as never)
  }
  watchSending()
  if (Number.parseInt(process.versions.node, 10) > testedUpTo) install()
}
