/** A trace that begins here, marked as sampled: nobody before us could decide. */
export function newTraceparent(): string {
  const octets = crypto.getRandomValues(new Uint8Array(24))
  // Neither id may be all zeros.
  octets[0] |= 1
  octets[16] |= 1
  let hex = ''
  for (const octet of octets) hex += octet.toString(16).padStart(2, '0')
  return `00-${hex.slice(0, 32)}-${hex.slice(32)}-01`
}
