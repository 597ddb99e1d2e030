/** What rules say of themselves, as the specification has the words. Apart, since options are made of them before a rule is read. */

/** `emergency` is Hayabusa's. */
export const LEVELS = ['informational', 'low', 'medium', 'high', 'critical', 'emergency'] as const
export type Level = (typeof LEVELS)[number]

export const STATUSES = ['stable', 'test', 'experimental', 'deprecated', 'unsupported'] as const
export type Status = (typeof STATUSES)[number]
