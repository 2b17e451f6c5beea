/** Opens a device, closes it, and has nothing else to do. */
import { openDevice } from '../../src/index.ts'

const [name = '', engine] = process.argv.slice(2)
openDevice(name, engine === 'thread' ? { engine } : {}).close()
console.log('closed')
