import type { ConditionRequest, RequestMismatch } from './conditions.ts'
import { joinedValue } from './fields.ts'
import { decide, type GateDecision } from './gate.ts'
import type { GateRoute } from './gate-route.ts'
import type { ResponseHead } from './message.ts'

interface Known {
  readonly method: string
  readonly acceptEncoding: string | undefined
  readonly cacheControl: string | undefined
  readonly forRequest: Uint8Array | RequestMismatch
  readonly decision: GateDecision
}

/**
 * {@link decide} for one route, which remembers what it decided about heads that came before.
 *
 * INVARIANT: beside `forRequest`, what is decided depends on a request's method, Accept-Encoding and Cache-Control, and
 * where the status is 304 on its path.
 */
export class GateMemo {
  readonly #route: GateRoute
  readonly #known = new WeakMap<ResponseHead, Known>()

  constructor(route: GateRoute) {
    this.#route = route
  }

  /** The fields of the decision are the caller's. */
  decide(request: ConditionRequest, head: ResponseHead, forRequest: Uint8Array | RequestMismatch): GateDecision {
    if (head.isRepeated !== true || head.status === 304) return decide(request, head, this.#route, forRequest)
    const { method } = request
    const acceptEncoding = joinedValue(request.fields, 'accept-encoding')
    const cacheControl = joinedValue(request.fields, 'cache-control')
    const known = this.#known.get(head)
    if (
      known !== undefined &&
      known.forRequest === forRequest &&
      known.method === method &&
      known.acceptEncoding === acceptEncoding &&
      known.cacheControl === cacheControl
    ) {
      return copyOf(known.decision)
    }
    const decision = decide(request, head, this.#route, forRequest)
    this.#known.set(head, { method, acceptEncoding, cacheControl, forRequest, decision: copyOf(decision) })
    return decision
  }
}

function copyOf(decision: GateDecision): GateDecision {
  return { ...decision, fields: decision.fields.slice() }
}
