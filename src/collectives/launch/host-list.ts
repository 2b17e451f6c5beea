/** Slurm's lists of hosts: `node7`, `a,b`, `rack[2-3]-n[01-16,20],login`. */

/**
 * The first host of a list, with the zeros that a range was written with; undefined if the text is no list. Only as much of it as
 * the first host needs is read.
 */
export function firstHost(list: string): string | undefined {
  const match = /^((?:[^\s,[\]]|\[\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*\])+)(?:,|$)/.exec(list.trim())
  return match?.[1]?.replace(/\[(\d+)[^\]]*\]/g, '$1')
}
