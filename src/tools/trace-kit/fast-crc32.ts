/** CRC-32 by koffi and libraries of the system: a file of its own, which is loaded only when that pays off. */
import { nativeCrc32 } from '../../memory/index.ts'
import { useCrc32 } from '../../trace/index.ts'

export function useFastCrc32(): void {
  useCrc32(nativeCrc32())
}
