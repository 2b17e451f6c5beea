/** Worker of the page: reads captures, and answers the page's requests. */
import { type FromPage, type FromWorker, Session } from '../view/index.ts'
import { blobBytes } from './blob-bytes.ts'

// A turn of the event loop that, unlike a timer's, is not delayed.
const { port1, port2 } = new MessageChannel()
const waiting: (() => void)[] = []
port1.onmessage = () => waiting.shift()?.()

const session = new Session<Blob>(blobBytes, {
  post: (message: FromWorker) => postMessage(message),
  nextTurn: () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      port2.postMessage(0)
    }),
  now: () => performance.now(),
})

addEventListener('message', ({ data }: MessageEvent<FromPage<Blob>>) => void session.take(data))
