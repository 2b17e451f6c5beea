/** Packages of others, a server and its client in one process: WebSocket and Redis. */
import { inOneProcess } from './one-process.ts'

inOneProcess(['ws.mjs', 'redis.mjs'])
