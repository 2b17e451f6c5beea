// Tells of each thread that loads what Node is told to load first.
require('node:fs').writeSync(2, `loaded by thread ${require('node:worker_threads').threadId}\n`)
