/** The rules that come with prexy: attacks on web sites. */
import { fileURLToPath } from 'node:url'

/** The folder that they are in. */
export const STARTER_RULES: string = fileURLToPath(new URL('../rules', import.meta.url))
