/** Before the tests: can they run here? If so, the guest is built; else it is said once what is missing. */
import type { TestProject } from 'vitest/node'
import { guestImages, missing, withoutPingPong } from './lab/index.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the guest's images are; null where guests cannot run. */
    guestImages: string | null
    /** Ping-pongs of ours can be tested. */
    pingPongs: boolean
  }
}

export default async function setup(project: TestProject): Promise<void> {
  const reasons = await missing()
  let images: string | null = null
  if (reasons.length === 0) {
    const built = await guestImages()
    if ('images' in built) images = built.images
    else reasons.push(built.missing)
  }
  if (images === null) {
    console.warn(`skipped: tests against Soft-RoCE guests need\n${reasons.map((reason) => `  - ${reason}`).join('\n')}`)
  }
  const lacking = await withoutPingPong()
  if (lacking !== null) console.warn(`skipped: ping-pongs of ours, because ${lacking}`)
  project.provide('guestImages', images)
  project.provide('pingPongs', images !== null && lacking === null)
}
