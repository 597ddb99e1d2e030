// What one writes first: the whole file decoded by @msgpack/msgpack on the page's own thread, a table made of it.
// `?rows=N`: so many rows are put into the table; without it all of them.
import { decodeMulti } from './msgpack/index.mjs'

const most = Number(new URLSearchParams(location.search).get('rows') ?? Infinity)
const [file, filter] = document.querySelectorAll('input')
const body = document.querySelector('tbody')
let events = []

file.addEventListener('change', () => {
  file.files[0].arrayBuffer().then((octets) => {
    events = [...decodeMulti(octets)].reverse()
    show(events)
  }, alert)
})

filter.addEventListener('input', () => show(events.filter(({ target }) => target.includes(filter.value))))

function show(list) {
  document.querySelector('#count').textContent = `${list.length} of ${events.length} events`
  body.replaceChildren(...list.slice(0, most).map(rowOf))
}

function rowOf({ startedAtMs, method, status, host, target, response, clientOutBytes, timings }) {
  const row = document.createElement('tr')
  for (const text of [
    new Date(startedAtMs).toISOString(),
    method,
    status,
    host,
    target,
    response.fields[response.fields.indexOf('content-type') + 1],
    clientOutBytes,
    `${Math.round(timings.endUs / 1000)} ms`,
  ]) {
    const cell = document.createElement('td')
    cell.textContent = text
    row.append(cell)
  }
  return row
}
