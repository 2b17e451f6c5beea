/**
 * Updates of the page while a pointer is pressed: no element is replaced, since a button that is replaced between pressing and releasing it
 * gets no click. They wait meanwhile, but at most a second, since browsers do not always report that a button was released (over a menu).
 */
const mostMs = 1000

const waiting: (() => void)[] = []
let timer: ReturnType<typeof setTimeout> | undefined

function release(): void {
  clearTimeout(timer)
  timer = undefined
  for (const task of waiting.splice(0)) task()
}

addEventListener(
  'pointerdown',
  () => {
    clearTimeout(timer)
    timer = setTimeout(release, mostMs)
  },
  true,
)
// The click comes immediately after it.
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => setTimeout(release), true)

/** Runs a task at once, or when nothing is pressed; tasks run one after the other. */
export function unlessPressed(task: () => void): void {
  if (timer === undefined) task()
  else waiting.push(task)
}
