/** Runs tasks together: when one of them fails, the signal of the others is aborted, and its error is thrown when all have ended. */
export async function all<T>(
  signal: AbortSignal,
  tasks: readonly ((signal: AbortSignal) => Promise<T>)[],
): Promise<T[]> {
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const ends = await Promise.allSettled(
    tasks.map(async (task) => {
      try {
        return await task(either)
      } catch (error) {
        failed.abort(error)
        throw error
      }
    }),
  )
  if (failed.signal.aborted) throw failed.signal.reason
  return ends.map((end) => (end as PromiseFulfilledResult<T>).value)
}
