/** The token that a server asks for, in this tab: it came with the address of the page, or somebody typed it. */
export class PageToken {
  readonly #key: string

  /** `key`: of the session's storage. What the address has behind '#token=' is kept, and is taken out of the address. */
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
