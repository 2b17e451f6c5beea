/**
 * The preload: programs that use `node:net`, and what stands on it (http, https, http2, tls, WebSockets, database clients), run over
 * rsockets unchanged. The settings are read at once; the rest is loaded only if a rule selects RDMA.
 */
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'
import { print } from './log.ts'
import { readSettings, type Settings, SettingsError } from './settings.ts'

export { begin } from './begin.ts'

const programKey = 'verbena:program'

/** Returns the file that Node was started with; threads belong to the program, independent of the files that they run. */
function programOf(file: string): string {
  if (isMainThread) setEnvironmentData(programKey, file)
  const program = getEnvironmentData(programKey)
  return typeof program === 'string' ? program : file
}

/** Returns the settings of this process; undefined if there is nothing to do. An error in them ends the process with a line. */
export function settingsOfProcess(): Settings | undefined {
  let settings: Settings
  try {
    settings = readSettings(process.env, programOf(process.argv[1] ?? ''))
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    print(error.message)
    process.exit(1)
  }
  if (settings.rules.some((rule) => rule.transport !== 'tcp')) return settings
  if (isMainThread && !process.env.VERBENA_PRELOAD && !process.env.VERBENA_PRELOAD_FILE)
    print(
      'the preload has no rules, so everything stays TCP: say which addresses go over RDMA, as in VERBENA_PRELOAD=10.0.0.0/8:*',
    )
  return undefined
}
