/** TLS, HTTP/2, WebSocket and Redis, client and server in processes of their own, over rsockets. */
import { printTheSame } from './on-devices.ts'

printTheSame(['https.mjs', 'ws.mjs', 'redis.mjs'])
