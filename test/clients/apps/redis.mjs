// `node redis.mjs PORT HOST`: what a program does with Redis, with a connect timeout of two seconds.
import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'

const [port, host] = process.argv.slice(2)
const show = (...values) => console.log(...values)
const options = { host, port: Number(port), connectTimeout: 2000, maxRetriesPerRequest: 0 }
const failures = []
const open = () => {
  const redis = new Redis(options)
  redis.on('error', (error) => failures.push(error.code ?? error.message))
  return redis
}

const redis = open()
await redis.flushall()
const pipeline = redis.pipeline()
for (let n = 0; n < 1000; n++) pipeline.set(`k${n}`, `v${n}`)
show('pipeline', (await pipeline.exec()).filter(([error, reply]) => error === null && reply === 'OK').length)
const big = Buffer.alloc(2_000_000, 'redis')
await redis.set('big', big)
const back = await redis.getBuffer('big')
show('big', createHash('md5').update(back).digest('hex') === createHash('md5').update(big).digest('hex'))

const subscriber = open()
await subscriber.subscribe('news')
const heard = new Promise((resolve) => subscriber.once('message', (channel, text) => resolve(`${channel} ${text}`)))
await redis.publish('news', 'hello')
show('heard', await heard)

const waiter = open()
const popped = waiter.blpop('list', 0)
await redis.rpush('list', 'one')
show('popped', (await popped).join(' '))

// A client that the server throws out comes back by itself.
const victim = open()
await victim.client('SETNAME', 'victim')
const again = new Promise((resolve) => victim.once('close', () => victim.once('ready', resolve)))
await redis.client('KILL', 'ID', await victim.client('ID'))
await again
show('back again', await victim.ping())
for (const each of [redis, subscriber, waiter, victim]) each.disconnect()
show('failures', failures.length)
