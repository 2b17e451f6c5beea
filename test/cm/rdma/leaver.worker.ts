/** A thread of leaving.test.ts: it connects, says that it has, and waits to be terminated. */
import { parentPort } from 'node:worker_threads'
import { threadData } from '../../../src/memory/index.ts'
import net from '../../../src/net.ts'

const { device, port, host } = threadData<{ device: string; port: number; host: string }>()
const socket = net.connect({ device, port, host })
socket.write('hello')
socket.once('data', () => parentPort!.postMessage('connected'))
