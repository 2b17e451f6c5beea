// gRPC over HTTP/2, server and client in one process: `node grpc.mjs HOST`.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

const host = process.argv[2] ?? '127.0.0.1'
const show = (...values) => console.log(...values)
const folder = mkdtempSync(join(tmpdir(), 'verbena-grpc-'))
const file = join(folder, 'lab.proto')
writeFileSync(
  file,
  `syntax = "proto3";
package lab;
message Text { string text = 1; }
service Lab {
  rpc Echo (Text) returns (Text);
  rpc Fail (Text) returns (Text);
  rpc Never (Text) returns (Text);
  rpc Count (Text) returns (stream Text);
  rpc Collect (stream Text) returns (Text);
  rpc Chat (stream Text) returns (stream Text);
}
`,
)
const { lab } = grpc.loadPackageDefinition(loadSync(file))
rmSync(folder, { recursive: true })

const server = new grpc.Server({ 'grpc.max_receive_message_length': 1 << 23 })
server.addService(lab.Lab.service, {
  Echo: (call, done) => done(null, call.request),
  Fail: (_, done) => done({ code: grpc.status.NOT_FOUND, details: 'nothing' }),
  Never: () => {},
  Count: (call) => {
    for (let n = 0; n < 100; n++) call.write({ text: String(n) })
    call.end()
  },
  Collect: (call, done) => {
    let length = 0
    call.on('data', ({ text }) => (length += text.length)).on('end', () => done(null, { text: String(length) }))
  },
  Chat: (call) => call.on('data', (each) => call.write(each)).on('end', () => call.end()),
})
const credentials = grpc.ServerCredentials.createInsecure()
const port = await new Promise((resolve, reject) =>
  server.bindAsync(`${host}:0`, credentials, (error, bound) => (error ? reject(error) : resolve(bound))),
)
const options = { 'grpc.max_receive_message_length': 1 << 23, 'grpc.max_send_message_length': 1 << 23 }
const client = new lab.Lab(`${host}:${port}`, grpc.credentials.createInsecure(), options)
const call = (name, request, deadline) =>
  new Promise((resolve) =>
    client[name](request, { deadline: Date.now() + deadline }, (error, reply) => resolve(error ?? reply)),
  )

show('echo', (await call('Echo', { text: 'hello' }, 20_000)).text)
const long = 'z'.repeat(3_000_000)
show('long', (await call('Echo', { text: long }, 20_000)).text === long)
show('failed', (await call('Fail', {}, 20_000)).code)
show('deadline', (await call('Never', {}, 300)).code)
const counted = []
for await (const { text } of client.Count({})) counted.push(text)
show('counted', counted.length, counted.at(-1))
const collected = await new Promise((resolve) => {
  const stream = client.Collect((error, reply) => resolve(error ?? reply))
  for (let n = 0; n < 50; n++) stream.write({ text: 'a'.repeat(n * 100) })
  stream.end()
})
show('collected', collected.text)
const chat = client.Chat()
let heard = 0
for (let n = 0; n < 20; n++) chat.write({ text: 'b'.repeat(n) })
chat.end()
for await (const { text } of chat) heard += text.length
show('chatted', heard)
client.close()
await new Promise((resolve) => server.tryShutdown(resolve))
const nobody = new lab.Lab(`${host}:1`, grpc.credentials.createInsecure())
const missing = await new Promise((resolve) =>
  nobody.Echo({}, { deadline: Date.now() + 20_000 }, (error) => resolve(error)),
)
show('nobody', missing.code)
nobody.close()
