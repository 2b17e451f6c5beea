/** Configurations in files. Other folders import from here only. */
export { checkSettings, type LoadedConfig, loadConfig, loadText } from './load.ts'
