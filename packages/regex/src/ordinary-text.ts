/** What prefilters are chosen by: text as the web has it. */
import type { ByteSet } from './beginnings.ts'

/** Share of the bytes of ordinary text that a set has, roughly. */
export function weightOf({ bytes }: ByteSet): number {
  let sum = 0
  for (const byte of bytes) sum += BYTE_WEIGHTS[byte]
  return Math.min(1, sum)
}

/** Shares of bytes in HTML, CSS, scripts and JSON, roughly: all that matters is which are rare. */
export const BYTE_WEIGHTS: Float64Array = (() => {
  const weights = new Float64Array(256).fill(0.0002)
  const give = (bytes: string, percent: number): void => {
    for (const byte of bytes) weights[byte.charCodeAt(0)] = percent / 100
  }
  give(' ', 11)
  give('e', 7.5)
  give('tasi', 5.5)
  give('onrl', 4.5)
  give('cdpu', 2.6)
  give('mhgfb', 1.6)
  give('vwyk', 0.9)
  give('xjzq', 0.35)
  give('<>/"=', 2)
  give('.-:\n', 1.4)
  give("_,;(){}'", 0.6)
  give('0123456789', 0.6)
  give('ABCDEFGHIJKLMNOPQRSTUVWXYZ', 0.25)
  give('#&?+%*[]!|$@\\\t\r', 0.2)
  for (let byte = 0x80; byte < 0xc0; byte++) weights[byte] = 0.0006
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => weight / sum)
})()

/** What a page has between its rarer parts; what is rare together is counted here, since neighbouring bytes are not independent. */
export const SAMPLE: Uint8Array = Uint8Array.from(
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Home | Example</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="canonical" href="https://www.site.test/en/">
<link rel="stylesheet" href="https://static.site.test/css/main.min.css?v=20240117"><script async src="//cdn.site.test/js/app.js"></script>
<script>window.dataLayer=window.dataLayer||[];function gtag(){dataLayer.push(arguments)}gtag("js",new Date());gtag("config","G-1A2B3C4D5E")</script>
</head><body class="page home"><div id="main" class="container"><ul class="nav"><li><a href="/products/index.html">Products</a></li>
<li><a href="https://shop.site.test/cart?item=42&amp;ref=top">Cart</a></li></ul><h1>Welcome to the store</h1><p>The quick brown fox jumps
over the lazy dog, and then some other text that people read, for example: track, trackers, under, until, state, static, start, title, time.</p>
<img src="https://images.site.test/photos/2024/01/header-1200x800.jpg" alt="A view of the town" width="1200" height="800">
<form action="/search" method="post"><input type="hidden" name="token" value="f3a9c1d07b"><button type="submit">Search</button></form>
<script type="application/json">{"id":1047,"name":"Item","price":19.95,"url":"https:\\/\\/www.site.test\\/item\\/1047","tags":["new","sale"]}</script>
<footer>Copyright 2024 Example Inc. All rights reserved. <a href="mailto:info@site.test">Contact us</a></footer></div></body></html>`,
  (character) => character.charCodeAt(0),
)
