#!/usr/bin/env node
/**
 * The `verbena` command. Each command is a folder under tools/ and is loaded only when it is needed.
 *
 * Exit codes: 0 done, 1 failed, 2 usage error, 130 and 143 interrupted by SIGINT and SIGTERM.
 */
import module from 'node:module'
import { commands } from './registry.ts'

/** Keeps compiled code for the next command, where Node can (from 22.1 on). */
function keepCompiledCode(): void {
  const { enableCompileCache } = module as { enableCompileCache?: () => unknown }
  enableCompileCache?.()
}

async function beginEarly([name = '', ...words]: readonly string[]): Promise<void> {
  if (!Object.hasOwn(commands, name)) return
  try {
    ;(await commands[name]!.load()).early?.(words)
  } catch {
    // The command reports the error itself when it needs the file.
  }
}

const argv = process.argv.slice(2)
keepCompiledCode()
await beginEarly(argv)
const [{ run }, { endOnFailedOutput }] = await Promise.all([import('./run.ts'), import('./terminal/index.ts')])
endOnFailedOutput()
process.exitCode = await run(argv)
