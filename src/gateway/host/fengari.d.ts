/** Declarations of the parts of fengari that are used: Lua 5.3 in JavaScript, with the functions of Lua's C API. Strings are bytes. */
declare module 'fengari' {
  export interface LuaState {
    readonly isLuaState: true
  }
  type LuaFunction = (L: LuaState) => number
  export function to_luastring(text: string): Uint8Array
  export function to_jsstring(bytes: Uint8Array): string
  export namespace lua {
    const LUA_OK: number
    const LUA_REGISTRYINDEX: number
    const LUA_TNIL: number
    const LUA_TBOOLEAN: number
    const LUA_TNUMBER: number
    const LUA_TFUNCTION: number
    function lua_createtable(L: LuaState, array: number, record: number): void
    function lua_getfield(L: LuaState, index: number, key: Uint8Array): number
    function lua_setfield(L: LuaState, index: number, key: Uint8Array): void
    function lua_getglobal(L: LuaState, name: Uint8Array): number
    function lua_setglobal(L: LuaState, name: Uint8Array): void
    function lua_register(L: LuaState, name: Uint8Array, f: LuaFunction): void
    function lua_rawgeti(L: LuaState, index: number, n: number): number
    function lua_rawseti(L: LuaState, index: number, n: number): void
    function lua_pushnumber(L: LuaState, value: number): void
    function lua_pushinteger(L: LuaState, value: number): void
    function lua_pushboolean(L: LuaState, value: boolean): void
    function lua_pushstring(L: LuaState, bytes: Uint8Array): void
    function lua_pushnil(L: LuaState): void
    function lua_pushvalue(L: LuaState, index: number): void
    function lua_pcall(L: LuaState, parameters: number, results: number, handler: number): number
    function lua_type(L: LuaState, index: number): number
    function lua_tonumber(L: LuaState, index: number): number
    function lua_toboolean(L: LuaState, index: number): boolean
    function lua_gettop(L: LuaState): number
    function lua_settop(L: LuaState, index: number): void
    function lua_pop(L: LuaState, count: number): void
  }
  export namespace lauxlib {
    function luaL_newstate(): LuaState
    function luaL_loadbuffer(L: LuaState, bytes: Uint8Array, length: number, name: Uint8Array): number
    function luaL_ref(L: LuaState, table: number): number
    function luaL_tolstring(L: LuaState, index: number): Uint8Array
  }
  export namespace lualib {
    function luaL_openlibs(L: LuaState): void
  }
}
