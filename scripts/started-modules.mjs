import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/**
 * A plugin of rolldown: makes an entry point of each module that a thread or a process starts with (calls of `entryModule`),
 * beside `entries` (names, and files below `root`).
 */
export function startedModules(root, entries) {
  const files = new Map(Object.entries(entries).map(([name, file]) => [name, join(root, file)]))
  return {
    name: 'started modules',
    transform: {
      filter: { id: /\/(src|bench)\/.*\.ts$/, code: /\bentryModule\(/ },
      handler(code, id) {
        if (basename(id) === 'entry-module.ts') return
        for (const [call, path] of code.matchAll(/\bentryModule\((?:import\.meta\.url, '([^']+)')?/g)) {
          if (path === undefined)
            this.error(`${id}: the build understands entryModule(import.meta.url, 'path') only: ${call}`)
          const file = resolve(dirname(id), `${path}.ts`)
          const name = basename(path)
          if (!existsSync(file)) this.error(`${id}: there is no module ${file} to start with`)
          const other = files.get(name)
          if (other === file) continue
          if (other !== undefined) this.error(`${id}: ${file} and ${other} would both be ${name}.js`)
          files.set(name, file)
          this.emitFile({ type: 'chunk', id: file, fileName: `${name}.js` })
        }
      },
    },
  }
}
