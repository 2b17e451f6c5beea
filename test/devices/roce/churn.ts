/**
 * Processes whose threads open and close devices at random moments, and the prober that all of them hear from: see
 * churn.mjs. What holds: a device that somebody has open can be reached.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Access, type Context, connectQp, Opcode, openDevice, QpType, workCompletions } from '../../../src/index.ts'
import { loopbackDevice } from '../../loopback.ts'

export interface Churn {
  /** The devices that the process opens. Without native calls no other process has those of `roce`. */
  devices: string[]
  seed: number
  /** How long new rounds begin. */
  ms: number
  /** Threads beside the main one. */
  workers: number
  /** Up to how long a thread waits before it opens a device, and before it closes it. */
  pauseMs: number
  /** Whether another worker after the other ends without closing what it has open. */
  mortals: boolean
}

type Told =
  | { id: string; device: string; gid: number[]; qpNum: number }
  | { id: string; arrived: true }
  | { id: string; failed: string }
  | { done: true }

const qkey = 0x11111111
const script = fileURLToPath(new URL('./churn.mjs', import.meta.url))

/** Sends datagrams to whoever asks, again and again until they have arrived. */
class Prober {
  readonly #from = new Map<string, ReturnType<typeof sender>>()
  readonly #asking = new Map<string, { device: string; gid: Uint8Array; qpNum: number }>()
  readonly #timer = setInterval(() => this.#send(), 5)

  ask(id: string, device: string, gid: number[], qpNum: number): void {
    this.#asking.set(id, { device, gid: Uint8Array.from(gid), qpNum })
    this.#send()
  }

  answered(id: string): void {
    this.#asking.delete(id)
  }

  #send(): void {
    for (const { device, gid, qpNum } of this.#asking.values()) {
      const own = device.startsWith('roce') ? loopbackDevice(250) : device
      const from = this.#from.get(own) ?? sender(openDevice(own))
      this.#from.set(own, from)
      from(gid, qpNum)
    }
  }

  close(): void {
    clearInterval(this.#timer)
    for (const from of this.#from.values()) from(null, 0)
  }
}

/** What sends a datagram to a queue pair; without an address it closes everything. */
function sender(context: Context) {
  const pd = context.allocPd()
  const cq = context.createCq(64)
  const qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq })
  const mr = pd.regMr(context.alloc(4096), Access.LocalWrite)
  connectQp(qp, { psn: 1 }, null)
  const wc = workCompletions(16)
  return (gid: Uint8Array | null, remoteQpn: number): void => {
    if (gid === null) {
      qp.close()
      mr.close()
      cq.close()
      pd.close()
      context.close()
      return
    }
    const ah = pd.createAh({ portNum: 1, grh: { dgid: gid, sgidIndex: 0, hopLimit: 64 } })
    qp.postSend({
      opcode: Opcode.Send,
      sendFlags: 2,
      ah,
      remoteQpn,
      remoteQkey: qkey,
      sgList: [{ addr: mr.addr, length: 8, lkey: mr.lkey }],
    })
    ah.close()
    while (cq.poll(wc) > 0);
  }
}

/** Runs the processes side by side: how often a device was opened and reached, and what went wrong. */
export async function runChurn(
  processes: readonly Churn[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ reached: number; failures: string[] }> {
  const prober = new Prober()
  const failures: string[] = []
  let reached = 0
  const one = async (churn: Churn): Promise<void> => {
    const child = fork(script, [JSON.stringify(churn)], { env, stdio: ['ignore', 'inherit', 'pipe', 'ipc'] })
    let errors = ''
    let done = false
    child.stderr!.on('data', (chunk: Buffer) => {
      errors += chunk.toString()
    })
    child.on('message', (told: Told) => {
      if ('done' in told) done = true
      else if ('failed' in told) failures.push(told.failed)
      else if ('arrived' in told) {
        prober.answered(told.id)
        reached++
      } else prober.ask(told.id, told.device, told.gid, told.qpNum)
    })
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    if (code !== 0 || !done || errors !== '')
      failures.push(`a process ended with ${code ?? signal}${done ? '' : ', too early'}: ${errors}`)
  }
  await Promise.all(processes.map(one))
  prober.close()
  return { reached, failures }
}
