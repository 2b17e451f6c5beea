#!/usr/bin/env node
/**
 * The `verbena` command. Each command is a folder under tools/ and is loaded only when it is asked for.
 *
 * Exit codes: 0 done, 1 failed, 2 usage error, 130 and 143 interrupted by SIGINT and SIGTERM.
 */
import module from 'node:module'
import { run } from './run.ts'
import { endOnFailedOutput } from './terminal/index.ts'

/** Keeps compiled code for the next command, where Node can (from 22.1 on). */
function keepCompiledCode(): void {
  const { enableCompileCache } = module as { enableCompileCache?: () => unknown }
  enableCompileCache?.()
}

keepCompiledCode()
endOnFailedOutput()
process.exitCode = await run(process.argv.slice(2))
