// With `node --import`: when the process ends, the last line of its stderr says what it has loaded.
import { Session } from 'node:inspector'

const files = []
let workers = 0
const session = new Session()
session.connect()
session.on('Debugger.scriptParsed', ({ params: { url } }) => {
  if (url.startsWith('file:')) files.push(url)
})
session.post('Debugger.enable')
process.on('worker', () => workers++)
process.on('exit', () => {
  session.disconnect()
  const { sharedObjects } = process.report.getReport()
  process.stderr.write(`\n${JSON.stringify({ files, workers, sharedObjects })}\n`)
})
