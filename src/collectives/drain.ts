/** Wait for the acknowledgement of this rank's sends, at the end of a communicator. */
import { nowNs } from '../index.ts'
import { CollectiveError } from './error.ts'
import type { Lane } from './lane.ts'
import type { Mesh } from './mesh.ts'

/** Maximum milliseconds between two checks. */
const lookMs = 500

/** Waits until all sends are acknowledged, at most `timeoutMs` (0: no limit). Rejects with a CollectiveError. */
export async function drain(mesh: Mesh, timeoutMs: number): Promise<void> {
  const { lanes } = mesh
  const untilNs = timeoutMs > 0 ? nowNs() + timeoutMs * 1e6 : Number.POSITIVE_INFINITY
  const left = (): Lane[] => lanes.filter((lane): lane is Lane => lane !== null && !lane.drained())
  for (let waiting = left(); waiting.length > 0; waiting = left()) {
    for (const lane of waiting) lane.arm()
    if (left().length === 0) return
    await mesh.event(lookMs)
    if (mesh.failure !== null) throw mesh.failure
    if (nowNs() < untilNs) continue
    const { rank } = waiting[0]!
    const message = `end: rank ${rank} has not acknowledged what this rank sent within ${timeoutMs / 1000} s`
    throw new CollectiveError('ETIMEDOUT', message, rank)
  }
}
