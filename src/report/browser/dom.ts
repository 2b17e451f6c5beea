/** Creation of elements. */

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  text = '',
  children: readonly Node[] = [],
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name)
  if (text !== '') made.textContent = text
  made.append(...children)
  return made
}

export function button(text: string, title: string, press: () => void): HTMLButtonElement {
  const made = element('button', text)
  made.type = 'button'
  made.title = title
  made.addEventListener('click', press)
  return made
}

export function pressed(toggle: HTMLButtonElement, on: boolean): void {
  toggle.setAttribute('aria-pressed', String(on))
}
