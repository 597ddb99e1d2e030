/**
 * One request and its response, from the parsed head to the event: which route, which upstream, what becomes of the
 * response. The client's connection and the upstream's call in; this object holds the state between them.
 */

import {
  type BodyTreatment,
  type DifferenceExample,
  EXCHANGE_EVENT_VERSION,
  type ExchangeEvent,
  type ExchangeOutcome,
  type ShadowTreatment,
} from '@prexy/events/exchange'
import type { ExchangeRecording } from '@prexy/events/recorder'
import { rulesForRequest } from '@prexy/http/conditions'
import {
  endToEndFields,
  endToEndTrailers,
  type FieldList,
  fieldValue,
  joinedValue,
  singleValue,
  removeField,
} from '@prexy/http/fields'
import { clientAddress, setForwardedFields, setRequestId } from '@prexy/http/forwarded'
import { decide, type GateDecision } from '@prexy/http/gate'
import { mapRequestFields, mapResponseFields } from '@prexy/http/host-fields'
import { decideRequestBody, type RequestPassReason, withoutDigests } from '@prexy/http/request-body'
import type { RequestHead, ResponseHead } from '@prexy/http/message'
import { settleTrace } from '@prexy/http/trace-context'
import { UNIX_PREFIX } from '@prexy/net/unix-socket'
import { answersUpgrade, askedUpgrade, offersUpgrade, UPGRADE_PROTOCOL } from '@prexy/http/upgrade'
import { announcedTrailers, changedTrailers, mayRewrite, upstreamRequestFields } from '@prexy/http/validators'
import type { IsRewritten } from '@prexy/rewrite/integrity'
import { type AnswerInit, answerParts } from './answer.ts'
import { type ResourceVersion, resourceVersion } from './applicability-memory.ts'
import { httpsLocation, isMisdirected } from './entrance.ts'
import type { Comparer } from './compare-with.ts'
import type { Comparison } from './comparison.ts'
import type { ExchangeClient, OutputFraming } from './exchange-client.ts'
import { applyHeaderRules } from './header-rules.ts'
import { mountedTarget, mountResponse } from './mount.ts'
import { errorPage } from './own-pages.ts'
import { newTraceparent } from './new-traceparent.ts'
import type { Phase } from './phases.ts'
import { allowInline } from './policy-hashes.ts'
import type { SeenRequest } from './proxy-config.ts'
import { PROXY_ERROR_CODES, ProxyError } from './proxy-error.ts'
import { editRequestFields, hasArrived, hasPassedThrough, mayRepeat, wantsTrailers } from './request-edits.ts'
import { RequestBody } from './request-body.ts'
import { requestVariables } from './request-variables.ts'
import { dropLinkIntegrity, hasHashedPolicy, isPage, rewrittenUrls } from './integrity.ts'
import { RewriteBody, type RewriteBodyHost, type RewriteBodyInit } from './rewrite-body.ts'
import { chooseMode } from './rollout.ts'
import type { Route } from './route.ts'
import { answerFor } from './route-answer.ts'
import type { RouteEntry } from './route-table.ts'
import type { ProxyRuntime } from './runtime.ts'
import { headTiming } from './server-timing.ts'
import { ShadowBody } from './shadow-body.ts'
import { Tunnel, type TunnelEnd, type TunnelHost } from './tunnel.ts'
import { cookieScope, hostForUpstream, mapQuery, type NameMappers, namesForRequest } from './site-names.ts'
import { WebSocketCounter } from './websocket-counter.ts'
import {
  type ServerWatch,
  type UpstreamChannel,
  type UpstreamHead,
  type UpstreamUser,
  upstreamHead,
} from './upstream-channel.ts'
import type { UpstreamConnection } from './upstream-connection.ts'
import { isSameWayUp, placeOfValue, type UpstreamFields } from './upstream-fields.ts'
import type { PoolClient } from './upstream-server.ts'

/** What Allow says where it is asked for; other methods pass as well. */
export const SERVED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

const NO_SERVERS: readonly ServerWatch[] = []
const NO_OCTETS: readonly Uint8Array[] = []
/** How often a request that its servers did not process is sent anew (RFC 9113 §8.7). */
const MAX_UNPROCESSED = 2
const NO_NAMES: readonly string[] = []
const NO_HASHES: Pick<RewriteBodyInit, 'integrity' | 'hasHashedPolicy'> = {
  integrity: undefined,
  hasHashedPolicy: false,
}
const NO_RULES = new Uint8Array(0)
const NO_BODY: OutputFraming = { kind: 'none' }
const CHUNKED: OutputFraming = { kind: 'chunked' }
const CLOSE: OutputFraming = { kind: 'close' }

export class Exchange implements UpstreamUser, PoolClient, RewriteBodyHost, TunnelHost {
  readonly id: number
  readonly request: RequestHead
  readonly #client: ExchangeClient
  readonly #runtime: ProxyRuntime
  readonly #requestNumber: number
  /** Monotonic, milliseconds. */
  readonly #startedAt: number
  readonly #headAt: number
  #entry: RouteEntry | undefined = undefined
  #route: Route | undefined = undefined
  /** The route whose rules are applied to a copy of the body. */
  #shadowed: Route | undefined = undefined
  #shadow: ShadowTreatment | ShadowBody | undefined = undefined
  /** What the response is compared with; undefined where what the rules make of it is not seen. */
  #comparer: Comparer | undefined = undefined
  #comparison: Comparison | undefined = undefined
  /** Undefined unless somebody records this exchange. */
  #recording: ExchangeRecording | undefined = undefined
  #recordsResponse = false
  #webSocket: { readonly client: WebSocketCounter; readonly upstream: WebSocketCounter } | undefined = undefined
  /** The route's rules that hold for the request. */
  #forRequest: ReturnType<typeof rulesForRequest> | undefined = undefined
  /** What the domain rules that hold for the request make of host names. */
  #names: NameMappers | undefined = undefined
  #hostSent = ''
  /** Names of header fields that rules changed. */
  #requestEdits: readonly string[] = []
  #responseEdits: readonly string[] = []
  #requestId: string | undefined = undefined
  #traceparent: string | undefined = undefined
  #requestHead: UpstreamHead | undefined = undefined
  /** A body that is changed on its way up. */
  #requestBody: RequestBody | undefined = undefined
  #requestPass: RequestPassReason | undefined = undefined
  /** The fields to send, while the length of a changed body is not known. */
  #heldFields: string[] | undefined = undefined
  /** How the request body goes up; what its head says. */
  #chunksUp = false
  #upstream: UpstreamChannel | undefined = undefined
  #upstreamName: string | undefined = undefined
  #upstreamAddress: string | undefined = undefined
  #attempts = 0
  #waiting = false
  /** The connection to the upstream is not up: nothing of the request has left. */
  #connecting = false
  /** A kept connection turned out stale. */
  wantsFresh = false
  triedServers: readonly ServerWatch[] = NO_SERVERS
  /** How often servers said that they had not processed it. */
  #unprocessed = 0
  /** Octets of the body that one of them had got, for the next. */
  #sentBefore: readonly Uint8Array[] = NO_OCTETS
  #requestEnded = false
  #requestTrailers: FieldList = []
  /** The protocol that the upstream is asked to change to. */
  #upgrade: string | undefined = undefined
  #tunnel: Tunnel | undefined = undefined
  #body: RewriteBody | undefined = undefined
  #treatment: BodyTreatment | undefined = undefined
  /** The version of the resource, and the rules that apply to it; both or none. */
  #version: ResourceVersion | undefined = undefined
  #active: Uint8Array | undefined = undefined
  #bodyBegun = false
  #status: number | undefined = undefined
  #keepAlive: boolean
  readonly #wantsTrailers: boolean
  /** Set when everything was given to the client's connection, which may not have sent it yet. */
  #lastOutcome: ExchangeOutcome | undefined = undefined
  #upstreamStalled = false
  #done = false
  #detail: string | undefined = undefined
  #answeredBytes = 0
  #answeredBodyBytes = 0
  #askedAt: number | undefined = undefined
  #connectedAt: number | undefined = undefined
  #respondedAt: number | undefined = undefined
  #upstreamOutBytes = 0
  #upstreamInBytes = 0
  /** Octets of the request that were read so far; kept by the client's side. */
  clientInBytes = 0

  constructor(
    client: ExchangeClient,
    runtime: ProxyRuntime,
    request: RequestHead,
    requestNumber: number,
    startedAt: number,
  ) {
    this.id = ++runtime.life.lastExchangeId
    this.request = request
    this.#client = client
    this.#runtime = runtime
    this.#requestNumber = requestNumber
    this.#startedAt = startedAt
    this.#headAt = performance.now()
    this.#keepAlive = request.keepAlive
    this.#wantsTrailers = wantsTrailers(request.fields)
  }

  /** Whether octets of the request body can be taken now. */
  get takesBody(): boolean {
    return !this.#waiting && !this.#upstreamStalled && !this.#connecting
  }

  /** A response has begun, or an answer of our own. */
  get responded(): boolean {
    return this.#status !== undefined
  }

  get requestEnded(): boolean {
    return this.#requestEnded
  }

  begin(): void {
    const { request } = this
    const runtime = this.#runtime
    this.#phase('request-head')
    this.#client.output.reset()
    const { entrance } = this.#client
    if (entrance.redirectPort !== undefined) return this.#redirect(entrance.redirectPort)
    const entry = runtime.routes.find(request, entrance.listener)
    this.#recording = runtime.recorder?.begin(request, typeof entry === 'string' ? undefined : entry.name)
    if (typeof entry === 'string') return this.#answer(new ProxyError(entry))
    if (isMisdirected(entrance, request.authority)) return this.#answer(new ProxyError('E_NO_ROUTE'))
    this.#entry = entry
    this.#phase('route')
    // RFC 9110 §9.3.7: about the server as a whole, and §7.6.2: a request that was to go no further.
    if (request.targetForm === 'asterisk' || hasArrived(request)) {
      return this.#reply({ status: 204, text: '', fields: ['Allow', SERVED_METHODS] }, 'answered')
    }
    if (hasPassedThrough(request.fields, runtime.life.pseudonym)) return this.#answer(new ProxyError('E_LOOP'))
    const refusal = this.#refusal(entry)
    if (refusal instanceof Promise) this.#awaitVerdict(refusal, entry)
    else this.#serveUnless(refusal, entry)
  }

  /** Why the client gets nothing of the route; undefined if it may. */
  #refusal({ access, maintenance }: RouteEntry): ProxyError | undefined | Promise<ProxyError | undefined> {
    if (access === undefined && maintenance === undefined) return undefined
    const { fields } = this.request
    const address = clientAddress(fields, this.#client.peer, this.#runtime.trustedRanges)
    const closed = maintenance?.refusal(address)
    return closed ?? access?.judge(address, fields, performance.now())
  }

  /** Meanwhile nothing of the request's body is read. */
  #awaitVerdict(pending: Promise<ProxyError | undefined>, entry: RouteEntry): void {
    this.#waiting = true
    this.#client.onUpstreamWait()
    const go = (refusal: ProxyError | undefined): void => {
      if (this.#done || this.#lastOutcome !== undefined) return
      this.#waiting = false
      this.#serveUnless(refusal, entry)
      this.#client.resumeRequest()
    }
    pending.then(go, (error: unknown) => {
      const cause = error instanceof Error ? error : new Error(String(error))
      this.#runtime.onError(cause)
      go(new ProxyError('E_INTERNAL', { cause }))
    })
  }

  #serveUnless(refusal: ProxyError | undefined, entry: RouteEntry): void {
    if (refusal === undefined) this.#serve(entry)
    else this.#answer(refusal)
  }

  #serve(entry: RouteEntry): void {
    const { request } = this
    const runtime = this.#runtime
    if (entry.answer !== undefined) {
      const answer = answerFor(entry.answer, request)
      if (answer !== undefined) return this.#reply(answer, 'answered')
      return this.#answer(new ProxyError('E_INTERNAL', { detail: 'the target of the redirect is no value of a field' }))
    }
    let route: Route
    try {
      route = this.#routeOf(entry)
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error
      return this.#answer(error)
    }
    this.#route = route
    const { mount } = entry
    if (mount !== undefined && mountedTarget(mount, request.path) === undefined) {
      return this.#answer(new ProxyError('E_NO_PATH', { detail: `not below ${mount.at}` }))
    }
    const forRequest = rulesForRequest(route.gate.conditions, request)
    this.#forRequest = forRequest
    const isRewritable = mayRewrite(request, route.gate, forRequest)
    const known = this.#client.upstreamFields
    if (known !== undefined && isSameWayUp(known, request, route, runtime, isRewritable)) {
      return this.#sendAgain(known, route)
    }
    const forwarded = upstreamRequestFields(request, route.gate, isRewritable)
    if (forwarded.kind === 'answer') return this.#answer(new ProxyError('E_PRECONDITION'))
    // Credentials for us are no matter of the upstream's.
    if (entry.access?.takesPasswords === true) removeField(forwarded.fields, 'authorization')
    const { pool } = route
    if (request.upgrade !== undefined) {
      this.#upgrade = askedUpgrade(request)
      if (this.#upgrade !== undefined && ++runtime.life.upgrades > runtime.limits.maxTunnels) {
        return this.#answer(new ProxyError('E_UPSTREAM_BUSY', { detail: 'maxTunnels was met' }))
      }
    }
    this.#names = route.names === undefined ? undefined : namesForRequest(route.names, request)
    this.#hostSent = hostForUpstream(request.authority, pool.authority, route.preserveHost, this.#names)
    // An origin that is told the client's Host compares it with the client's other names.
    if (this.#names !== undefined && route.preserveHost !== true) {
      const changed = mapRequestFields(forwarded.fields, this.#names.up)
      this.#requestEdits = this.#hostSent === pool.authority ? changed : ['host', ...changed]
    }
    const { peer } = this.#client
    setForwardedFields(forwarded.fields, peer, request.authority, runtime.forwarded, runtime.trustedRanges)
    if (mount !== undefined && mount.at !== '' && runtime.forwarded !== 'none') {
      removeField(forwarded.fields, 'x-forwarded-prefix')
      forwarded.fields.push('X-Forwarded-Prefix', mount.at)
    }
    if (runtime.requestIdField !== undefined) {
      const own = this.#ownRequestId
      this.#requestId = setRequestId(forwarded.fields, runtime.requestIdField, peer.trusted, own)
    }
    this.#traceparent = settleTrace(forwarded.fields, runtime.trace, peer.trusted, newTraceparent)
    editRequestFields(forwarded.fields, request, {
      host: this.#hostSent,
      pseudonym: runtime.life.pseudonym,
      keepAlive: pool.keepsAlive,
      upgrade: this.#upgrade,
    })
    if (route.requestHeaders !== undefined) {
      const changed = applyHeaderRules(route.requestHeaders, forwarded.fields, { request })
      this.#requestEdits = [...new Set([...this.#requestEdits, ...changed])]
    }
    if (request.isRepeated === true && mount === undefined) this.#keepFields(forwarded.fields, route, isRewritable)
    this.#upstreamName = pool.name
    this.#chunksUp = request.body.kind === 'chunked'
    if (!this.#mapsBody(route, forwarded.fields)) this.#send(route, forwarded.fields)
  }

  /** Keeps the fields for the client's next request, if that may have the same but for its identifier. */
  #keepFields(fields: FieldList, route: Route, isRewritable: boolean): void {
    const { request } = this
    const runtime = this.#runtime
    // Whether a domain rule holds may depend on the path.
    const isOwn = route.names === undefined && route.requestHeaders === undefined && this.#upgrade === undefined
    if (!isOwn || runtime.trace !== 'pass') return
    const { requestIdField } = runtime
    const requestIdAt = requestIdField === undefined ? -1 : placeOfValue(fields, requestIdField, this.#ownRequestId)
    if (requestIdField !== undefined && requestIdAt < 0) return
    this.#client.upstreamFields = {
      runtime,
      route,
      from: request.fields,
      method: request.method,
      authority: request.authority,
      mayRewrite: isRewritable,
      fields: fields.slice(),
      requestIdAt,
      hostSent: this.#hostSent,
      traceparent: this.#traceparent,
    }
  }

  /** Sends the fields that an earlier request became. */
  #sendAgain(known: UpstreamFields, route: Route): void {
    const fields = known.fields.slice()
    this.#hostSent = known.hostSent
    this.#traceparent = known.traceparent
    if (known.requestIdAt >= 0) {
      this.#requestId = this.#ownRequestId
      fields[known.requestIdAt] = this.#requestId
    }
    this.#upstreamName = route.pool.name
    this.#chunksUp = this.request.body.kind === 'chunked'
    this.#send(route, fields)
  }

  get #ownRequestId(): string {
    return `${this.#runtime.life.requestIdPrefix}-${this.id}`
  }

  #routeOf(entry: RouteEntry): Route {
    const { rollout } = entry
    this.#comparer = entry.comparer
    if (rollout === undefined) return entry.route()
    const { fields } = this.request
    const mode = chooseMode(rollout, fields, clientAddress(fields, this.#client.peer, this.#runtime.trustedRanges))
    if (mode === 'on') return entry.route()
    if (mode === 'shadow') this.#findShadowed(entry)
    if (this.#shadowed === undefined) this.#comparer = undefined
    return entry.routeWithoutRules()
  }

  /** Rules that cannot be compiled cost the client nothing. */
  #findShadowed(entry: RouteEntry): void {
    try {
      this.#shadowed = entry.route()
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error
      this.#shadow = { kind: 'failed', detail: error.detail ?? error.message }
    }
  }

  #redirect(port: number): void {
    this.#recording = this.#runtime.recorder?.begin(this.request, undefined)
    const location = httpsLocation(this.request.authority, this.request.path, port)
    if (location === undefined) return this.#answer(new ProxyError('E_REQUEST_INVALID', { detail: 'no Host' }))
    // RFC 9110 §15.4.9: unlike 301, 308 keeps the method.
    this.#reply({ status: 308, text: 'This site is served by https.', fields: ['Location', location] }, 'answered')
  }

  #send(route: Route, fields: FieldList): void {
    const { method, path } = this.request
    const mapped = route.requestQuery && this.#names !== undefined ? mapQuery(path, this.#names) : path
    const mount = this.#entry?.mount
    const target = mount === undefined ? mapped : (mountedTarget(mount, mapped) ?? mapped)
    const { kind } = this.request.body
    const body = kind === 'none' ? 'none' : this.#chunksUp ? 'chunked' : 'length'
    this.#requestHead = upstreamHead(method, target, fields, body)
    this.#recording?.requestSent(fields)
    this.#acquire(route)
  }

  /** Whether the body is to be changed; then the head waits for its length, or for too much of it to wait. */
  #mapsBody(route: Route, fields: FieldList): boolean {
    const { request } = this
    const names = this.#names
    if (route.requestBodies === undefined || names === undefined) return false
    const decision = decideRequestBody(request, route.gate.ignoreNoTransform)
    if (decision === undefined) return false
    if (decision.action === 'pass') {
      this.#requestPass = decision.reason
      return false
    }
    this.#requestBody = new RequestBody(route.requestBodies, names.active, decision)
    const held = withoutDigests(fields)
    removeField(held, 'content-length')
    removeField(held, 'transfer-encoding')
    this.#heldFields = held
    this.#chunksUp = false
    // A client that waits for a 100 sends nothing before the upstream was asked.
    if (request.expectContinue) this.#sendChunked()
    return true
  }

  #sendChunked(): void {
    this.#chunksUp = true
    this.#sendHeld('Transfer-Encoding', 'chunked')
  }

  #sendHeld(name: string, value: string): void {
    const fields = this.#heldFields
    this.#heldFields = undefined
    if (fields !== undefined && this.#route !== undefined) this.#send(this.#route, [...fields, name, value])
  }

  #acquire(route: Route): void {
    const upstream = route.pool.acquire(this)
    if (upstream === 'full') return this.#answer(new ProxyError('E_UPSTREAM_BUSY', { detail: 'maxWaiting was met' }))
    if (upstream !== 'wait') return this.#attach(upstream)
    this.#waiting = true
    this.#phase('upstream-wait')
    this.#client.onUpstreamWait()
  }

  /** HTTP/2 changes to no other protocol. */
  get wantsHttp1(): boolean {
    return this.#upgrade !== undefined
  }

  get waitsForUpstream(): boolean {
    return this.#waiting
  }

  onUpstreamAssigned(upstream: UpstreamChannel): void {
    this.#waiting = false
    this.#attach(upstream)
    this.#client.resumeRequest()
  }

  #attach(upstream: UpstreamChannel): void {
    this.#upstream = upstream
    this.#upstreamStalled = false
    this.#upstreamName = upstream.home.name
    this.#upstreamAddress = undefined
    this.#attempts++
    if (this.#route?.serverTiming === true || this.#recording !== undefined) this.#askedAt = performance.now()
    this.#phase('upstream-selected')
    upstream.assign(this, this.request.method, this.#upgrade !== undefined)
    const head = this.#requestHead
    if (head === undefined) return
    upstream.sendHead(head)
    // Until the connection is up its body waits, so that the request can go to another server.
    this.#connecting = !upstream.connected
    if (!this.#connecting) this.#onConnected(upstream)
    if (this.#requestEnded) this.#phase('request-sent')
  }

  // The request body

  /** Octets of the request body, which are the exchange's. Returns false when no more should come. */
  onRequestData(data: Uint8Array): boolean {
    const body = this.#requestBody
    if (this.#recording?.wantsRequestBody === true) this.#recording.requestData(data)
    if (body === undefined) return this.#sendUp(data)
    body.write(data)
    if (this.#heldFields === undefined) return this.#sendUp(body.take())
    // What is gathered waits until there is an upstream to take it.
    if (body.waitingBytes > this.#runtime.limits.maxRequestBufferBytes) this.#sendChunked()
    return this.takesBody
  }

  #sendUp(data: Uint8Array): boolean {
    const upstream = this.#upstream
    if (upstream === undefined || data.length === 0) return true
    this.#upstreamOutBytes += data.length
    if (this.#requestBody !== undefined && this.#recording?.wantsRequestBody === true) {
      this.#recording.requestDataSent(data)
    }
    const below = upstream.sendBody(data)
    this.#upstreamStalled = !below
    return below
  }

  onRequestEnd(trailers: FieldList): void {
    const body = this.#requestBody
    body?.end()
    this.#requestEnded = true
    if (this.#heldFields !== undefined) {
      // Trailers of a body that gets a length have no place.
      return this.#sendHeld('Content-Length', String(body?.waitingBytes ?? 0))
    }
    this.#requestTrailers = body === undefined ? endToEndTrailers(trailers) : changedTrailers(trailers)
    if (body !== undefined) this.#sendUp(body.take())
    const upstream = this.#upstream
    if (upstream === undefined) return
    upstream.endBody(this.#requestTrailers)
    this.#phase('request-sent')
  }

  onUpstreamDrain(): void {
    this.#upstreamStalled = false
    this.#client.resumeRequest()
  }

  // The response

  onUpstreamConnect(): void {
    this.#connecting = false
    if (this.#upstream !== undefined) this.#onConnected(this.#upstream)
    this.#client.resumeRequest()
  }

  #onConnected(upstream: UpstreamChannel): void {
    this.#connectedAt = performance.now()
    this.#upstreamAddress = upstream.address
    this.#phase('upstream-connected')
    for (const octets of this.#sentBefore) this.#upstreamStalled = !upstream.sendBody(octets)
    this.#sentBefore = NO_OCTETS
    if (this.#requestBody !== undefined) this.#sendUp(this.#requestBody.take())
    if (this.#requestEnded) upstream.endBody(this.#requestTrailers)
  }

  onInterim(head: ResponseHead): void {
    // RFC 9110 §15.2: a 1.0 client knows no interim responses.
    if (this.request.minorVersion === 0) return
    const fields = endToEndFields(head.fields)
    this.#mapResponse(fields, this.#names)
    this.#client.output.interim(head.status, fields)
  }

  /** Gives the client's names to what the upstream sent; returns the names of changed fields. */
  #mapResponse(fields: string[], names: NameMappers | undefined): readonly string[] {
    if (names === undefined) return NO_NAMES
    return mapResponseFields(fields, names.down, () => cookieScope(this.request.authority, this.#hostSent, names))
  }

  onUpgrade(upstream: UpstreamConnection, head: ResponseHead, rest: Uint8Array): boolean {
    const runtime = this.#runtime
    const client = this.#client
    if (this.#done || this.#upgrade === undefined) {
      upstream.abort()
      return false
    }
    this.#respondedAt = performance.now()
    if (!answersUpgrade(head, this.#upgrade)) {
      const detail = 'a 101 that does not answer what was asked'
      this.#failUpstream(new ProxyError('E_UPSTREAM_INVALID', { detail }))
      return false
    }
    if (client.lastRequest) {
      // What the client sent ahead of the 101 is lost in part.
      const detail = 'more than maxPipelinedBytes came before the 101'
      this.#failUpstream(new ProxyError('E_REQUEST_INVALID', { detail }))
      return false
    }
    this.#status = 101
    this.#treatment = { kind: 'passed', reason: 'upgrade' }
    this.#phase('response-head')
    const fields = endToEndFields(head.fields)
    this.#responseEdits = this.#mapResponse(fields, this.#names)
    client.output.interim(101, [...fields, 'Connection', 'Upgrade', 'Upgrade', this.#upgrade])
    if (this.#recording !== undefined) {
      this.#recording.responseHead(head, fields, false)
      this.#webSocket = { client: new WebSocketCounter(), upstream: new WebSocketCounter() }
    }
    const { connection, early } = client.giveAway()
    const tunnel = new Tunnel({
      client: connection,
      upstream: upstream.connection,
      host: this,
      wheel: runtime.life.wheel,
      idleMs: runtime.timeouts.tunnelIdleMs,
      lingerMs: runtime.timeouts.clientLingerMs,
    })
    this.#tunnel = tunnel
    this.#upstream = undefined
    this.#phase('tunnel')
    for (const octets of early) tunnel.push('client', octets)
    tunnel.push('upstream', rest)
    return connection.unsentBytes > 0
  }

  onTunnelled(from: 'client' | 'upstream', octets: Uint8Array): void {
    const bytes = octets.length
    this.#webSocket?.[from].push(octets)
    if (from === 'client') {
      this.clientInBytes += bytes
      this.#upstreamOutBytes += bytes
    } else {
      this.#upstreamInBytes += bytes
    }
  }

  onTunnelEnd(end: TunnelEnd, cause: Error | undefined): void {
    switch (end) {
      case 'completed':
        return this.#end('completed')
      case 'idle':
        this.#detail = 'tunnelIdleMs passed'
        return this.#end('tunnel-timeout')
      case 'client-lost':
        this.#detail = cause?.message ?? 'the client closed the connection'
        return this.#end('client-aborted')
      case 'upstream-lost':
        this.#detail = cause?.message ?? 'the upstream closed the connection'
        return this.#end('upstream-aborted')
    }
  }

  onResponseHead(head: ResponseHead): void {
    const { request } = this
    const route = this.#route
    if (this.#done || route === undefined) return
    this.#respondedAt = performance.now()
    if (head.status === 407) {
      // RFC 9110 §15.5.8: only a proxy may ask for that, and ours was not asked by one.
      return this.#failUpstream(new ProxyError('E_UPSTREAM_INVALID', { detail: 'a 407 from an origin' }))
    }
    const forRequest = this.#forRequest ?? rulesForRequest(route.gate.conditions, request)
    const decision = this.#recall(route, head, route.gateMemo.decide(request, head, forRequest))
    const { fields } = decision
    const policies = this.#editPolicies(route, decision, head)
    const edits = this.#editResponse(route, this.#names, fields, head)
    this.#responseEdits = policies.length === 0 ? edits : [...new Set([...policies, ...edits])]
    this.#phase('response-head')
    this.#status = head.status
    if (fieldValue(fields, 'date') === undefined) fields.push('Date', this.#runtime.life.date.now())
    // RFC 9110 §15.5.22: a 426 names what is required.
    if (head.status === 426 && offersUpgrade(head.fields)) {
      fields.push('Connection', 'Upgrade', 'Upgrade', UPGRADE_PROTOCOL)
    }
    const framing = this.#framing(head, decision, fields)
    this.#announceTrailers(head, decision, framing, fields)
    this.#addTiming(fields, decision, framing)
    const { maxHttp10BufferBytes } = this.#runtime.limits
    const holds = framing.kind === 'close' && maxHttp10BufferBytes > 0 && !isStream(head.fields)
    if ((framing.kind === 'close' && !holds) || this.#runtime.life.draining || this.#client.lastRequest) {
      this.#keepAlive = false
    }
    // The response may end before the request does; then what is left of that is not read.
    if (!this.#requestEnded) this.#keepAlive = false
    if (!holds) {
      if (!this.#keepAlive) fields.push('Connection', 'close')
      else if (request.minorVersion === 0) fields.push('Connection', 'keep-alive')
    }
    this.#comparison = this.#beginComparison(head, fields)
    this.#client.output.begin(head.status, fields, framing)
    if (holds) this.#client.output.holdForLength(maxHttp10BufferBytes, this.#keepAlive)
    if (this.#recording !== undefined) {
      this.#recordsResponse = this.#recording.responseHead(head, fields, decision.action === 'rewrite')
    }
    if (this.#shadowed !== undefined) this.#shadow = this.#shadowOf(this.#shadowed, head)
    if (decision.action === 'rewrite') this.#beginRewrite(route, decision, head)
    else if (decision.action === 'compress') this.#beginCompression(route, decision)
    else if (decision.action === 'pass') this.#treatment = { kind: 'passed', reason: decision.reason }
    else this.#treatment = { kind: 'head-only', reason: decision.reason }
    if (head.status === 205 && !isEmpty(head)) this.#endAtHead()
  }

  /** Where a page is changed, its policy cannot name the hashes of what is in it. */
  #editPolicies({ policyHashes }: Route, { action, fields }: GateDecision, head: ResponseHead): readonly string[] {
    if (policyHashes === 'keep' || (action !== 'rewrite' && action !== 'edit-head')) return NO_NAMES
    // A 304 need not say what it is about.
    const type = singleValue(head.fields, 'content-type')
    return isPage(type) || (head.status === 304 && type === undefined) ? allowInline(fields) : NO_NAMES
  }

  /** Makes the fields those that the client is to get; returns the names of those that changed. */
  #editResponse(route: Route, names: NameMappers | undefined, fields: string[], head: ResponseHead): readonly string[] {
    const { request } = this
    const isUnlinked = route.integrity === 'drop' && dropLinkIntegrity(fields, this.#rewrittenUrls(route))
    const mapped = this.#mapResponse(fields, names)
    let edits = isUnlinked && !mapped.includes('link') ? [...mapped, 'link'] : mapped
    const { mount, robots } = this.#entry ?? {}
    if (mount !== undefined) {
      const ours = [request.authority, this.#hostSent, route.pool.authority]
      edits = [...new Set([...edits, ...mountResponse(mount, fields, ours)])]
    }
    if (robots !== undefined) {
      removeField(fields, 'x-robots-tag')
      fields.push('X-Robots-Tag', robots)
    }
    if (route.responseHeaders === undefined) return edits
    const changed = applyHeaderRules(route.responseHeaders, fields, { request, response: head })
    return [...new Set([...edits, ...changed])]
  }

  /** Under `shadow` it is the response as it would be under the rules that is compared. */
  #beginComparison(head: ResponseHead, sent: FieldList): Comparison | undefined {
    const { request } = this
    const runtime = this.#runtime
    const isTold = runtime.onExchange !== undefined || this.#recording !== undefined
    if (this.#comparer === undefined || !isTold || isStream(head.fields)) return undefined
    let fields = sent
    const shadowed = this.#shadowed
    if (shadowed !== undefined) {
      const own = decide(request, head, shadowed.gate).fields
      const names = shadowed.names === undefined ? undefined : namesForRequest(shadowed.names, request)
      this.#editResponse(shadowed, names, own, head)
      fields = own
    }
    const takesPasswords = this.#entry?.access?.takesPasswords === true
    return this.#comparer.begin(request, { status: head.status, fields }, runtime, this.#client.peer, takesPasswords)
  }

  #copyToComparison(): RewriteBodyInit['copyTo'] {
    const comparison = this.#comparison
    return comparison === undefined ? undefined : (piece) => comparison.ownText(piece)
  }

  /** Leaves out rules that found nothing in the same version of the resource, or the rewriting if none is left. */
  #recall(route: Route, head: ResponseHead, decision: GateDecision): GateDecision {
    if (decision.action !== 'rewrite') return decision
    const { active, decode, encode, fields } = decision
    const version = resourceVersion(this.request, head, active)
    if (version === undefined) return decision
    this.#version = version
    this.#active = active
    const left = route.memory.recall(version, active)
    if (left === active) return decision
    const mustRead = route.integrity === 'drop' && isPage(singleValue(head.fields, 'content-type'))
    // Raw deflate is put right when it is coded anew.
    const isAsWanted = decode === encode && decode !== 'deflate'
    if (isAsWanted && !mustRead && !left.includes(1)) return { action: 'pass', reason: 'nothing-found', fields }
    return { action: 'rewrite', decode, encode, active: left, fields }
  }

  #announceTrailers(head: ResponseHead, decision: GateDecision, framing: OutputFraming, fields: string[]): void {
    if (framing.kind !== 'chunked' || head.body.kind !== 'chunked' || !this.#wantsTrailers) return
    const names = announcedTrailers(head.fields, decision.action !== 'pass')
    if (names !== undefined) fields.push('Trailer', names)
  }

  #addTiming(fields: string[], decision: GateDecision, framing: OutputFraming): void {
    const isTold = this.#route?.serverTiming === true
    if (!isTold || this.#askedAt === undefined || this.#respondedAt === undefined) return
    const value = headTiming(this.#startedAt, this.#askedAt, this.#respondedAt, performance.now())
    fields.push('Server-Timing', value)
    // RFC 9110 §6.6.2: how long rewriting took may have to follow the body.
    const follows = decision.action === 'rewrite' && framing.kind === 'chunked' && this.#wantsTrailers
    if (follows) fields.push('Trailer', 'Server-Timing')
  }

  /** A 205 has no content (RFC 9110 §15.3.6); one that the origin sends all the same may never end. */
  #endAtHead(): void {
    this.#upstream?.abort()
    this.#upstream = undefined
    this.#client.output.finish([])
    this.#responseDone()
  }

  #framing(head: ResponseHead, decision: GateDecision, fields: string[]): OutputFraming {
    const { body, status } = head
    if (status === 205) {
      fields.push('Content-Length', '0')
      return NO_BODY
    }
    if (body.kind === 'none') {
      // HEAD and 304 tell the length of what they stand for, unless we would change it.
      const tells = decision.action === 'pass' && status >= 200 && status !== 204 && head.contentLength !== undefined
      if (tells) fields.push('Content-Length', String(head.contentLength))
      return NO_BODY
    }
    if (decision.action === 'pass' && body.kind === 'length') return body
    return this.request.minorVersion === 0 ? CLOSE : CHUNKED
  }

  #beginRewrite(
    route: Route,
    decision: Extract<GateDecision, { readonly action: 'rewrite' }>,
    head: ResponseHead,
  ): void {
    const { rules } = route
    if (rules === undefined) throw new Error('the gate rewrites only where there are rules')
    const { integrity, hasHashedPolicy } = this.#hashesOf(route, head.fields)
    this.#body = new RewriteBody(this, this.#client.output, {
      rules,
      decision,
      levels: route.encoderLevels,
      variables: requestVariables(rules.variables, this.request, head.status, rules.options.mode),
      mediaType: joinedValue(head.fields, 'content-type'),
      contentType: singleValue(head.fields, 'content-type'),
      integrity,
      hasHashedPolicy,
      rulesLeftOut: leftOut(this.#active, decision.active),
      maxDecodedBytes: this.#runtime.limits.maxDecodedBytes,
      onError: this.#runtime.onError,
      sendsTrailers: this.#wantsTrailers,
      serverTiming: route.serverTiming,
      isTimed: route.serverTiming || this.#recording !== undefined,
      recording: this.#recordsResponse ? this.#recording : undefined,
      copyTo: this.#copyToComparison(),
    })
  }

  /** The body is recorded as it came. */
  #beginCompression(route: Route, { reason, encode }: Extract<GateDecision, { readonly action: 'compress' }>): void {
    this.#treatment = { kind: 'passed', reason, encode }
    this.#body = new RewriteBody(this, this.#client.output, {
      rules: undefined,
      decision: { decode: 'identity', encode, active: NO_RULES },
      levels: route.encoderLevels,
      variables: {},
      mediaType: undefined,
      contentType: undefined,
      ...NO_HASHES,
      rulesLeftOut: 0,
      maxDecodedBytes: this.#runtime.limits.maxDecodedBytes,
      onError: this.#runtime.onError,
      sendsTrailers: this.#wantsTrailers,
      serverTiming: false,
      isTimed: false,
      recording: undefined,
      copyTo: this.#shadow instanceof ShadowBody ? undefined : this.#copyToComparison(),
    })
  }

  /** What the rules would do: known at once where they would do nothing. */
  #shadowOf(route: Route, head: ResponseHead): ShadowTreatment | ShadowBody {
    const { rules } = route
    const decision = decide(this.request, head, route.gate)
    if (decision.action === 'edit-head') return { kind: 'head-only', reason: decision.reason }
    if (decision.action !== 'rewrite') return { kind: 'passed', reason: decision.reason }
    if (rules === undefined) return { kind: 'passed', reason: 'no-rules' }
    return new ShadowBody({
      rules,
      decision,
      levels: route.encoderLevels,
      variables: requestVariables(rules.variables, this.request, head.status, rules.options.mode),
      mediaType: joinedValue(head.fields, 'content-type'),
      contentType: singleValue(head.fields, 'content-type'),
      ...NO_HASHES,
      rulesLeftOut: 0,
      maxDecodedBytes: this.#runtime.limits.maxDecodedBytes,
      onError: this.#runtime.onError,
      sendsTrailers: false,
      serverTiming: false,
      isTimed: false,
      recording: undefined,
      copyTo: this.#copyToComparison(),
    })
  }

  /** What is to be done about hashes that a page holds. */
  #hashesOf(route: Route, fields: FieldList): Pick<RewriteBodyInit, 'integrity' | 'hasHashedPolicy'> {
    // Where nobody is told, nothing is looked for.
    const isTold = this.#runtime.onExchange !== undefined
    if ((!isTold && route.integrity !== 'drop') || !isPage(singleValue(fields, 'content-type'))) {
      return NO_HASHES
    }
    const isWatched = route.integrity === 'warn'
    const integrity = isWatched ? 'watch' : route.integrity === 'drop' ? this.#rewrittenUrls(route) : undefined
    return { integrity, hasHashedPolicy: route.policyHashes === 'keep' && hasHashedPolicy(fields) }
  }

  #rewrittenUrls(route: Route): IsRewritten {
    return rewrittenUrls([this.request.authority, route.pool.authority], route.rules?.rules ?? [])
  }

  onResponseData(data: Uint8Array): boolean {
    if (this.#done) return true
    if (!this.#bodyBegun) {
      this.#bodyBegun = true
      this.#phase('response-body')
    }
    this.#upstreamInBytes += data.length
    if (this.#recordsResponse && !this.#isRewritten) this.#recording?.responseData(data)
    if (this.#shadow instanceof ShadowBody) this.#shadow.data(data)
    else if (this.#body === undefined) this.#comparison?.ownOctets(data)
    if (this.#body !== undefined) return this.#body.onUpstreamData(data)
    this.#client.output.writeKept(data)
    return true
  }

  onResponseEnd(trailers: FieldList): void {
    if (this.#done) return
    this.#upstream = undefined
    this.#phase('response-end')
    if (this.#shadow instanceof ShadowBody) this.#shadow.end()
    if (this.#body !== undefined) {
      this.#body.onUpstreamEnd(trailers)
      return
    }
    const send = trailers.length > 0 && this.#wantsTrailers
    this.#client.output.finish(send ? endToEndTrailers(trailers) : [])
    this.#responseDone()
  }

  onUpstreamChunkEnd(): boolean {
    if (this.#shadow instanceof ShadowBody) this.#shadow.chunkEnd()
    if (this.#done) return this.#client.unsentBytes > 0
    if (this.#body !== undefined) {
      const kept = this.#body.onUpstreamChunkEnd()
      this.#watchClient()
      return kept
    }
    if (this.#lastOutcome !== undefined) return this.#client.unsentBytes > 0
    if (!this.#client.output.flush()) this.#upstream?.pause()
    this.#watchClient()
    return this.#client.unsentBytes > 0
  }

  /** Times the client while it takes nothing. */
  #watchClient(): void {
    if (!this.#done && this.#client.unsentBytes > 0) this.#client.waitForWrite(true)
  }

  onClientDrain(): void {
    this.#client.waitForWrite(false)
    if (this.#lastOutcome !== undefined) return this.#end(this.#lastOutcome)
    if (this.#body !== undefined) {
      this.#body.onClientDrain()
      this.#watchClient()
    } else {
      this.#upstream?.resume()
    }
  }

  onBodyReady(): void {
    this.#upstream?.resume()
  }

  onBodyBlocked(): void {
    this.#watchClient()
  }

  onBodyEnd(): void {
    this.#detailTrailing()
    const hits = this.#body?.lastingHits
    if (this.#version !== undefined && this.#active !== undefined && hits !== undefined) {
      this.#route?.memory.remember(this.#version, this.#active, hits)
    }
    this.#responseDone()
  }

  #detailTrailing(): void {
    const junk = this.#body?.trailingBytes ?? 0
    if (junk > 0) this.#detail = `${junk} octets of junk followed the coded body`
  }

  onBodyError(error: ProxyError): void {
    this.#upstream?.abort()
    this.#upstream = undefined
    this.#failUpstream(error)
  }

  /** The last octet was given to the client's connection, which may not have sent it yet. */
  #responseDone(): void {
    if (this.#client.output.endsByClose) this.#keepAlive = false
    this.#phase('response-sent')
    this.#endWhenTaken('completed')
  }

  /**
   * Ends the exchange once the client has taken what was sent. Until then no further request of it is read, so that a
   * client that only asks and never reads cannot make answers pile up.
   */
  #endWhenTaken(outcome: ExchangeOutcome): void {
    this.#lastOutcome = outcome
    if (this.#client.awaitDrain()) this.#watchClient()
    else this.#end(outcome)
  }

  // What goes wrong

  onUpstreamError(error: ProxyError): void {
    const upstream = this.#upstream
    this.#upstream = undefined
    if (this.#done || upstream === undefined) return
    const route = this.#route
    if (route !== undefined && this.#mayTryAgain(error, upstream, route)) {
      this.#connecting = false
      this.#phase('retry')
      this.#acquire(route)
      // On a kept connection nothing else tells that the body may come.
      if (!this.#done && this.takesBody) this.#client.resumeRequest()
      return
    }
    this.#phase('upstream-failed')
    this.#failUpstream(error)
  }

  /** Whether the request can be sent once more, as far as that is certain to be the first time for its origin. */
  #mayTryAgain(error: ProxyError, upstream: UpstreamChannel, route: Route): boolean {
    switch (PROXY_ERROR_CODES[error.code].retry) {
      case 'never':
        return false
      case 'if-reused':
        if (upstream.served === 0 || upstream.responseBegun || this.wantsFresh || !mayRepeat(this.request)) return false
        this.wantsFresh = true
        return true
      case 'if-unsent':
        if (upstream.connected) return false
        this.triedServers = [...this.triedServers, upstream.home]
        return route.pool.canTryAnother(this)
      case 'if-unprocessed':
        if (upstream.sentBody === undefined || this.#unprocessed === MAX_UNPROCESSED) return false
        this.#unprocessed++
        this.#sentBefore = upstream.sentBody
        return true
    }
  }

  /** Answers if nothing of a response has gone out, else breaks it off. The upstream is given up already. */
  #failUpstream(error: ProxyError): void {
    if (this.#done || this.#lastOutcome !== undefined) return
    this.#upstream?.abort()
    this.#upstream = undefined
    this.#body?.close()
    const { output } = this.#client
    if (this.#status === undefined || output.headPending) {
      output.discard()
      // Nothing of the upstream's response is sent, whatever was decided about it.
      this.#body = undefined
      this.#treatment = undefined
      return this.#answer(error)
    }
    this.#detail = error.detail
    output.discard()
    this.#client.breakOff()
    this.#end(PROXY_ERROR_CODES[error.code].outcome)
  }

  #answer(error: ProxyError): void {
    const { status, fields } = error
    this.#detail = error.detail
    const pages = this.#entry === undefined ? this.#runtime.errorPages : this.#entry.errorPages
    const page = error.page ?? errorPage(pages, status, this.id)
    const body = page?.body
    const ofPage = page === undefined ? fields : [...fields, 'Content-Type', page.type, 'Cache-Control', 'no-store']
    this.#reply({ status, text: error.message, fields: ofPage, body }, PROXY_ERROR_CODES[error.code].outcome)
  }

  /** Ends the exchange with an answer of our own, or without one where none is possible. */
  #reply(answer: Pick<AnswerInit, 'status' | 'text' | 'fields' | 'body'>, outcome: ExchangeOutcome): void {
    this.#stopWaiting()
    // What is left of the request is not read, so the connection cannot go on.
    if (!this.#requestEnded && this.request.body.kind !== 'none') this.#keepAlive = false
    // An answer does not say `keep-alive`, which a 1.0 client would need to hear.
    if (this.#runtime.life.draining || this.#client.lastRequest || this.request.minorVersion === 0)
      this.#keepAlive = false
    this.#status = answer.status
    const robots = this.#entry?.robots
    this.#answeredBytes = this.#client.answer({
      ...answer,
      fields: robots === undefined ? answer.fields : [...answer.fields, 'X-Robots-Tag', robots],
      exchangeId: this.id,
      close: !this.#keepAlive,
      head: this.request.method === 'HEAD',
    })
    if (this.#runtime.onExchange !== undefined && this.request.method !== 'HEAD') {
      const parts = { ...answer, exchangeId: this.id, date: '', close: false, head: false }
      this.#answeredBodyBytes = answerParts(parts).body.length
    }
    this.#phase('answered')
    this.#endWhenTaken(outcome)
  }

  /** The client is gone, took too long or must go; its connection is closed by the caller. */
  abort(error: ProxyError): void {
    if (this.#done) return
    const { outcome } = PROXY_ERROR_CODES[error.code]
    if (outcome === 'client-aborted') this.#phase('client-aborted')
    this.#detail = error.detail
    this.#tunnel?.close()
    this.#client.output.discard()
    this.#end(outcome)
  }

  /** A fault in the request's body, or its timeout: answered if nothing else was. */
  failRequest(error: ProxyError): void {
    if (this.#done || this.#lastOutcome !== undefined) return
    this.#upstream?.abort()
    this.#upstream = undefined
    this.#failUpstream(error)
  }

  #end(outcome: ExchangeOutcome): void {
    if (this.#done) return
    this.#done = true
    if (this.#upgrade !== undefined) this.#runtime.life.upgrades--
    this.#upstream?.abort()
    this.#upstream = undefined
    this.#requestBody?.abandon()
    this.#stopWaiting()
    const reusable = this.#keepAlive && (outcome === 'completed' || this.#answeredBytes > 0)
    this.#report(outcome)
    this.#body?.close()
    this.#phase('end')
    this.#client.onExchangeEnd(reusable)
  }

  #stopWaiting(): void {
    if (!this.#waiting) return
    this.#waiting = false
    this.#route?.pool.cancel(this)
  }

  #phase(phase: Phase): void {
    const { onPhase } = this.#runtime
    if (onPhase === undefined) return
    try {
      onPhase(this.id, phase)
    } catch (error) {
      this.#reportFault(error)
    }
  }

  /** A listener's fault must not become the client's. */
  #reportFault(thrown: unknown): void {
    this.#runtime.onError(thrown instanceof Error ? thrown : new Error(String(thrown)))
  }

  #report(outcome: ExchangeOutcome): void {
    const { onExchange } = this.#runtime
    const recording = this.#recording
    if (onExchange === undefined && recording === undefined) return
    const event = this.#event(outcome)
    const shadow = this.#shadow
    if (!(shadow instanceof ShadowBody)) {
      return this.#reportCompared(shadow === undefined ? event : { ...event, shadow })
    }
    if (outcome === 'completed') return shadow.whenDone((result) => this.#reportCompared({ ...event, shadow: result }))
    shadow.close()
    this.#reportCompared(event)
  }

  /** Tells of it once it is compared. */
  #reportCompared(event: ExchangeEvent): void {
    const comparison = this.#comparison
    if (comparison === undefined) return this.#tell(event, undefined)
    if (event.outcome !== 'completed') {
      comparison.close()
      return this.#tell(event, undefined)
    }
    if (event.shadow?.kind === 'failed') comparison.skip('shadow')
    comparison.whenDone(({ comparison: result, difference }) => {
      const { method, host, target, startedAtMs: atMs } = event
      const path = target.split('?', 1)[0]
      const example = difference === undefined ? undefined : { atMs, method, host, path, ...difference }
      this.#tell({ ...event, comparison: result }, example)
    })
  }

  #tell(event: ExchangeEvent, difference: DifferenceExample | undefined): void {
    const { onExchange } = this.#runtime
    const recording = this.#recording
    try {
      const webSocket = this.#webSocket
      if (webSocket !== undefined) {
        recording?.webSocket({ fromClient: webSocket.client.counts, fromUpstream: webSocket.upstream.counts })
      }
      recording?.end(event)
      onExchange?.(event, difference === undefined ? this.#seen() : { ...this.#seen(), difference })
    } catch (error) {
      this.#reportFault(error)
    }
  }

  get #clientWithoutAddress(): string | undefined {
    return this.#client.entrance.isUnix ? UNIX_PREFIX : undefined
  }

  #seen(): SeenRequest {
    const { output, peer } = this.#client
    const ofResponse = output.sentBytes - output.headBytes + this.#tunnelOutBytes
    return {
      head: this.request,
      clientAddress:
        clientAddress(this.request.fields, peer, this.#runtime.trustedRanges) ?? this.#clientWithoutAddress,
      bodyBytes: ofResponse + this.#answeredBodyBytes,
    }
  }

  #event(outcome: ExchangeOutcome): ExchangeEvent {
    const { request } = this
    const now = performance.now()
    const rewriteMs = this.#recording === undefined || !this.#isRewritten ? undefined : this.#body?.rewriteMs
    return {
      version: EXCHANGE_EVENT_VERSION,
      exchangeId: this.id,
      connectionId: this.#client.connectionId,
      requestNumber: this.#requestNumber,
      startedAtMs: Math.round(Date.now() - (now - this.#startedAt)),
      timings: {
        requestHeadUs: this.#microseconds(this.#headAt),
        upstreamAskedUs: this.#recording === undefined ? undefined : this.#microseconds(this.#askedAt),
        upstreamConnectedUs: this.#microseconds(this.#connectedAt),
        responseHeadUs: this.#microseconds(this.#respondedAt),
        rewriteUs: rewriteMs === undefined ? undefined : Math.round(rewriteMs * 1_000),
        endUs: Math.round((now - this.#startedAt) * 1_000),
      },
      client: this.#client.peer.address ?? this.#clientWithoutAddress,
      scheme: this.#client.peer.scheme,
      method: request.method,
      host: request.authority,
      target: request.target,
      status: this.#status,
      route: this.#entry?.name,
      upstream: this.#upstreamName,
      ...(this.#attempts === 0 ? {} : { upstreamAddress: this.#upstreamAddress, upstreamAttempts: this.#attempts }),
      requestId: this.#requestId,
      ...(this.#traceparent === undefined ? {} : { traceparent: this.#traceparent }),
      clientInBytes: this.clientInBytes,
      clientOutBytes: this.#client.output.sentBytes + this.#answeredBytes + this.#tunnelOutBytes,
      upstreamOutBytes: this.#upstreamOutBytes,
      upstreamInBytes: this.#upstreamInBytes,
      outcome,
      detail: this.#detail,
      treatment: this.#finalTreatment(),
      ...this.#fieldEdits(),
      ...this.#requestTreatment(),
    }
  }

  #fieldEdits(): Pick<ExchangeEvent, 'fieldEdits'> {
    const request = this.#requestEdits
    const response = this.#responseEdits
    return request.length + response.length === 0 ? {} : { fieldEdits: { request, response } }
  }

  #requestTreatment(): Pick<ExchangeEvent, 'requestTreatment'> {
    const body = this.#requestBody
    if (this.#requestPass !== undefined) return { requestTreatment: { kind: 'passed', reason: this.#requestPass } }
    if (body === undefined) return {}
    const { hits, inBytes, outBytes } = body
    return { requestTreatment: { kind: 'mapped', hits, inBytes, outBytes } }
  }

  /** Not so a body that is only compressed. */
  get #isRewritten(): boolean {
    return this.#body !== undefined && this.#treatment === undefined
  }

  #finalTreatment(): BodyTreatment | undefined {
    return this.#treatment ?? this.#body?.treatment
  }

  get #tunnelOutBytes(): number {
    return this.#tunnel === undefined ? 0 : this.#upstreamInBytes
  }

  #microseconds(at: number | undefined): number | undefined {
    return at === undefined ? undefined : Math.round((at - this.#startedAt) * 1_000)
  }
}

function isEmpty({ body }: ResponseHead): boolean {
  return body.kind === 'none' || (body.kind === 'length' && body.bytes === 0)
}

/**
 * A response of which each part is wanted as soon as it is there, so that none may be kept back. The last is nginx's
 * way for an application to ask for that.
 */
function isStream(fields: FieldList): boolean {
  const type = fieldValue(fields, 'content-type')?.toLowerCase()
  if (type?.startsWith('text/event-stream') || type?.startsWith('multipart/x-mixed-replace')) return true
  return fieldValue(fields, 'x-accel-buffering')?.toLowerCase() === 'no'
}

/** How many rules are in one set and not in the other. */
function leftOut(all: Uint8Array | undefined, left: Uint8Array): number {
  if (all === undefined || all === left) return 0
  return all.reduce((count, isActive, rule) => (isActive !== left[rule] ? count + 1 : count), 0)
}
