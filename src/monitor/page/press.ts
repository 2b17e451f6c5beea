/**
 * While something is pressed, nothing is made anew: a button that is replaced between pressing and releasing it gets no click. What
 * comes meanwhile waits, but no longer than a second, since browsers do not always say that a button was released (over a menu).
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
// The click comes right behind it.
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => setTimeout(release), true)

/** Does it at once, or when nothing is pressed; one after the other. */
export function unlessPressed(task: () => void): void {
  if (timer === undefined) task()
  else waiting.push(task)
}
