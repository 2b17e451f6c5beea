/** A server and its client in one process: what preload.test.ts leaves, and packages of others, WebSocket and Redis. */
import { inOneProcess } from './one-process.ts'

inOneProcess(['context.mjs', 'https.mjs', 'secure.mjs', 'ws.mjs', 'redis.mjs'])
