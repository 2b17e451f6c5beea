/** What the laboratory needs of a machine, and the images of the guest, built once and kept. */
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Lab } from './lab.ts'
import { Program, tail } from './program.ts'

/** Programs by the Debian package that has them. */
const packages: Readonly<Record<string, readonly string[]>> = {
  apt: ['apt-cache', 'apt-get'],
  dpkg: ['dpkg-deb'],
  'qemu-system-x86': ['qemu-system-x86_64'],
  'busybox-static': ['busybox'],
  cpio: ['cpio'],
  gcc: ['gcc'],
  iproute2: ['ip', 'tc', 'rdma'],
  kmod: ['depmod', 'modprobe'],
  zstd: ['zstd'],
  'ibverbs-utils': ['ibv_devinfo', 'ibv_rc_pingpong'],
  'rdmacm-utils': ['rping'],
  curl: ['curl'],
  'netcat-traditional': ['nc.traditional'],
  perftest: ['ib_write_bw'],
  tcpdump: ['tcpdump'],
  tshark: ['tshark'],
}
const providers = '/etc/libibverbs.d/rxe.driver'
const buildTimeLimitMs = 300_000
/** Exit code of build.sh when packages cannot be had. */
const cannotBuild = 3

const source = fileURLToPath(new URL('../guest/', import.meta.url))

/** Why the laboratory cannot run here: one line for each reason; empty if it can. */
export async function missing(): Promise<string[]> {
  const reasons: string[] = []
  if (process.platform !== 'linux' || process.arch !== 'x64') return ['Linux on x86-64']
  if (process.getuid?.() !== 0) reasons.push('root (for a network namespace and the devices of the guests)')
  if (!usable('/dev/net/tun')) reasons.push('/dev/net/tun')
  const wanted = Object.entries(packages).filter(([, programs]) => !programs.every(installed))
  const names = wanted.map(([name]) => name)
  if (!existsSync(providers)) names.push('ibverbs-providers')
  if (names.length > 0) reasons.push(`packages: apt-get install ${names.join(' ')}`)
  if (reasons.length > 0) return reasons
  try {
    await (await Lab.open()).close()
  } catch (error) {
    reasons.push(`a network namespace with a bridge: ${(error as Error).message}`)
  }
  return reasons
}

function usable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

function installed(program: string): boolean {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']
  return folders.some((folder) => existsSync(join(folder, program)))
}

/**
 * The directory with kernel and file system of the guest: VERBENA_GUEST_DIR, or one of this user under the directory for
 * temporary files. It is built on first use and again when what builds it changes.
 */
export async function guestImages(): Promise<{ images: string } | { missing: string }> {
  const images = process.env.VERBENA_GUEST_DIR ?? join(tmpdir(), `verbena-guest-${process.getuid?.()}-${recipe()}`)
  if (existsSync(join(images, 'initrd'))) {
    if (statSync(images).uid !== process.getuid?.()) throw new Error(`${images} belongs to somebody else: remove it`)
    return { images }
  }
  mkdirSync(join(images, '..'), { recursive: true })
  const fresh = mkdtempSync(`${images}.`)
  try {
    const { code, output } = await new Program('bash', [join(source, 'build.sh'), fresh], buildTimeLimitMs).ended
    if (code === cannotBuild) return { missing: `the guest's packages: ${output.trim()}` }
    if (code !== 0) throw new Error(`building the guest failed with ${code ?? 'its time limit'}:\n${tail(output)}`)
    // Somebody else may have built it meanwhile; either will do.
    if (!existsSync(join(images, 'initrd'))) {
      rmSync(images, { recursive: true, force: true })
      renameSync(fresh, images)
    }
    return { images }
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function recipe(): string {
  const hash = createHash('sha256')
  for (const file of ['build.sh', 'init', 'agent', 'replay-peer.c']) hash.update(readFileSync(join(source, file)))
  return hash.digest('hex').slice(0, 12)
}
