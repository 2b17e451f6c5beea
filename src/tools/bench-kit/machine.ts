/** The machine and the versions, as a results document keeps them. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { pathToFileURL } from 'node:url'
import { version } from '../../cli/terminal/index.ts'
import { currentCores, lockMemory, nativeAvailable, nativeCrc32 } from '../../memory/index.ts'
import type { Machine } from '../../report/index.ts'

/** Number of cores, read before a thread of the run was bound to fewer. */
const cores = availableParallelism()
const coresBefore = currentCores()

export function describeMachine(): Machine {
  const coresNow = currentCores()
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores,
    ...(coresNow.length < coresBefore.length ? { boundTo: coresNow } : {}),
    memoryBytes: totalmem(),
    os: `${platform()} ${release()} ${arch()}`,
    load: loadavg()[0] ?? 0,
    permitted: {},
  }
}

const require = createRequire(import.meta.url)

export function versions(): Record<string, string> {
  const { node, v8 } = process.versions
  return {
    verbena: version,
    node,
    v8,
    // The implementation that computes the CRC of packets.
    crc32: nativeCrc32().name,
    ...(nativeAvailable ? { koffi: koffiVersion() } : {}),
  }
}

function koffiVersion(): string {
  try {
    const text = readFileSync(new URL('package.json', pathToFileURL(require.resolve('koffi'))), 'utf8')
    return (JSON.parse(text) as { version: string }).version
  } catch {
    return 'unknown'
  }
}

let locked: boolean | undefined

/** Calls `mlockall` for this process, once; returns whether it was permitted. */
export function lockProcessMemory(): boolean {
  locked ??= nativeAvailable && lockMemory()
  return locked
}
