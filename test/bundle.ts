/** A module of the tests and the sources it imports as one file, which Node starts in a fraction of the time that tsx takes. */
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll } from 'vitest'

/** Bundles `entry` for the processes of this test file and gives the path of the file, which goes when the tests have ended. */
export async function bundle(entry: URL): Promise<string> {
  const build = await rolldown({ input: fileURLToPath(entry), platform: 'node', external: [/^node:/, 'koffi'] })
  // Below the root, so that packages are found.
  const file = fileURLToPath(new URL(`../build/test/${process.pid}.mjs`, import.meta.url))
  await build.write({ file, codeSplitting: false })
  await build.close()
  afterAll(() => rm(file))
  return file
}
