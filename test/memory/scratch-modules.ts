/** Modules that a test writes for its threads and processes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll } from 'vitest'

/** Gives a function that writes one, in a folder of the suite's own, and returns its URL. */
export function useScratchModules(title: string): (name: string, text: string) => URL {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), `verbena-${title}-`))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  return (name, text) => {
    writeFileSync(join(folder, name), text)
    return pathToFileURL(join(folder, name))
  }
}
