/** The table of sockets of a device, in the segment: which there are, for all threads of the process. */

/**
 * Words of one entry: descriptor plus one, what the socket is for, the index of its local GID, how many queue pairs are
 * attached to its group, the GID of that, the kernel's drops reported so far, and the state of a socket of node:dgram
 * (`datagramState`). In the first entry of a device, the descriptor plus one of a socket that is being opened or closed.
 */
export const Slot = { words: 16, fd: 0, kind: 1, local: 2, refs: 3, gid: 4, drops: 8, state: 9, changing: 10 } as const
export const slotKind = { none: 0, unicast: 1, group: 2 } as const
export const maxSlots = 128
