/** The token that a server requires, in this tab: it came with the address of the page, or the user typed it. */
export class PageToken {
  readonly #key: string

  /** Takes the token. `key`: of the session's storage. The text after '#token=' in the address is kept, and is removed from the address. */
  constructor(key: string) {
    this.#key = key
    this.#take()
    addEventListener('hashchange', () => {
      if (this.#take()) location.reload()
    })
  }

  get value(): string | null {
    return sessionStorage.getItem(this.#key)
  }

  set value(token: string) {
    sessionStorage.setItem(this.#key, token)
  }

  #take(): boolean {
    const [, given] = /^#token=(.+)$/.exec(location.hash) ?? []
    if (given === undefined) return false
    this.value = decodeURIComponent(given)
    history.replaceState(null, '', location.pathname)
    return true
  }
}
