/** The pages that benches and memory tests rewrite: HTML-like, the same bytes for the same definition. */
import type { PageDefinition } from './definition.ts'

const WORDS = (
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna ' +
  'aliqua www.other.test static.other.test example exampled title UA trackers under'
).split(' ')
const TAGS = ['div', 'p', 'span', 'li', 'td', 'section'] as const

/**
 * An ASCII page of exactly `bytes` bytes. Without needles it is filler alone. Filler has near misses in it (hosts and words that begin like the needles) but
 * no needle of the definitions.
 */
export function htmlPage(definition: PageDefinition, bytes: number): Uint8Array {
  const random = lcg(1)
  const parts: string[] = []
  let length = 0
  for (let i = 0; length < bytes; i++) {
    const needle = definition.needles.length === 0 ? '' : definition.needles[i % definition.needles.length]
    const stretch = `${needle}${filler(random, definition.matchEveryBytes - needle.length)}`
    parts.push(stretch)
    length += stretch.length
  }
  const page = new TextEncoder().encode(parts.join('')).subarray(0, bytes)
  // A needle cut off at the end would make the last match depend on the size.
  const tail = bytes % definition.matchEveryBytes
  return tail === 0 ? page : page.fill(0x20, bytes - tail)
}

function filler(random: () => number, length: number): string {
  let text = '"> '
  while (text.length < length) {
    const tag = TAGS[random() % TAGS.length]
    text += `<${tag} class="c${random() % 100}">`
    for (let words = 3 + (random() % 8); words > 0; words--) text += `${WORDS[random() % WORDS.length]} `
    text += `</${tag}>\n`
  }
  return text.slice(0, length)
}

/** Numerical Recipes' linear congruential generator, its upper bits. */
function lcg(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 8
  }
}
