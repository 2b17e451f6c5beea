/** Opening of captures in the page: dropped, chosen, pasted, or part of the file. */
import { button, byId } from '../../page/index.ts'

export interface Opened {
  name: string
  blob: Blob
}

/** @param open processes each capture that the user opens */
export function opener(open: (capture: Opened) => void): void {
  const input = byId<HTMLInputElement>('file')
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0]
    if (file !== undefined) open({ name: file.name, blob: file })
  }
  for (const id of ['choose', 'another']) byId(id).addEventListener('click', () => input.click())
  input.addEventListener('change', () => {
    take(input.files)
    // The same file may be chosen again.
    input.value = ''
  })
  const { documentElement: root } = document
  let inside = 0
  addEventListener('dragenter', (event) => {
    event.preventDefault()
    inside++
    root.dataset.drop = ''
  })
  addEventListener('dragleave', () => {
    if (--inside <= 0) delete root.dataset.drop
  })
  addEventListener('dragover', (event) => event.preventDefault())
  addEventListener('drop', (event) => {
    event.preventDefault()
    inside = 0
    delete root.dataset.drop
    take(event.dataTransfer?.files)
  })
  addEventListener('paste', ({ clipboardData }) => take(clipboardData?.files))
}

/** Adds a button for each capture that is embedded in this file, if there are several. Returns the first; undefined without any. */
export function embedded(open: (capture: Opened) => void): Opened | undefined {
  const captures = [...document.querySelectorAll<HTMLScriptElement>('script[data-capture]')].map((script) => ({
    name: script.dataset.capture!,
    script,
  }))
  const place = byId('embedded')
  const unpacked = (name: string, script: HTMLScriptElement): Opened => ({ name, blob: fromBase64(script.textContent) })
  if (captures.length > 1)
    for (const { name, script } of captures)
      place.append(button(name, `Open ${name}, which is in this page`, () => open(unpacked(name, script))))
  const first = captures[0]
  return first && unpacked(first.name, first.script)
}

function fromBase64(text: string): Blob {
  const binary = atob(text.trim())
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return new Blob([bytes])
}
