/** What koffi and libraries of the system compute: a file of its own, which is loaded when that pays off. */
import { nativeCrc32 } from '../../memory/index.ts'
import { useCrc32 } from '../../trace/index.ts'

export function useFastCrc32(): void {
  useCrc32(nativeCrc32())
}
