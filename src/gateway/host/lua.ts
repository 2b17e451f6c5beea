/**
 * A state of Lua: functions and expressions that were loaded, samples as tables. fengari's integers have 32 bits; a larger one is a float.
 */
import type * as Fengari from 'fengari'
import {
  GatewayError,
  SampleField,
  SampleFlag,
  type Samples,
  type Settings,
  type Signal,
  SignalType,
} from '../index.ts'

export type FengariModule = typeof Fengari

/** Function in Lua's registry. */
export type LuaReference = number

const isInt32 = (value: number): boolean => (value | 0) === value

export class Lua {
  readonly #fengari: FengariModule
  readonly #state: Fengari.LuaState
  readonly #keys: Readonly<Record<'flags' | 'sequence' | 'ts_origin' | 'ts_received' | 'data', Uint8Array>>

  constructor(fengari: FengariModule) {
    const { lauxlib, lualib, to_luastring: bytes } = fengari
    this.#fengari = fengari
    this.#state = lauxlib.luaL_newstate()
    lualib.luaL_openlibs(this.#state)
    this.#keys = {
      flags: bytes('flags'),
      sequence: bytes('sequence'),
      ts_origin: bytes('ts_origin'),
      ts_received: bytes('ts_received'),
      data: bytes('data'),
    }
  }

  bytes(text: string): Uint8Array {
    return this.#fengari.to_luastring(text)
  }

  /** Compiles a chunk. Throws a `GatewayError` with Lua's message. `name`: for messages, '@' before that of a file. */
  load(source: Uint8Array, name: string): LuaReference {
    const { lua, lauxlib } = this.#fengari
    if (lauxlib.luaL_loadbuffer(this.#state, source, source.length, this.bytes(name)) !== lua.LUA_OK)
      throw new GatewayError('ERR_GATEWAY_SETTING', this.#message())
    return lauxlib.luaL_ref(this.#state, lua.LUA_REGISTRYINDEX)
  }

  /** Returns the global function of a name; undefined if there is none. */
  global(name: string): LuaReference | undefined {
    const { lua, lauxlib } = this.#fengari
    const L = this.#state
    if (lua.lua_getglobal(L, this.bytes(name)) === lua.LUA_TFUNCTION) return lauxlib.luaL_ref(L, lua.LUA_REGISTRYINDEX)
    lua.lua_pop(L, 1)
    return undefined
  }

  /** Registers a global function that gets its arguments as text, with tabs between them, as print does. */
  register(name: string, call: (text: string) => void): void {
    const { lua, lauxlib, to_jsstring: text } = this.#fengari
    lua.lua_register(this.#state, this.bytes(name), (L) => {
      const parts: string[] = []
      const count = lua.lua_gettop(L)
      for (let i = 1; i <= count; i++) {
        parts.push(text(lauxlib.luaL_tolstring(L, i)))
        lua.lua_pop(L, 1)
      }
      call(parts.join('\t'))
      return 0
    })
  }

  /** Calls a function without arguments, or with settings. Throws an `Error` with Lua's message. */
  call(reference: LuaReference, settings?: Settings): void {
    const { lua } = this.#fengari
    const L = this.#state
    lua.lua_rawgeti(L, lua.LUA_REGISTRYINDEX, reference)
    if (settings !== undefined) this.#push(settings)
    if (lua.lua_pcall(L, settings === undefined ? 0 : 1, 0, 0) !== lua.LUA_OK) throw new Error(this.#message())
  }

  /** Pushes the table of a sample. `names`: keys of its values; null: indices from 0. `pop` removes it again. */
  pushSample(samples: Samples, word: number, signals: readonly Signal[], names: readonly Uint8Array[] | null): void {
    const { lua } = this.#fengari
    const L = this.#state
    const keys = this.#keys
    const flags = samples.u32[word + SampleField.flags]!
    lua.lua_createtable(L, 0, 5)
    lua.lua_pushinteger(L, flags | 0)
    lua.lua_setfield(L, -2, keys.flags)
    if (flags & SampleFlag.sequence) {
      lua.lua_pushnumber(L, samples.int64(word + SampleField.sequence))
      lua.lua_setfield(L, -2, keys.sequence)
    }
    if (flags & SampleFlag.tsOrigin) this.#pushTime(samples, word + SampleField.origin, keys.ts_origin)
    if (flags & SampleFlag.tsReceived) this.#pushTime(samples, word + SampleField.received, keys.ts_received)
    if ((flags & SampleFlag.data) === 0) return
    const length = Math.min(samples.u32[word + SampleField.length]!, signals.length)
    lua.lua_createtable(L, length, 0)
    for (let i = 0; i < length; i++) {
      if (!this.#pushValue(samples, word + SampleField.data + 2 * i, signals[i]!.type)) continue
      if (names === null) lua.lua_rawseti(L, -2, i)
      else lua.lua_setfield(L, -2, names[i]!)
    }
    lua.lua_setfield(L, -2, keys.data)
  }

  /** Makes the table on top a global, and removes it. */
  popToGlobal(name: Uint8Array): void {
    this.#fengari.lua.lua_setglobal(this.#state, name)
  }

  /** Calls a function with the table on top, which stays. Returns its result if that is a number, else NaN. */
  callWithTop(reference: LuaReference): number {
    const { lua } = this.#fengari
    const L = this.#state
    lua.lua_rawgeti(L, lua.LUA_REGISTRYINDEX, reference)
    lua.lua_pushvalue(L, -2)
    if (lua.lua_pcall(L, 1, 1, 0) !== lua.LUA_OK) {
      const message = this.#message()
      lua.lua_pop(L, 1)
      throw new Error(message)
    }
    const result = lua.lua_type(L, -1) === lua.LUA_TNUMBER ? lua.lua_tonumber(L, -1) : Number.NaN
    lua.lua_pop(L, 1)
    return result
  }

  /** Fills a sample from the table on top, and removes that. The sample has only the fields that the table has. */
  popSample(samples: Samples, word: number, signals: readonly Signal[], names: readonly Uint8Array[] | null): void {
    const { lua } = this.#fengari
    const L = this.#state
    const keys = this.#keys
    let flags = samples.u32[word + SampleField.flags]! & (SampleFlag.newFrame | SampleFlag.newSimulation)
    if (lua.lua_getfield(L, -1, keys.sequence) !== lua.LUA_TNIL) {
      samples.setInt64(word + SampleField.sequence, lua.lua_tonumber(L, -1))
      flags |= SampleFlag.sequence
    }
    lua.lua_pop(L, 1)
    if (this.#time(samples, word + SampleField.origin, keys.ts_origin)) flags |= SampleFlag.tsOrigin
    if (this.#time(samples, word + SampleField.received, keys.ts_received)) flags |= SampleFlag.tsReceived
    let length = 0
    if (lua.lua_getfield(L, -1, keys.data) !== lua.LUA_TNIL) {
      for (; length < signals.length; length++) {
        if (names === null) lua.lua_rawgeti(L, -1, length)
        else lua.lua_getfield(L, -1, names[length]!)
        this.#value(samples, word + SampleField.data + 2 * length, signals[length]!)
        lua.lua_pop(L, 1)
      }
      if (length > 0) flags |= SampleFlag.data
    }
    samples.u32[word + SampleField.length] = length
    samples.u32[word + SampleField.flags] = flags
    lua.lua_pop(L, 2)
  }

  /** Evaluates an expression into a value of a sample. With `keeps`, nil leaves the present value. Throws an `Error` with Lua's message. */
  evaluate(expression: LuaReference, samples: Samples, word: number, signal: Signal, keeps: boolean): void {
    const { lua } = this.#fengari
    const L = this.#state
    lua.lua_rawgeti(L, lua.LUA_REGISTRYINDEX, expression)
    if (lua.lua_pcall(L, 0, 1, 0) !== lua.LUA_OK) throw new Error(this.#message())
    if (!keeps || lua.lua_type(L, -1) !== lua.LUA_TNIL) this.#value(samples, word, signal)
    lua.lua_pop(L, 1)
  }

  /** Removes what a failed call has left. */
  clear(): void {
    this.#fengari.lua.lua_settop(this.#state, 0)
  }

  /** Returns the message on top, and removes it. */
  #message(): string {
    const { lua, lauxlib, to_jsstring: text } = this.#fengari
    const message = text(lauxlib.luaL_tolstring(this.#state, -1))
    lua.lua_pop(this.#state, 2)
    return message
  }

  #pushTime(samples: Samples, word: number, key: Uint8Array): void {
    const { lua } = this.#fengari
    const L = this.#state
    lua.lua_createtable(L, 2, 0)
    for (const i of [0, 1]) {
      this.#pushNumber(samples.int64(word + 2 * i))
      lua.lua_rawseti(L, -2, i)
    }
    lua.lua_setfield(L, -2, key)
  }

  #pushNumber(value: number): void {
    const { lua } = this.#fengari
    if (isInt32(value)) lua.lua_pushinteger(this.#state, value)
    else lua.lua_pushnumber(this.#state, value)
  }

  /** Pushes a value; false for a complex number, which Lua does not have. */
  #pushValue(samples: Samples, word: number, type: number): boolean {
    const { lua } = this.#fengari
    if (type === SignalType.float) lua.lua_pushnumber(this.#state, samples.f64[word >> 1]!)
    else if (type === SignalType.integer) this.#pushNumber(samples.int64(word))
    else if (type === SignalType.boolean) lua.lua_pushboolean(this.#state, samples.u32[word] !== 0)
    else return false
    return true
  }

  #push(value: unknown): void {
    const { lua } = this.#fengari
    const L = this.#state
    if (typeof value === 'number') this.#pushNumber(value)
    else if (typeof value === 'boolean') lua.lua_pushboolean(L, value)
    else if (typeof value === 'string') lua.lua_pushstring(L, this.bytes(value))
    else if (typeof value !== 'object' || value === null) lua.lua_pushnil(L)
    else {
      lua.lua_createtable(L, 0, 0)
      for (const [key, each] of Object.entries(value)) {
        this.#push(each)
        if (Array.isArray(value)) lua.lua_rawseti(L, -2, Number(key))
        else lua.lua_setfield(L, -2, this.bytes(key))
      }
    }
  }

  /** Reads the time in a field of the table on top; false if there is none. */
  #time(samples: Samples, word: number, key: Uint8Array): boolean {
    const { lua } = this.#fengari
    const L = this.#state
    const isThere = lua.lua_getfield(L, -1, key) !== lua.LUA_TNIL
    for (let i = 0; isThere && i < 2; i++) {
      lua.lua_rawgeti(L, -1, i)
      samples.setInt64(word + 2 * i, Math.trunc(lua.lua_tonumber(L, -1)) || 0)
      lua.lua_pop(L, 1)
    }
    lua.lua_pop(L, 1)
    return isThere
  }

  /** Reads the entry on top as a value of a signal; if it is neither a number nor a boolean, the value is the signal's initial one. */
  #value(samples: Samples, word: number, { type, init }: Signal): void {
    const { lua } = this.#fengari
    const L = this.#state
    const is = lua.lua_type(L, -1)
    const value =
      is === lua.LUA_TNUMBER
        ? lua.lua_tonumber(L, -1)
        : is === lua.LUA_TBOOLEAN
          ? Number(lua.lua_toboolean(L, -1))
          : Number(typeof init === 'object' ? init.real : (init ?? 0))
    if (type === SignalType.float) samples.f64[word >> 1] = value
    else if (type === SignalType.integer) samples.setInt64(word, Math.trunc(value) || 0)
    else if (type === SignalType.boolean) samples.setInt64(word, value ? 1 : 0)
    // A complex number that Lua has not seen stays.
    else if (is === lua.LUA_TNUMBER) samples.f32.set([value, 0], word)
  }
}
