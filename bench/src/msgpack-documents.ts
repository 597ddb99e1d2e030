/** What the MessagePack benches give to the codecs. */
import { encode } from '@msgpack/msgpack'
import type { MsgpackDocument } from './definition.ts'
import { eventDocument } from './event-document.ts'

export function msgpackDocument(document: MsgpackDocument): Uint8Array {
  if (document.kind === 'events') return eventDocument(document.events)
  return document.kind === 'small' ? encode(smallDocument()) : hostileDocument(document.bytes)
}

/** The types, sizes and key lengths of the document that MessagePack codecs are usually compared with: 24 keys, 960 bytes. */
function smallDocument(): object {
  const sentence = 'La mer n’est qu’un chemin, le plus ancien de tous ; mais c’est un chemin qui va où l’on veut. '
  return {
    int0: 0,
    int1: 1,
    'int1-': -1,
    int8: 255,
    'int8-': -255,
    int16: 256,
    'int16-': -256,
    int32: 65_536,
    'int32-': -65_536,
    nil: null,
    true: true,
    false: false,
    float: 0.5,
    'float-': -0.5,
    string0: '',
    string1: 'A',
    string4: 'foobarbaz',
    string8: 'Per aspera ad astra, etc',
    string16: sentence.repeat(6).concat('La mer est grande et va'),
    array0: [],
    array1: ['foo'],
    array8: Array.from({ length: 21 }, (_, i) => 2 ** i),
    map0: {},
    map1: { foo: 'bar' },
  }
}

/** Arrays in arrays, each claiming 65,535 elements. */
function hostileDocument(bytes: number): Uint8Array {
  const document = new Uint8Array(bytes)
  for (let at = 0; at + 3 <= bytes; at += 3) document.set([0xdc, 0xff, 0xff], at)
  return document
}
