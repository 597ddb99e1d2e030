import type { FieldScalar } from './event.ts'

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

export const ORDER_OPERATORS = ['lt', 'lte', 'gt', 'gte'] as const
export type OrderOperator = (typeof ORDER_OPERATORS)[number]
export type ComparisonOperator = OrderOperator | 'eq' | 'neq'

/** A number, or a decimal text; undefined for everything else, hexadecimal too. */
export function numberOf(value: FieldScalar): number | undefined {
  if (typeof value === 'number') return Number.isNaN(value) ? undefined : value
  if (typeof value === 'bigint') return Number(value)
  return typeof value === 'string' && value.length <= 64 && DECIMAL.test(value) ? Number(value) : undefined
}

export function compareNumbers(left: number, operator: ComparisonOperator, right: number): boolean {
  switch (operator) {
    case 'lt':
      return left < right
    case 'lte':
      return left <= right
    case 'gt':
      return left > right
    case 'gte':
      return left >= right
    case 'eq':
      return left === right
    case 'neq':
      return left !== right
  }
}
