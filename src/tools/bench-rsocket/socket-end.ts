/** One end of the socket benchmark, client or server: a thread. */

import { nativeAvailable, threadData } from '../../memory/index.ts'
import { placeThread } from '../bench-thread/index.ts'
import { serve } from '../kit/index.ts'
import type { ByteStream, Meeting, Opening, StreamRequest } from './byte-stream.ts'
import { Loop, type LoopRequest, type LoopResult } from './loops.ts'
import { NodeEnd } from './node-net.ts'
import { type CpuProfile, Profiler } from './profiler.ts'
import { openRsocket } from './rsocket-stream.ts'
import { openTcp } from './tcp-stream.ts'

export interface EndRequest extends StreamRequest {
  transport: 'rsocket' | 'tcp'
  pin: string
}

export interface EndPrepared {
  meeting: Meeting
  pinFailure: string | null
}

export interface EndRun extends LoopRequest {
  profile: boolean
}

export interface EndResult extends LoopResult {
  profile: CpuProfile | null
}

const { control } = threadData<{ control: Int32Array }>()

let opening: Opening | null = null
let stream: ByteStream | null = null
let node: NodeEnd | null = null

async function prepare(request: EndRequest): Promise<EndPrepared> {
  const pinFailure = placeThread(request.pin, request.server ? 'receiver' : 'sender')
  if (request.transport === 'tcp' && !nativeAvailable) {
    node = new NodeEnd(request, control)
    return { meeting: await node.open(), pinFailure }
  }
  opening = request.transport === 'tcp' ? openTcp(request) : openRsocket(request)
  return { meeting: opening.meeting, pinFailure }
}

async function connect(other: Meeting): Promise<void> {
  if (node) await node.connect(other)
  else stream = await opening!.connect(other)
}

async function run({ profile, ...request }: EndRun): Promise<EndResult> {
  const profiler = profile ? new Profiler() : null
  try {
    const result = node ? await node.run(request) : new Loop(stream!, control, request).run()
    return { ...result, profile: profiler?.stop(result.fromNs, result.toNs) ?? null }
  } catch (error) {
    // The other end waits for this one; closing the connection ends its wait.
    close()
    throw error
  } finally {
    profiler?.close()
  }
}

function close(): void {
  const [a, b, c] = [stream, opening, node]
  stream = null
  opening = null
  node = null
  a?.close()
  b?.close()
  c?.close()
}

serve({ prepare, connect, run, close })
