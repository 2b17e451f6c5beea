/**
 * Containers as Docker makes them, by runc: its default list of capabilities, namespaces, /dev/shm of 64 MiB, and the seccomp profile that
 * Debian's golang-github-containers-common has, which is Docker's. What is in a container is the host's, read-only.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Ended, start } from './launchers.ts'

const profileFile = '/usr/share/containers/seccomp.json'

const capabilities = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FSETID', 'FOWNER', 'MKNOD', 'NET_RAW', 'SETGID', 'SETUID', 'SETFCAP', 'SETPCAP'],
  ...['NET_BIND_SERVICE', 'SYS_CHROOT', 'KILL', 'AUDIT_WRITE'],
].map((name) => `CAP_${name}`)

interface Rule {
  names: string[]
  action: string
  args?: Record<string, unknown>[]
  errnoRet?: number
  includes?: { caps?: string[]; arches?: string[] }
  excludes?: { caps?: string[]; arches?: string[] }
}

/** What is missing for containers here, empty if nothing is. */
export function containersLack(): string[] {
  const lacking: string[] = []
  try {
    execFileSync('runc', ['--version'], { stdio: 'ignore' })
  } catch {
    lacking.push('runc')
  }
  if (!existsSync(profileFile)) lacking.push("Docker's seccomp profile (Debian's golang-github-containers-common)")
  if (process.getuid?.() !== 0) lacking.push('root, to make a container')
  return lacking
}

/** The profile for these capabilities and this processor, as a container's configuration has it. */
function profile(): object {
  const { defaultAction, defaultErrnoRet, syscalls } = JSON.parse(readFileSync(profileFile, 'utf8')) as {
    defaultAction: string
    defaultErrnoRet?: number
    syscalls: Rule[]
  }
  const processor = process.arch === 'arm64' ? 'arm64' : 'amd64'
  const holds = ({ includes = {}, excludes = {} }: Rule): boolean =>
    (includes.caps ?? []).every((one) => capabilities.includes(one)) &&
    (includes.arches?.includes(processor) ?? true) &&
    !(excludes.caps ?? []).some((one) => capabilities.includes(one)) &&
    !(excludes.arches?.includes(processor) ?? false)
  return {
    ...{ defaultAction, defaultErrnoRet },
    architectures: process.arch === 'arm64' ? ['SCMP_ARCH_AARCH64'] : ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86'],
    syscalls: syscalls.filter(holds).map(({ names, action, args, errnoRet }) => ({ names, action, args, errnoRet })),
  }
}

const readOnly = (place: string) => ({ destination: place, type: 'bind', source: place, options: ['rbind', 'ro'] })

let containers = 0

/** Runs a command in a container of its own that is made in `folder`. */
export async function inContainer(folder: string, args: readonly string[], uid = 0): Promise<Ended> {
  const name = `verbena-${process.pid}-${++containers}`
  const bundle = join(folder, name)
  const root = join(bundle, 'rootfs')
  mkdirSync(join(root, 'tmp'), { recursive: true })
  chmodSync(join(root, 'tmp'), 0o1777)
  execFileSync('runc', ['spec'], { cwd: bundle })
  const config = JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8'))
  for (const place of ['usr', 'bin', 'lib', 'lib64', 'sbin', 'etc', 'opt']) {
    if (!existsSync(`/${place}`)) continue
    if (lstatSync(`/${place}`).isSymbolicLink()) symlinkSync(readlinkSync(`/${place}`), join(root, place))
    else config.mounts.push(readOnly(`/${place}`))
  }
  config.mounts.push({ destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: [] })
  config.mounts.push(readOnly(new URL('../..', import.meta.url).pathname))
  const allowed = uid === 0 ? capabilities : []
  Object.assign(config.process, {
    ...{ args, terminal: false, noNewPrivileges: uid !== 0, user: { uid, gid: uid } },
    capabilities: { bounding: capabilities, effective: allowed, permitted: allowed },
    env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
  })
  config.linux.seccomp = profile()
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(config))
  return await start('runc', ['run', '--bundle', bundle, name]).ended
}
