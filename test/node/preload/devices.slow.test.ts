/** TLS, HTTP/2, WebSocket and Redis on each device, and what devices.test.ts has on one; client and server in processes of their own, over rsockets. */
import { printTheSame } from './on-devices.ts'

printTheSame(['echo.cjs'], ['shm'])
printTheSame(['http.cjs'])
printTheSame(['https.mjs', 'ws.mjs', 'redis.mjs'])
