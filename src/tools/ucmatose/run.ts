/**
 * `ucmatose`: RC connections, then messages from the server on all of them, then as many from the client, then the
 * server disconnects. Defaults and output are those of rdma-core's program.
 */
import { CmEventType, type CmId } from '../../index.ts'
import {
  all,
  CmFailure,
  type MessageResult,
  type MessageRun,
  messageEnd,
  type RunOptions,
  runTwin,
  type Twin,
  type TwinSettings,
} from '../cm-kit/index.ts'

export const ucmatosePort = 7471

export interface UcmatoseSettings extends TwinSettings {
  /** Code of the local ACK timeout. */
  ackTimeout?: number | undefined
  /** True if all ids move to another event channel before they disconnect. */
  migrate: boolean
}

type Run = MessageRun<UcmatoseSettings>

const ucmatose: Twin<UcmatoseSettings> = {
  tool: 'ucmatose',
  title: 'cmatose',
  param: { responderResources: 1, initiatorDepth: 1, flowControl: false, retryCount: 5, rnrRetryCount: 0 },
  configure: (id, { ackTimeout }) => {
    if (ackTimeout !== undefined) id.setOption('ackTimeout', ackTimeout)
  },
  client,
  server,
}

export async function runUcmatose(settings: UcmatoseSettings, options: RunOptions): Promise<MessageResult> {
  return await runTwin(ucmatose, settings, options)
}

async function client(run: Run): Promise<void> {
  const { settings, output, ends } = run
  if (settings.messageCount > 0) {
    output.line('receiving data transfers')
    for (const end of ends) await end.completed('received')
    output.line('sending replies')
    for (const end of ends) end.postSends()
    output.line('data transfers complete')
  }
  if (settings.migrate) migrate(run)
  await disconnected(run)
}

async function server(run: Run, listener: CmId): Promise<void> {
  const { settings, station, output, ends } = run
  const { ackTimeout, connections, messageCount } = settings
  const accepting: Promise<void>[] = []
  const accept = async (id: CmId): Promise<void> => {
    if (ackTimeout !== undefined) id.setOption('ackTimeout', ackTimeout)
    ends.push(messageEnd(run, id))
    id.accept()
    await station.event(id, CmEventType.Established)
  }
  while (accepting.length < connections) {
    const { id } = await station.request()
    run.begin()
    const one = accept(id)
    // Its error is handled below, with those of all the others.
    one.catch(() => {})
    accepting.push(one)
  }
  await all(accepting)
  if (messageCount > 0) {
    output.line('initiating data transfers')
    for (const end of ends) end.postSends()
    output.line('completing sends')
    for (const end of ends) await end.completed('sent')
    output.line('receiving data transfers')
    for (const end of ends) await end.completed('received')
    output.line('data transfers complete')
  }
  if (settings.migrate) migrate(run, listener)
  output.line('cmatose: disconnecting')
  for (const { id } of ends) id.disconnect()
  await disconnected(run)
  output.line('disconnected')
}

/** Waits for the disconnect of each peer, and answers it with its own. */
async function disconnected({ station, ends }: Run): Promise<void> {
  for (const { id } of ends) {
    try {
      await station.event(id, CmEventType.Disconnected)
    } catch (error) {
      if (!(error instanceof CmFailure)) throw error
    }
    id.disconnect()
  }
}

function migrate({ station, output, ends }: Run, listener?: CmId): void {
  output.line('migrating to new event channel')
  station.migrate([...(listener === undefined ? [] : [listener]), ...ends.map(({ id }) => id)])
}
