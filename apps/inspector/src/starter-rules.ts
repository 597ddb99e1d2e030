/** The rules that come with prexy, in the bundle. */
import credentials from '@prexy/hunt/rules/credentials.yml?raw'
import injection from '@prexy/hunt/rules/injection.yml?raw'
import scanners from '@prexy/hunt/rules/scanners.yml?raw'
import secrets from '@prexy/hunt/rules/secrets.yml?raw'
import traversal from '@prexy/hunt/rules/traversal.yml?raw'
import webShells from '@prexy/hunt/rules/web-shells.yml?raw'
import type { RuleText } from './hunt-protocol.ts'

export const STARTER_RULES: readonly RuleText[] = [
  { file: 'starter/credentials.yml', text: credentials },
  { file: 'starter/injection.yml', text: injection },
  { file: 'starter/scanners.yml', text: scanners },
  { file: 'starter/secrets.yml', text: secrets },
  { file: 'starter/traversal.yml', text: traversal },
  { file: 'starter/web-shells.yml', text: webShells },
]
