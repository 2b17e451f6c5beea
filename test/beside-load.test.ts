/** `npm run test:load`: a name that no file has would leave a test out. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

it('every file of test/beside-load.txt is there, once', () => {
  const files = readFileSync(new URL('./beside-load.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  expect(files.filter((file) => !existsSync(new URL(`../${file}`, import.meta.url)))).toEqual([])
  expect(files).toEqual([...new Set(files)].sort())
})
