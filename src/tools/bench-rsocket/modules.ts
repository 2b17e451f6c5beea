/** The module of Verbena that a line belongs to, in the sources or in a bundle, which names the modules in it: `// src/….ts`. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** URL of the folder of the sources, or of the bundle. */
const home = new URL(import.meta.url.endsWith('.ts') ? '../../' : './', import.meta.url).href

interface Script {
  lines: string[]
  /** Module of each line, in a bundle. */
  modules: (string | undefined)[]
}

const scripts = new Map<string, Script>()

function scriptAt(url: string): Script {
  let script = scripts.get(url)
  if (script === undefined) {
    script = { lines: readLines(url), modules: [] }
    let module: string | undefined
    for (const line of script.lines) {
      const path = /^\/\/ (\S+\.\w+)$/.exec(line)?.[1]
      if (path !== undefined) module = /^src\/(.+)\.ts$/.exec(path)?.[1]
      script.modules.push(module)
    }
    scripts.set(url, script)
  }
  return script
}

function readLines(url: string): string[] {
  try {
    return readFileSync(fileURLToPath(url), 'utf8').split('\n')
  } catch {
    return []
  }
}

/** Returns the text of a line of a file, counted from 1; empty if it cannot be read. */
export function sourceLine(url: string, line: number): string {
  return scriptAt(url).lines[line - 1] ?? ''
}

/** Returns `rsocket/send-side` for a line of src/rsocket/send-side.ts; undefined for files outside Verbena. */
export function moduleAt(url: string, line: number, folder: string = home): string | undefined {
  if (!url.startsWith(folder)) return undefined
  const path = url.slice(folder.length)
  return path.endsWith('.ts') ? path.slice(0, -'.ts'.length) : scriptAt(url).modules[line - 1]
}
