/** Explanation why a device cannot have its port: the process that has it, and the reason why the two do not share the device. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { nativeAvailable, nativeReason, otherThan, segmentFile } from '../../memory/index.ts'
import { rocePort } from '../../wire/index.ts'
import type { HostAddress } from './addresses.ts'
import { sharedSegmentName } from './shared-hosts.ts'
import { addressKey, boundSockets } from './udp-table.ts'

/** Device that was to be opened. */
export interface WantedDevice {
  readonly name: string
  /** True if it would be in a segment that processes share. */
  readonly isShared: boolean
  readonly isWrapped: boolean
}

/** Returns the description of the problem and a remedy. */
export function portInUse(wanted: WantedDevice, address: HostAddress): string {
  const where = `UDP port ${rocePort} of ${address.text} is in use`
  const another = `use another address, such as ${otherThan(address.text)}`
  const holder = holderOf(address)
  if (holder.kind === 'kernel')
    return `${where} by the kernel's own RoCE, rdma_rxe: delete its link ('rdma link' lists them), or ${another}`
  if (holder.kind === 'other user')
    return `${where} by ${holder.text}: users share a device only as a group (VERBENA_ROCE_GROUP); end that one, or ${another}`
  const overlapping = wanted.name === 'roce' ? `roce:${address.text}` : 'roce'
  if (mayHave(holder.pid, segmentFile(sharedSegmentName(overlapping))))
    return `${where} by ${holder.text}, perhaps for the device ${overlapping}: open that, which is shared; end the other, or ${another}`
  return `${where} by ${holder.text}, and ${whyNotShared(wanted)}; end that one, or ${another}`
}

function whyNotShared({ isShared, isWrapped }: WantedDevice): string {
  if (isShared)
    return (
      'it does not share the device: it is no program of Verbena, or it has the device with middleware, without koffi, ' +
      'with VERBENA_ROCE_SHARED=0, or with another /dev/shm'
    )
  const because = 'this one cannot share the device'
  if (!nativeAvailable) return `${because} without koffi (${nativeReason})`
  if (isWrapped) return `${because}, because it wants middleware`
  if (process.env.VERBENA_ROCE_SHARED === '0') return `${because}, because VERBENA_ROCE_SHARED is 0`
  return `${because}, because it has no shared memory (the warning VERBENA_ROCE_ALONE says why)`
}

/** True if the process uses the segment; for an unknown process (pid 0): if any process does. */
function mayHave(pid: number, file: string): boolean {
  if (pid === 0) return existsSync(`/dev/shm/${file}`)
  try {
    return readFileSync(`/proc/${pid}/maps`, 'latin1').includes(`/dev/shm/${file}`)
  } catch {
    // It has ended.
    return false
  }
}

interface PortHolder {
  readonly kind: 'kernel' | 'own user' | 'other user' | 'unknown'
  readonly text: string
  /** Process id; 0 if it is not known. */
  readonly pid: number
}

function holderOf({ address }: HostAddress): PortHolder {
  const own = addressKey(address)
  const all = '0'.repeat(own.length)
  // A socket on all addresses of IPv6 may have those of IPv4, too.
  const sockets = boundSockets(rocePort)
  const socket =
    sockets.find((each) => each.address === own) ??
    sockets.find((each) => each.address === all || /^0+$/.test(each.address))
  if (socket === undefined) return { kind: 'unknown', text: 'another process', pid: 0 }
  if (socket.inode === 0) return { kind: 'kernel', text: '', pid: 0 }
  if (socket.uid !== process.geteuid?.()) return { kind: 'other user', text: `a process of user ${socket.uid}`, pid: 0 }
  return { kind: 'own user', ...processWith(socket.inode) }
}

/** Finds the process of this user that has the socket. */
function processWith(inode: number): Pick<PortHolder, 'text' | 'pid'> {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      for (const fd of readdirSync(`/proc/${pid}/fd`)) {
        if (linkOf(`/proc/${pid}/fd/${fd}`) !== `socket:[${inode}]`) continue
        if (Number(pid) === process.pid) return { text: 'this process', pid: process.pid }
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
          .replace(/[\0\s]+/g, ' ')
          .trim()
        const shown = command.length > 80 ? `${command.slice(0, 79)}…` : command
        return { text: `process ${pid} (${shown})`, pid: Number(pid) }
      }
    } catch {
      // It belongs to another user, or has ended.
    }
  }
  return { text: 'a process of this user that is not seen here (of another container?)', pid: 0 }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
