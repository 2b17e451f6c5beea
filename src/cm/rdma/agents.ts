/** The agents of this thread: one for each device that channels use, made when the first does and closed after the last. */
import { inRootContext } from '../../memory/index.ts'
import { type Context, openDevice, reapDead } from '../../verbs/index.ts'
import { allLimits, type CmLimits, parseLimits, wrongLimits } from '../ib/index.ts'
import { Agent } from './agent.ts'
import { RdmaCmError } from './errors.ts'
import { randomNumber } from './random.ts'

/** Agents by device, or by the context that the program has opened itself. */
const agents = new Map<string | Context, Agent>()

/** Calls `Agent.collect` for all agents of this thread. */
export function collectAll(): void {
  for (const agent of agents.values()) agent.collect()
}

/** Drives all agents of this thread; returns the number of messages and timers. */
export function processAll(): number {
  let messages = 0
  for (const agent of agents.values()) messages += agent.process()
  return messages
}

// First of all listeners, because an earlier one destroys the queue pairs.
process.prependListener('exit', () => {
  for (const agent of agents.values()) {
    try {
      agent.farewell()
    } catch {
      // Its objects may be in any state. Then peers find out by themselves.
    }
  }
})

export function agentsOfThread(): number {
  return agents.size
}

/**
 * Returns the agent of a device in this thread, made if there is none. Each call is paired with a `releaseAgent`. The call that makes it
 * decides on its limits; later, other `limits` throw EBUSY.
 */
export function acquireAgent(device: string | Context, limits?: Partial<CmLimits>): Agent {
  let agent = agents.get(device)
  if (agent === undefined) {
    const all = allLimits(limitsOfEnvironment(), limits)
    const context = typeof device === 'string' ? openDevice(device, { waitForService: false }) : device
    // Queue pairs that threads left open when they ended would take messages that are for others.
    reapDead(context.device.host)
    agent = inRootContext(() => new Agent(context, typeof device === 'string', all, randomNumber))
    agents.set(device, agent)
  } else if (limits !== undefined) {
    for (const [name, value] of Object.entries(limits)) {
      const inForce = agent.limits[name as keyof CmLimits]
      if (value !== undefined && value !== inForce)
        throw new RdmaCmError(
          'EBUSY',
          'createEventChannel',
          `${agent.name} is in use in this thread with the limit ${name} ${inForce}, not ${value}: the first to use it decides`,
        )
    }
  }
  return agent.acquire()
}

/** Throws EINVAL if limits are invalid for a communication manager. */
export function checkLimits(limits: unknown, where = ''): void {
  const wrong = wrongLimits(limits)
  if (wrong !== undefined) throw new RdmaCmError('EINVAL', 'createEventChannel', `${where}${wrong}`)
}

function limitsOfEnvironment(): Partial<CmLimits> {
  const limits = parseLimits(process.env.VERBENA_CM_LIMITS ?? '')
  checkLimits(limits, 'VERBENA_CM_LIMITS: ')
  return limits
}

export function releaseAgent(agent: Agent): void {
  if (!agent.release()) return
  for (const [device, one] of agents) if (one === agent) agents.delete(device)
}
