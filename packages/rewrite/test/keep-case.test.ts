import { encodeLatin1, decodeLatin1 } from '@prexy/bytes/latin1'
import { describe, expect, test } from 'vitest'
import { caseShape } from '../src/keep-case.ts'
import { compileRuleSet } from '../src/rule-set.ts'
import { rewriteBytes, rewriteText } from './every-split.ts'

describe('keepCase', () => {
  test.each([
    ['Acme', 'Zenith', 'Acme ACME acme', 'Zenith ZENITH zenith'],
    ['acme', 'zenith', 'Acme ACME acme', 'Zenith ZENITH zenith'],
    ['ACME', 'ZENITH', 'Acme ACME acme', 'ZENITH ZENITH zenith'],
    // Mixed case tells nothing: as it is written.
    ['acme', 'Zenith', 'aCme acMe ACme', 'Zenith Zenith Zenith'],
    // A spelling of its own is kept, but for all capitals and none.
    ['acme', 'iPhone', 'Acme ACME acme', 'iPhone IPHONE iphone'],
    [
      'acme corp',
      'zenith ltd',
      'Acme Corp, ACME CORP, acme corp, Acme corp',
      'Zenith Ltd, ZENITH LTD, zenith ltd, Zenith ltd',
    ],
    ['acme-corp', 'zenith', 'Acme-Corp Acme-corp', 'Zenith Zenith'],
    ["o'neil's", "d'arc's", "O'neil's O'NEIL'S", "D'arc's D'ARC'S"],
    ['a', 'b', 'A a', 'B b'],
    ['a1', 'bc2', 'A1 a1', 'Bc2 bc2'],
    ['42', 'Zenith', '42', 'Zenith'],
    ['acme', '42', 'ACME', '42'],
    ['acme', '', 'xAcmex', 'xx'],
    ['bücher', 'äpfel', 'Bücher BÜCHER bücher', 'Äpfel ÄPFEL äpfel'],
    ['москва', 'киев', 'Москва МОСКВА', 'Киев КИЕВ'],
    ['acme', 'straße', 'ACME Acme', 'STRASSE Straße'],
    // U+212A and U+017F are letters k and s, here in a word of mixed case.
    ['ks', 'zenith', '\u212as k\u017f KS', 'Zenith zenith ZENITH'],
    // What has no case takes part as it is.
    ['日本 acme', '日本 zenith', '日本 ACME', '日本 ZENITH'],
  ])('%s -> %s: %s', (text, replacement, body, expected) => {
    expect(rewriteText(compileRuleSet([{ text, with: replacement, keepCase: true }]), body)).toBe(expected)
  })

  test('without it, nothing changes', () => {
    const set = compileRuleSet([{ text: 'acme', with: 'Zenith', keepCase: false }])
    expect(rewriteText(set, 'ACME acme')).toBe('ACME Zenith')
  })

  test('in octet mode letters are those of ASCII', () => {
    const set = compileRuleSet([{ text: 'b\u00fccher', with: '\u00e4pfel', keepCase: true }], { mode: 'octet' })
    const rewrite = (body: string): string => decodeLatin1(rewriteBytes(set, encodeLatin1(body)))
    expect(rewrite('B\u00fcCHER b\u00fccher B\u00dcCHER')).toBe('\u00e4PFEL \u00e4pfel B\u00dcCHER')
  })

  test('shapes', () => {
    const shapes = ['', '1', 'a', 'A', 'aB', 'Ab', 'AB', 'Ab cd', 'Ab Cd', 'Ab 1 Cd', 'ab Cd', 'Ab CD'].map((text) => [
      text,
      caseShape(text, 'text'),
    ])
    expect(shapes).toEqual([
      ['', 'other'],
      ['1', 'other'],
      ['a', 'lower'],
      ['A', 'capital'],
      ['aB', 'other'],
      ['Ab', 'capital'],
      ['AB', 'upper'],
      ['Ab cd', 'capital'],
      ['Ab Cd', 'title'],
      ['Ab 1 Cd', 'title'],
      ['ab Cd', 'other'],
      ['Ab CD', 'other'],
    ])
  })
})
