/** What the build has made last, so that it is not made again of the same sources: most commands of a checkout begin with a build. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The files below `paths` of the folder `root`, sorted. */
function* filesOf(root, paths) {
  for (const path of [...paths].sort()) {
    const place = join(root, path)
    const facts = statSync(place, { throwIfNoEntry: false })
    if (facts?.isFile()) yield path
    else if (facts !== undefined)
      yield* filesOf(
        root,
        readdirSync(place).map((name) => join(path, name)),
      )
  }
}

/**
 * A build of the contents of `sources` (files and folders) that fills `outputs`, both relative to `root`. It is current until a source
 * changes, or an output is written, goes or comes. `file` keeps what was noted.
 */
export class Made {
  #root
  #sources
  #outputs
  #file

  constructor(root, sources, outputs, file) {
    this.#root = root
    this.#sources = sources
    this.#outputs = outputs
    this.#file = join(root, file)
  }

  /** Everything that the sources are, without the notes of folders (README.md): to be taken before the build reads them. */
  sources() {
    const hash = createHash('sha256').update(process.version)
    for (const path of filesOf(this.#root, this.#sources)) {
      if (path.endsWith('.md')) continue
      const content = readFileSync(join(this.#root, path))
      hash.update(`\0${path}\0${content.length}\0`).update(content)
    }
    return hash.digest('hex')
  }

  isCurrent(sources) {
    const written = this.#written()
    return (
      written !== 'changing' && existsSync(this.#file) && readFileSync(this.#file, 'utf8') === `${sources} ${written}\n`
    )
  }

  note(sources) {
    mkdirSync(dirname(this.#file), { recursive: true })
    writeFileSync(this.#file, `${sources} ${this.#written()}\n`)
  }

  /** Paths, sizes and times of the outputs; `changing` while another build replaces them. */
  #written() {
    const hash = createHash('sha256')
    try {
      for (const path of filesOf(this.#root, this.#outputs)) {
        const { size, mtimeMs } = statSync(join(this.#root, path))
        hash.update(`${path}\0${size}\0${mtimeMs}\0`)
      }
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
      return 'changing'
    }
    return hash.digest('hex')
  }
}
