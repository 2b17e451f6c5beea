/** Making and finding elements. */

type Content = string | Node

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
  ...content: readonly Content[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  made.append(...content)
  return made
}

export function button(text: string, title: string, press: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button', title }, text)
  made.addEventListener('click', press)
  return made
}

/** Shows whether a toggle is pressed. */
export function pressed(toggle: HTMLButtonElement, on: boolean): void {
  toggle.setAttribute('aria-pressed', String(on))
}

/** Returns the element of the document with that id. */
export function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T
}
