/** Ranks in one thread: what `joinGroup` gives to processes. */
import {
  type Communicator,
  type CommunicatorOptions,
  createCommunicator,
  type Ranks,
} from '../../src/collectives/index.ts'

/** Groups whose members exchange what they give in memory. */
export function ranksHere(size: number, signal?: AbortSignal): Ranks[] {
  interface Meeting {
    given: (Uint8Array | undefined)[]
    missing: number
    over: Promise<Uint8Array[]>
    end: (all: Uint8Array[]) => void
  }
  const meetings: Meeting[] = []
  const meet = (rank: number, turn: number, bytes: Uint8Array): Promise<Uint8Array[]> => {
    if (meetings[turn] === undefined) {
      let end!: Meeting['end']
      const over = new Promise<Uint8Array[]>((resolve) => {
        end = resolve
      })
      meetings[turn] = { given: Array.from({ length: size }), missing: size, over, end }
    }
    const meeting = meetings[turn]!
    meeting.given[rank] = bytes.slice()
    if (--meeting.missing === 0) meeting.end(meeting.given as Uint8Array[])
    return meeting.over
  }
  return Array.from({ length: size }, (_, rank) => {
    let turn = 0
    return {
      rank,
      size,
      ...(signal ? { signal } : {}),
      allgather: (bytes) => meet(rank, turn++, bytes),
      barrier: async () => void (await meet(rank, turn++, new Uint8Array(0))),
    }
  })
}

/** Runs `work` at each of `size` ranks and closes their communicators. */
export async function together(
  size: number,
  options: CommunicatorOptions | ((rank: number) => CommunicatorOptions),
  work: (comm: Communicator) => Promise<unknown>,
): Promise<void> {
  const of = typeof options === 'function' ? options : () => options
  const comms = await Promise.all(ranksHere(size).map((ranks) => createCommunicator(ranks, of(ranks.rank))))
  try {
    await Promise.all(comms.map(work))
  } finally {
    for (const comm of comms) comm.close()
  }
}
