/** Programs and libraries of another release of Debian, unpacked beside those of the host and run by their own loader. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const triplet = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu'
const providers = `/usr/lib/${triplet}/libibverbs`
const mirror = 'http://deb.debian.org/debian'

export class DebianLibraries {
  readonly #root: string
  readonly #loader: string

  private constructor(root: string) {
    this.#root = root
    const folder = join(root, 'lib', triplet)
    const inUsr = join(root, 'usr/lib', triplet)
    const loader = [folder, inUsr].flatMap((at) => filesOf(at).map((name) => join(at, name)))
    this.#loader = loader.find((path) => /\/ld-(linux-.*\.so\.\d|\d.*\.so)$/.test(path))!
  }

  /** Unpacks packages of a release, and what they need, in `folder`; what is missing for that is thrown. */
  static unpack(release: string, packages: readonly string[], folder: string): DebianLibraries {
    if (process.getuid?.() !== 0)
      throw new Error('their providers are mounted over those of the host, which takes root')
    const root = join(folder, 'root')
    for (const part of ['state/lists/partial', 'cache/archives/partial', 'root'])
      mkdirSync(join(folder, part), { recursive: true })
    writeFileSync(join(folder, 'status'), '')
    // The key of an older release may be none of the host's any more; nothing of this is installed.
    writeFileSync(join(folder, 'sources.list'), `deb [trusted=yes] ${mirror} ${release} main\n`)
    const apt = (...args: string[]): void => {
      const places = {
        'Dir::State': join(folder, 'state'),
        'Dir::State::status': join(folder, 'status'),
        'Dir::Cache': join(folder, 'cache'),
        'Dir::Etc::sourcelist': join(folder, 'sources.list'),
        'Dir::Etc::sourceparts': '/nonexistent',
        'Acquire::Languages': 'none',
        // A mirror that cannot be reached is a reason to skip, and no warning.
        'APT::Update::Error-Mode': 'any',
      }
      const options = Object.entries(places).flatMap(([name, value]) => ['-o', `${name}=${value}`])
      execFileSync('apt-get', ['-qq', ...options, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
    }
    apt('update')
    apt('install', '--yes', '--no-install-recommends', '--download-only', ...packages)
    const archives = join(folder, 'cache/archives')
    for (const name of readdirSync(archives))
      if (name.endsWith('.deb')) execFileSync('dpkg-deb', ['--extract', join(archives, name), root])
    return new DebianLibraries(root)
  }

  /** The command for a shell that runs one of the programs. */
  command(program: string): string {
    const [name, ...rest] = program.split(' ')
    const folders = [`lib/${triplet}`, `usr/lib/${triplet}`].map((at) => join(this.#root, at)).join(':')
    const mount = `mount --bind ${join(this.#root, providers)} ${providers}`
    const started = `exec ${this.#loader} --library-path ${folders} ${join(this.#root, 'usr/bin', name!)} ${rest.join(' ')}`
    return `unshare --mount sh -c '${mount} && ${started}'`
  }
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
