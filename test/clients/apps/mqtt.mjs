// `node mqtt.mjs PORT HOST`: what a program does with an MQTT broker, with a connect timeout of two seconds.
import { once } from 'node:events'
import mqtt from 'mqtt'

const [port, host] = process.argv.slice(2)
const show = (...values) => console.log(...values)
const options = { host, port: Number(port), connectTimeout: 2000, reconnectPeriod: 0 }
const failures = []
const open = (more) => {
  const client = mqtt.connect({ ...options, ...more })
  client.on('error', (error) => failures.push(error.code ?? error.message))
  return client
}

const subscriber = open({ clientId: 'subscriber' })
await once(subscriber, 'connect')
await subscriber.subscribeAsync('news/#', { qos: 2 })
const messages = []
const all = new Promise((resolve) => {
  subscriber.on('message', (topic, bytes) => {
    if (messages.push(`${topic} ${bytes.length}`) === 31) resolve()
  })
})
const will = { topic: 'news/will', payload: 'gone', qos: 1 }
const publisher = open({ clientId: 'publisher', will, keepalive: 1 })
await once(publisher, 'connect')
for (const qos of [0, 1, 2])
  for (let n = 0; n < 10; n++) await publisher.publishAsync(`news/${qos}`, Buffer.alloc(1 + n * 5000, n), { qos })
// Without a goodbye: the broker publishes the will.
publisher.stream.destroy()
await all
// The will comes with less of a handshake than the last messages, and may overtake one.
show('messages', messages.sort().join(', '))
await subscriber.endAsync()
const wrong = open({ clientId: 'wrong', port: 1 })
await new Promise((resolve) => wrong.once('close', resolve))
show('refused', failures.join(' '))
