/**
 * Modules that threads and processes start with. In the package all of them lie in one folder, beside the chunk that any
 * other module was bundled into; in development each is where it was written. The build finds the calls below, so the
 * path has to be a literal, and base names have to be unique.
 */

/** The URL of the module `path`, without suffix, relative to the module whose `import.meta.url` is `from`. */
export function entryModule(from: string, path: string): URL {
  if (from.endsWith('.ts')) return new URL(`${path}.ts`, from)
  return new URL(`./${path.slice(path.lastIndexOf('/') + 1)}.js`, from)
}
