/**
 * The stamping thread of `--stamp send`: it keeps writing the time into the payloads of messages that were posted and
 * are not complete, so that a message carries the time at which the adapter read it.
 */
import { openDevice } from '../../index.ts'
import { nowNs, threadData } from '../../memory/index.ts'
import { Control, placeThread } from '../bench-thread/index.ts'
import { serve } from '../kit/index.ts'
import { wordsOf } from './latency-set.ts'
import { rewriteStamps } from './stamps.ts'

export interface StampRequest {
  device: string
  pin: string
  /** Device address of the sender's buffer. */
  addr: number
  lengthBytes: number
  strideBytes: number
  timeoutNs: number
}

const { control } = threadData<{ control: Int32Array }>()

/** Returns when `Control.stamping` is cleared. */
function stamp(request: StampRequest): void {
  placeThread(request.pin, 'stamper')
  const context = openDevice(request.device)
  try {
    const words = wordsOf(context.view(request.addr, request.lengthBytes))
    rewrite(words, request.strideBytes >> 2, nowNs() + request.timeoutNs)
  } finally {
    context.close()
  }
}

function rewrite(words: Int32Array, strideWords: number, deadlineNs: number): void {
  let rounds = 0
  while (Atomics.load(control, Control.stamping) === 1) {
    rewriteStamps(words, strideWords, control, 0)
    if ((++rounds & 0xffff) === 0 && nowNs() > deadlineNs) return
  }
}

serve({ stamp })
