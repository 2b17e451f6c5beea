/** Fails a run in which a file of the list is not there: vitest would leave it out without a word. */
import { existsSync } from 'node:fs'
import { files } from './files.ts'

export default function setup(): void {
  const missing = files.filter((file) => !existsSync(file))
  if (missing.length > 0) throw new Error(`test/arm64/files.ts names what does not exist: ${missing.join(', ')}`)
}
