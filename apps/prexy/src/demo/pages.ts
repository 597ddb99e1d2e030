/** The pages of the demo shop, as its origin serves them: they name Kestrel Coffee and kestrel.example everywhere. */

interface Product {
  readonly slug: string
  readonly name: string
  readonly notes: string
  readonly price: string
  readonly tone: readonly [light: string, dark: string]
}

const PRODUCTS: readonly Product[] = [
  {
    slug: 'morning-hover',
    name: 'Morning Hover',
    notes: 'honey, apricot, oolong',
    price: '14.50',
    tone: ['#f3c98b', '#b4532a'],
  },
  {
    slug: 'ridge-line',
    name: 'Ridge Line',
    notes: 'cocoa, walnut, dark cherry',
    price: '13.00',
    tone: ['#c79a7b', '#5a3524'],
  },
  {
    slug: 'thermal',
    name: 'Thermal',
    notes: 'blackcurrant, rhubarb, rose',
    price: '16.90',
    tone: ['#e6a4a4', '#8c2f45'],
  },
  {
    slug: 'field-margin',
    name: 'Field Margin',
    notes: 'hazelnut, malt, orange peel',
    price: '12.40',
    tone: ['#e3d49b', '#7a6a1f'],
  },
  {
    slug: 'slipstream',
    name: 'Slipstream',
    notes: 'bergamot, pear, white tea',
    price: '17.20',
    tone: ['#b9d3c6', '#356859'],
  },
  {
    slug: 'night-roost',
    name: 'Night Roost',
    notes: 'decaf, caramel, plum',
    price: '13.80',
    tone: ['#b7b3d6', '#41397a'],
  },
]

export function homePage(): string {
  return page(
    'Kestrel Coffee: roasted on the day it leaves',
    `<section class="hero">
  <div>
    <p class="eyebrow">Small-batch roastery</p>
    <h1>Coffee that leaves<br>the day it is roasted.</h1>
    <p class="lead">Kestrel Coffee buys from eleven farms and roasts every morning. Order before ten at
    <a href="https://www.kestrel.example/order">www.kestrel.example</a> and it is on its way by noon.</p>
    <p class="actions"><a class="button" href="/catalogue">See all coffees</a> <a class="quiet" href="/about">Who we are</a></p>
  </div>
  <figure><img src="/photo.png" width="480" height="360" alt="Hills at sunrise">
  <figcaption>The Huila farms, photographed for Kestrel Coffee</figcaption></figure>
</section>
<section>
  <h2>This week</h2>
  <div class="grid">
${PRODUCTS.map(card).join('\n')}
  </div>
</section>
<section class="ticker" aria-live="polite">
  <h2>Leaving the roastery now</h2>
  <ul id="orders"><li class="waiting">waiting for the next order &hellip;</li></ul>
</section>`,
  )
}

/** Sent with gzip: what the rules look for is nowhere in the bytes on the wire. */
export function aboutPage(): string {
  return page(
    'Who we are: Kestrel Coffee',
    `<article class="prose">
  <p class="eyebrow">Who we are</p>
  <h1>Two roasters, one van, and a bird on the roof.</h1>
  <p>Kestrel Coffee began in a garage in 2011. The bird moved in a year later and the name stuck. We still sort every
  bag by hand, and we still answer the telephone.</p>
  <p>Wholesale: <a href="//wholesale.kestrel.example/">wholesale.kestrel.example</a>. Press:
  <a href="mailto:press@kestrel.example">press@kestrel.example</a>. Our neighbours at notkestrel.example are a bakery and
  have nothing to do with us; neither has kestrel.example.org.</p>
  <p class="note">This page came through gzip. prexy unpacked it, applied the rules, and packed it again, while it streamed.</p>
</article>`,
  )
}

const CATALOGUE_PAGES = 40

/** A long page in pieces that the origin sends with pauses between, cut inside words and host names. */
export function cataloguePieces(): string[] {
  const rows = Array.from({ length: CATALOGUE_PAGES }, (_, index) => {
    const product = PRODUCTS[index % PRODUCTS.length]
    return `<tr><td>${String(index + 1).padStart(2, '0')}</td><td>${product.name}</td><td>${product.notes}</td><td>EUR ${product.price}</td>
<td><a href="https://shop.kestrel.example/${product.slug}">order from Kestrel Coffee</a></td></tr>`
  })
  const html = page(
    'All coffees: Kestrel Coffee',
    `<article class="wide"><p class="eyebrow">All coffees</p>
<h1>The whole shelf.</h1>
<p class="note">The origin sends this page slowly, in pieces that cut words in two. It arrives here as slowly, rewritten.</p>
<table><thead><tr><th></th><th>Coffee</th><th>Tastes of</th><th>250 g</th><th></th></tr></thead><tbody>
${rows.join('\n')}
</tbody></table></article>`,
  )
  const pieces: string[] = []
  // A prime, so that the cuts fall everywhere: inside needles, tags and characters.
  for (let from = 0; from < html.length; from += 257) pieces.push(html.slice(from, from + 257))
  return pieces
}

export const SCRIPT = `// Kestrel Coffee, https://www.kestrel.example/
const account = 'UA-4711-2'
const api = 'https:\\/\\/api.kestrel.example\\/v1'
const share = 'https://social.example/share?u=https%3A%2F%2Fwww.kestrel.example%2F'

console.info('Kestrel Coffee: statistics go to', account, 'and', api, 'shared as', share)

const orders = document.querySelector('#orders')
if (orders !== null) {
  const stream = new EventSource('/events')
  stream.onmessage = ({ data }) => {
    const { coffee, town, shop } = JSON.parse(data)
    const item = document.createElement('li')
    item.textContent = coffee + ' to ' + town + ', with regards from ' + shop
    orders.querySelector('.waiting')?.remove()
    orders.prepend(item)
    while (orders.children.length > 4) orders.lastChild.remove()
  }
}
`

export function productsJson(): string {
  return JSON.stringify({
    shop: 'Kestrel Coffee',
    home: 'https://www.kestrel.example/',
    products: PRODUCTS.map(({ slug, name, price }) => ({
      name,
      price: `EUR ${price}`,
      page: `https://www.kestrel.example/coffee/${slug}`,
    })),
  }).replaceAll('/', '\\/')
}

const TOWNS = ['Leipzig', 'Porto', 'Gent', 'Malmö', 'Brno', 'Cork', 'Lyon', 'Udine']

export function orderEvent(number: number): string {
  const product = PRODUCTS[number % PRODUCTS.length]
  const order = { coffee: product.name, town: TOWNS[(number * 5) % TOWNS.length], shop: 'Kestrel Coffee' }
  return `id: ${number}\ndata: ${JSON.stringify(order)}\n\n`
}

/** The bird; its colour is the one of the style sheet. */
export const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" role="img" aria-label="Kestrel Coffee">
<!-- drawn for Kestrel Coffee, kestrel.example -->
<circle cx="32" cy="32" r="31" fill="#b4532a"/>
<path d="M9 27c9-2 15 0 20 5 1-6 6-11 14-12l-3 5 9-2c-4 9-9 13-15 14l5 11-9-8-3 9-3-11c-7 0-12-4-15-11z" fill="#fff8ef"/>
<circle cx="42" cy="22.500" r="1.300" fill="#b4532a"/></svg>
`

export const STYLE = `/* Kestrel Coffee, https://www.kestrel.example/style */
:root {
  --brand: #b4532a;
  --ink: #2b211b;
  --soft: #75675c;
  --paper: #fdfaf6;
  --line: #eadfd3;
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 ui-sans-serif, system-ui, "Segoe UI", Roboto, sans-serif }
a { color: var(--brand); text-underline-offset: 3px }
header, main, footer { max-width: 1080px; margin: 0 auto; padding: 0 28px }
header { display: flex; align-items: center; gap: 14px; padding-top: 26px; padding-bottom: 26px }
header img { width: 44px; height: 44px }
header strong { font: 600 20px/1 ui-serif, Georgia, serif; letter-spacing: -.01em }
nav { margin-left: auto; display: flex; gap: 26px; font-size: 15px }
nav a { color: var(--soft); text-decoration: none }
nav a:hover { color: var(--brand) }
h1, h2, h3 { font-family: ui-serif, Georgia, "Times New Roman", serif; font-weight: 600; letter-spacing: -.015em; line-height: 1.12 }
h1 { font-size: clamp(34px, 5vw, 54px); margin: 10px 0 18px }
h2 { font-size: 27px; margin: 64px 0 22px }
.eyebrow { margin: 0; color: var(--brand); font-size: 13px; font-weight: 600; letter-spacing: .09em; text-transform: uppercase }
.hero { display: grid; grid-template-columns: 1.1fr 1fr; gap: 56px; align-items: center; padding: 26px 0 }
.lead { font-size: 18px; color: var(--soft); max-width: 34em }
.actions { margin-top: 28px }
.button { display: inline-block; margin-right: 18px; padding: 12px 22px; border-radius: 999px; background: var(--brand); color: #fff; font-weight: 600; text-decoration: none }
.quiet { color: var(--ink) }
figure { margin: 0 }
figure img { width: 100%; height: auto; border-radius: 22px; display: block; box-shadow: 0 18px 50px -22px rgb(43 33 27 / .55) }
figcaption { margin-top: 10px; color: var(--soft); font-size: 13px }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(290px, 1fr)); gap: 22px }
.card { border: 1px solid var(--line); border-radius: 20px; background: #fff; overflow: hidden; transition: transform .2s, box-shadow .2s }
.card:hover { transform: translateY(-3px); box-shadow: 0 16px 36px -24px rgb(43 33 27 / .6) }
.card svg { display: block; width: 100%; height: 150px }
.card div { padding: 16px 20px 20px; display: grid; grid-template-columns: 1fr auto; gap: 2px 12px }
.card h3 { margin: 0; font-size: 19px }
.card p { margin: 0; color: var(--soft); font-size: 14px }
.card .price { grid-row: span 2; align-self: center; font-weight: 600; color: var(--brand) }
.ticker { margin-top: 64px; padding: 26px 30px; border-radius: 20px; background: var(--ink); color: #f7efe6 }
.ticker h2 { margin: 0 0 10px; font-size: 21px }
.ticker ul { margin: 0; padding: 0; list-style: none; min-height: 6.4em; font-size: 15px }
.ticker li { padding: 3px 0 }
.ticker li:first-child::before { content: ""; display: inline-block; width: 8px; height: 8px; margin-right: 10px; border-radius: 50%; background: var(--brand) }
.prose { max-width: 40em; padding: 30px 0 }
.wide { padding: 30px 0 }
.note { padding: 14px 18px; border-left: 3px solid var(--brand); background: #fff; color: var(--soft); font-size: 15px }
table { width: 100%; border-collapse: collapse; font-size: 15px }
th { text-align: left; color: var(--soft); font-weight: 500 }
th, td { padding: 9px 12px 9px 0; border-bottom: 1px solid var(--line) }
footer { margin-top: 64px; padding-bottom: 44px; color: var(--soft); font-size: 14px }
footer::before { content: ""; display: block; margin-bottom: 22px; border-top: 1px solid var(--line) }
@media (max-width: 760px) { .hero { grid-template-columns: 1fr } nav { display: none } }
`

function page(title: string, main: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="canonical" href="https://www.kestrel.example/">
<link rel="icon" href="/logo.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
<script src="/app.js" defer></script>
</head>
<body>
<header><img src="/logo.svg" alt=""><strong>Kestrel Coffee</strong>
<nav><a href="/">Shop</a><a href="/catalogue">All coffees</a><a href="/about">Who we are</a><a href="/api/products.json">JSON</a></nav></header>
<main>
${main}
</main>
<footer>Kestrel Coffee, 4 Mill Lane. Prices with tax. Write to hello@kestrel.example. Statistics: UA-4711-2.</footer>
</body>
</html>
`
}

function card({ slug, name, notes, price, tone: [light, dark] }: Product): string {
  const shift = slug.length * 9
  return `    <article class="card">
      <svg viewBox="0 0 320 150" preserveAspectRatio="xMidYMid slice" aria-hidden="true"><rect width="320" height="150" fill="${light}"/>
      <circle cx="${80 + shift}" cy="48" r="26" fill="#fff" opacity=".65"/><path d="M0 ${118 - (shift % 30)} Q80 ${60 + (shift % 24)} 160 104 T320 ${84 - (shift % 18)} V150 H0Z" fill="${dark}" opacity=".55"/>
      <path d="M0 138 Q90 92 190 126 T320 112 V150 H0Z" fill="${dark}"/></svg>
      <div><h3>${name}</h3><span class="price">EUR ${price}</span><p>${notes}</p></div>
    </article>`
}
