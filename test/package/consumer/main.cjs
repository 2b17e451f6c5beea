// CommonJS, where Node can `require` ES modules.
const { openDevice, nativeAvailable } = require('verbena')
const net = require('verbena/net')
const { opcodeName } = require('verbena/wire')

console.log(openDevice('shm0').queryDevice().maxQp > 0, typeof net.connect, opcodeName(4), nativeAvailable)
