/** The configuration of the demo as a person would write it; it is shown, and it is what runs. */
export function demoConfig(listen: number, origin: number): string {
  return `listen: 127.0.0.1:${listen}
upstream: http://127.0.0.1:${origin}

rules:
  # A name for a name.
  - text: Kestrel Coffee
    with: Finch Coffee

  # A host name in every form that a page, a script or JSON writes it, with all names below it.
  - domain: kestrel.example
    to: finch.example
    subdomains: keep

  # A pattern with groups: EUR 14.50 becomes 14,50 \u20ac.
  - regex: 'EUR (\\d{1,6})\\.(\\d\\d)\\b'
    with: '$1,$2 \u20ac'

  # Statistics go to another account.
  - regex: 'UA-\\d{1,12}-\\d{1,4}'
    with: UA-99-1

  # Another colour, in style sheets and drawings only.
  - text: '#b4532a'
    with: '#2f6f4f'
    types: [text/css, image/svg+xml]

  # A snippet before the end of the head, once.
  - text: </head>
    with: '<meta name="description" content="the demo, through prexy"></head>'
    types: text/html
    once: true
`
}
