/** Classes of requests by their size, for figures of flows that are alike. */

/** Upper limits in bytes; larger requests are in the last class. */
export const sizeLimits: readonly number[] = [1024, 16 * 1024, 128 * 1024, 2 ** 20, 10 * 2 ** 20]
export const sizeClasses = ['≤ 1 KiB', '≤ 16 KiB', '≤ 128 KiB', '≤ 1 MiB', '≤ 10 MiB', '> 10 MiB'] as const
export type SizeClass = (typeof sizeClasses)[number]
