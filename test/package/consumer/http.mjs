// Knows nothing of RDMA.
import { createServer, get } from 'node:http'

const server = createServer((_, response) => response.end('over HTTP')).listen(0, '127.0.0.1', () => {
  get({ host: '127.0.0.1', port: server.address().port, agent: false }, (response) => {
    response.on('data', (data) => console.log(`${data}`)).on('end', () => server.close())
  })
})
